// SPDX-License-Identifier: Apache-2.0
//
// Live reads: what has the name of a child but is another job's, and answers that say nothing.
#include "controller/resource_table.hpp"
#include "controller/scripted.hpp"
#include "k8sio/object.hpp"
#include "k8sio/resource.hpp"

#include <catch2/catch.hpp>

#include <string>

namespace {

using namespace signalbox;
using namespace signalbox::test;
namespace resources = k8sio::resources;

core::job_object read_job(scripted& s) {
    auto job = core::read_job(*s.w->get(s.w->type_of_job("job"), "job"));
    REQUIRE(job);
    return std::move(*job);
}

/// An object of that name that the job with this UID controls; without labels of ours.
std::string owned_object(
    core::object_kind kind, const std::string& name, const std::string& owner_uid
) {
    const bool pod = kind == core::object_kind::pod;
    const std::string spec = pod ? R"({"containers":[{"name":"c","image":"i"}]})"
                                 : R"({"ports":[{"port":80}],"selector":{"app":"other"}})";
    return std::string(R"({"apiVersion":"v1","kind":")") + (pod ? "Pod" : "Service") +
           R"(","metadata":{"name":")" + name +
           R"(","ownerReferences":[{"apiVersion":"batch.tensorstack.dev/v1beta1",)"
           R"("kind":"PyTorchTrainingJob","name":"other","uid":")" +
           owner_uid + R"(","controller":true}]},"spec":)" + spec + "}";
}

/// A world with a second job, whose objects no one collects.
struct two_jobs : scripted {
    two_jobs() : job(read_job(*this)) { other_uid = w->create_job(job_builder("other").json()); }

    const k8sio::resource_type& type(core::object_kind kind) const {
        return op::type_of(kind, core::job_kind::pytorch);
    }
    core::action on(core::object_kind kind, core::verb what) const {
        core::action a = kind == core::object_kind::pod ? create_pod(job) : create_object(job, 0);
        if (what == core::verb::confirm) {
            a.request = core::confirm_absence{};
        }
        return a;
    }
    /// The looks at `job` decide `once`, if it is the first.
    void decide_once(core::decision once) {
        w->run_for(seconds{1});
        looks.clear();
        decide = [this, once](const core::job_object& looked_at, core::instant) {
            return looked_at.meta.name == "job" && looks_at("job") == 1 ? once : core::decision();
        };
        nudge();
    }

    core::job_object job;
    std::string other_uid;
};

}  // namespace

TEST_CASE("[behaviour 1.8] [behaviour I5] another job's object under our name stays as it is") {
    const auto kind = GENERATE(core::object_kind::pod, core::object_kind::service);
    CAPTURE(core::to_string(kind));
    two_jobs s;
    const core::action create = s.on(kind, core::verb::create);
    s.w->create(s.type(kind), owned_object(kind, create.name, s.other_uid));
    const std::string before = *s.w->get(s.type(kind), create.name);
    core::decision both;
    both.stages = {{create}, {s.on(core::object_kind::pod, core::verb::confirm)}};
    s.decide_once(both);
    s.w->run_for(seconds{1});
    REQUIRE(s.looks_at("job") >= 2);
    REQUIRE(s.looks[1].refusals.size() == 1);
    CHECK(s.looks[1].refusals[0].foreign_owner);
    CHECK(s.looks[1].refusals[0].name == create.name);
    CHECK(s.writes("PATCH").empty());
    CHECK(s.w->operator_().counters().confirms == 0);  // the next stage did not start
    const std::string after = *s.w->get(s.type(kind), create.name);
    CHECK(after.find("app.kubernetes.io/managed-by") == std::string::npos);
    CHECK(k8sio::read_object_meta(after)->uid == k8sio::read_object_meta(before)->uid);
}

TEST_CASE("[behaviour 12.6] another job's object under the name of a child is no child") {
    const auto kind = GENERATE(core::object_kind::pod, core::object_kind::service);
    CAPTURE(core::to_string(kind));
    two_jobs s;
    const core::action look_up = s.on(kind, core::verb::confirm);
    s.w->create(s.type(kind), owned_object(kind, look_up.name, s.other_uid));
    core::decision once;
    once.stages = {{look_up}};
    s.decide_once(once);
    s.w->run_for(seconds{1});
    REQUIRE(s.looks_at("job") >= 2);
    CHECK(s.looks[1].absences == 1);
    CHECK(s.looks[1].pods == 0);
    CHECK(s.looks[1].children.empty());
    CHECK(s.writes("PATCH").empty());
}

TEST_CASE("[behaviour 12.6] [requirement E5] an answer that says nothing is no absence") {
    const int code = GENERATE(500, 403, 401);
    CAPTURE(code);
    two_jobs s;
    const core::action look_up = s.on(core::object_kind::pod, core::verb::confirm);
    bool broken = true;
    s.w->server().set_fault_hook([&](std::string_view method, std::string_view target) {
        const bool read = method == "GET" && target.find("/pods/" + look_up.name) != target.npos;
        return broken && read ? answer(code, "") : k8sio::server::fault();
    });
    s.decide = [&](const core::job_object& looked_at, core::instant) {
        core::decision d;
        if (looked_at.meta.name == "job" && s.looks.back().absences == 0) {
            d.stages = {{look_up}, {s.on(core::object_kind::service, core::verb::create)}};
        }
        return d;
    };
    s.nudge();
    s.w->run_for(seconds{5});
    CHECK(s.w->operator_().counters().confirms > 2);  // asked again
    CHECK(s.w->operator_().counters().confirms < 15);
    CHECK(s.looks.back().absences == 0);
    CHECK(s.writes("POST").empty());
    broken = false;
    s.w->run_for(seconds{20});
    CHECK(s.writes("POST services").size() == 1);
}

TEST_CASE("[behaviour 1.9] a pod that lost its labels comes into view by a live read of it") {
    const bool refused = GENERATE(true, false);
    CAPTURE(refused);
    two_jobs s;
    s.w->server().set_fault_hook([&](std::string_view method, std::string_view target) {
        const bool patch = method == "PATCH" && target.find("/pods/") != target.npos;
        return refused && patch ? answer(403, "Forbidden") : k8sio::server::fault();
    });
    s.w->create(
        resources::pods(),
        owned_object(
            core::object_kind::pod,
            s.on(core::object_kind::pod, core::verb::create).name,
            s.job.meta.uid
        )
    );
    core::decision once;
    once.stages = {{s.on(core::object_kind::pod, core::verb::confirm)}};
    s.decide_once(once);
    s.w->run_for(seconds{1});
    REQUIRE(s.looks_at("job") >= 2);
    CHECK(s.looks[0].pods == 0);
    CHECK(s.looks[1].pods == 1);
    CHECK(s.looks[1].absences == 0);
    // For good if its label could be put back, else for that one pass.
    s.looks.clear();
    s.decide = {};
    s.nudge();
    s.w->run_for(seconds{1});
    CHECK(s.looks.back().pods == (refused ? 0U : 1U));
    CHECK(s.writes("PATCH").size() == 1);
    s.w->server().set_fault_hook({});
}

TEST_CASE("[behaviour 1.9] a pod whose labels were put back is waited for until the view has it") {
    two_jobs s;
    const core::action create = s.on(core::object_kind::pod, core::verb::create);
    s.w->create(
        resources::pods(), owned_object(core::object_kind::pod, create.name, s.job.meta.uid)
    );
    core::decision once;
    once.stages = {{create}};  // an older pod is in the way
    s.w->operator_transport().hold_streams("/pods?");
    s.decide_once(once);
    s.w->run_for(seconds{5});
    CHECK(s.looks_at("job") == 1);
    s.w->operator_transport().release_streams();
    s.w->run_for(seconds{1});
    REQUIRE(s.looks_at("job") >= 2);
    CHECK(s.looks.back().pods == 1);
    CHECK(s.looks.back().refusals.empty());
}

TEST_CASE("[requirement X8] [behaviour 12.4] a delete answered with a conflict is looked into") {
    // What the live read shows behind a 409.
    const auto there = GENERATE(as<std::string>{}, "the same", "another", "none", "no answer");
    CAPTURE(there);
    two_jobs s;
    const core::action service = s.on(core::object_kind::service, core::verb::create);
    core::action gone = service;
    const std::string made = s.w->create(
        resources::services(),
        owned_object(core::object_kind::service, service.name, s.job.meta.uid)
    );
    gone.request = core::delete_object{k8sio::read_object_meta(made)->uid};
    if (there != "the same") {
        s.w->remove(resources::services(), service.name);
    }
    if (there == "another") {
        s.w->create(
            resources::services(),
            owned_object(core::object_kind::service, service.name, s.job.meta.uid)
        );
    }
    s.w->server().set_fault_hook([&](std::string_view method, std::string_view target) {
        const bool ours = target.find("/services/" + service.name) != target.npos;
        if (ours && method == "DELETE") {
            return answer(409, "Conflict");
        }
        return ours && there == "no answer" ? answer(500, "") : k8sio::server::fault();
    });
    core::decision once;
    once.stages = {{gone}, {s.on(core::object_kind::pod, core::verb::create)}};
    s.decide_once(once);
    s.w->run_for(seconds{1});
    const bool success = there == "another" || there == "none";
    CHECK(s.writes("DELETE").size() == 1);
    CHECK(s.writes("POST pods").size() == (success ? 1U : 0U));
    CHECK(s.looks.back().refusals.empty());
}

TEST_CASE("[requirement X8] an object that is deleted but held by a finalizer stays in view") {
    const bool held = GENERATE(true, false);
    CAPTURE(held);
    two_jobs s;
    core::decision make;
    make.stages = {{s.on(core::object_kind::service, core::verb::create)}};
    s.decide_once(make);
    s.w->run_for(seconds{1});
    const std::string name = make.stages[0][0].name;
    if (held) {
        REQUIRE(s.w->patch(resources::services(), name, R"({"metadata":{"finalizers":["a.b/c"]}})")
                    .has_value());
    }
    core::action gone = make.stages[0][0];
    gone.request =
        core::delete_object{k8sio::read_object_meta(*s.w->get(resources::services(), name))->uid};
    core::decision once;
    once.stages = {{gone}};
    s.w->run_for(seconds{1});
    // Only the answer can tell: the watch is silent.
    s.w->operator_transport().hold_streams("/services?");
    s.decide_once(once);
    s.w->run_for(seconds{1});
    CHECK(s.writes("DELETE").size() == 1);
    s.w->operator_transport().release_streams();
    s.w->run_for(seconds{1});
    REQUIRE(s.looks_at("job") >= 2);
    CHECK(s.looks.back().children.size() == (held ? 1U : 0U));
}

TEST_CASE("what has our label and no owner is not held") {
    scripted s;
    const std::string spec = R"("spec":{"containers":[{"name":"c","image":"i"}]}})";
    const std::string label = R"("labels":{"app.kubernetes.io/managed-by":"signalbox"}},)";
    s.w->create(
        resources::pods(),
        R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"nobodys",)" + label + spec
    );
    s.w->run_for(seconds{1});
    REQUIRE(s.w->pods().size() == 1);
    CHECK(s.w->operator_().pod_count() == 0);
}
