// SPDX-License-Identifier: Apache-2.0
//
// What the controller looks at: which lists and watches, what decisions wait for, and what answers
// say before a watch does.
#include "controller/resource_table.hpp"
#include "controller/scripted.hpp"
#include "k8sio/object.hpp"
#include "k8sio/resource.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <string>

namespace {

using namespace signalbox;
using namespace signalbox::test;
namespace resources = k8sio::resources;

/// The Service of the job.
core::action create_service(const core::job_object& job) {
    return create_object(job, 0);
}

core::action confirm(core::action of) {
    of.request = core::confirm_absence{};
    return of;
}

/// The object that the action makes.
std::string made_by(const core::action& a, const core::job_object& job) {
    core::decision d;
    d.stages = {{a}};
    return core::preview_action(job, d, a);
}

core::action removal(core::action of, const std::string& uid) {
    of.request = core::delete_object{uid};
    return of;
}

core::decision only(core::action a) {
    core::decision d;
    d.stages = {{std::move(a)}};
    return d;
}

}  // namespace

TEST_CASE("[requirement E2] of children only ours are listed and watched, of jobs all") {
    world w;
    w.kill_operator();
    w.serve("podgroup");
    w.serve("tensorboard");
    std::set<std::string> selected, whole;
    w.on_request = [&](const k8sio::http_request& request) {
        const std::string path = request.target.substr(0, request.target.find('?'));
        const std::string last = path.substr(path.rfind('/') + 1);
        if (request.method != "GET" || last.starts_with("v1")) {
            return;  // discovery
        }
        const bool ours =
            request.target.find("labelSelector=app.kubernetes.io%2Fmanaged-by%3Dsignalbox") !=
            std::string::npos;
        (ours ? selected : whole).insert(last);
    };
    w.start_operator();
    w.run_for(seconds{2});
    CHECK(
        selected ==
        std::set<std::string>{
            "pods", "services", "configmaps", "deployments", "podgroups", "tensorboards"}
    );
    CHECK(whole == std::set<std::string>{"pytorchtrainingjobs", "deepspeedjobs", "colossalaijobs"});
}

TEST_CASE("[behaviour 12.2] no decision before every view is complete and discovery was asked") {
    const auto missing = GENERATE(
        as<std::string>{},
        "GET /api/v1/pods",
        "GET /api/v1/services",
        "GET /apis/apps/v1/deployments",
        "GET /apis/tensorstack.dev/v1beta1"
    );
    CAPTURE(missing);
    scripted s;
    s.w->kill_operator();
    s.looks.clear();
    s.w->start_operator();
    s.w->operator_transport().hold_answers(missing);
    s.w->run_for(seconds{20});
    CHECK(s.looks.empty());
    CHECK(s.w->operator_().counters().stale_skips == 0);
    CHECK(s.w->operator_().synced() == (missing.find("tensorstack") != std::string::npos));
    s.w->operator_transport().release_answers();
    s.w->run_for(seconds{5});
    CHECK(s.looks.size() == 1);
    CHECK(s.w->operator_().synced());
}

TEST_CASE("[behaviour 12.7] the view of a kind that went and came again begins anew") {
    world_options options;
    options.script.defaults = {{"duration", "never"}};
    world w(options);
    const std::string gang = R"({"t9kScheduler":{"queue":"q"}})";
    w.serve("podgroup");
    w.run_for(seconds{61});
    w.create_job(job_builder("first").replicas("worker", 1).field("scheduler", gang));
    REQUIRE(w.run_until([&] { return w.is_phase("first", "Running"); }, seconds{10}));
    w.remove(resources::custom_resource_definitions(), "podgroups.scheduler.tensorstack.dev");
    w.run_for(seconds{120});
    w.create_job(job_builder("second").replicas("worker", 1).field("scheduler", gang));
    // Served again, but it cannot be listed.
    w.server().set_fault_hook([](std::string_view method, std::string_view target) {
        k8sio::server::fault fault;
        fault.status = method == "GET" && target.find("/podgroups") != target.npos ? 403 : 0;
        return fault;
    });
    w.serve("podgroup");
    w.run_for(seconds{120});
    CHECK(w.status("second").reason == "WaitingForPodGroup");
    w.server().set_fault_hook({});
    REQUIRE(w.run_until([&] { return w.is_phase("second", "Running"); }, seconds{120}));
}

TEST_CASE("[behaviour 12.1] no decision before the view of other children shows what we wrote") {
    scripted s;
    s.decide = [&](const core::job_object& job, core::instant) {
        return s.looks.size() == 1 ? only(create_service(job)) : core::decision();
    };
    s.w->operator_transport().hold_streams("/services?");
    s.nudge();
    s.w->run_for(seconds{1});
    s.nudge();
    s.w->run_for(seconds{20});
    CHECK(s.looks.size() == 1);
    s.w->operator_transport().release_streams();
    s.w->run_for(seconds{1});
    REQUIRE(s.looks.size() >= 2);
    CHECK(s.looks.back().children.size() == 1);
}

TEST_CASE("[behaviour 12.1] what is in the way of a creation is waited for until it is in view") {
    scripted s;
    std::string made;
    s.decide = [&](const core::job_object& job, core::instant) {
        made = made_by(create_pod(job), job);
        return core::decision();
    };
    s.nudge();
    s.w->run_for(seconds{1});
    s.looks.clear();
    s.w->operator_transport().hold_streams("/pods?");
    s.w->create(resources::pods(), made);
    s.decide = [&](const core::job_object& job, core::instant) {
        return s.looks.size() == 1 ? only(create_pod(job, 0, 2)) : core::decision();
    };
    s.nudge();
    s.w->run_for(seconds{20});
    CHECK(s.looks.size() == 1);
    s.w->operator_transport().release_streams();
    s.w->run_for(seconds{1});
    CHECK(s.looks.size() >= 2);
    CHECK(s.looks.back().pods == 1);
}

TEST_CASE("[behaviour 12.4] a pod that is gone already is out of view before the watch says so") {
    scripted s;
    std::string name, uid;
    s.decide = [&](const core::job_object& job, core::instant) {
        name = create_pod(job).name;
        return s.looks.size() == 1 ? only(create_pod(job)) : core::decision();
    };
    s.nudge();
    s.w->run_for(seconds{1});
    REQUIRE(s.looks.back().pods == 1);
    uid = s.w->pods().front().uid;
    s.looks.clear();
    s.w->operator_transport().hold_streams("/pods?");
    s.w->remove(resources::pods(), name, 0);
    s.decide = [&](const core::job_object& job, core::instant) {
        core::decision d;
        if (s.looks.size() == 1) {
            d.stages = {{removal(create_pod(job), uid)}, {create_service(job)}};
        }
        return d;
    };
    s.nudge();
    s.w->run_for(seconds{1});
    CHECK(s.writes("DELETE").size() == 1);
    CHECK(s.writes("POST services").size() == 1);  // success: the next stage went
    s.nudge();
    s.w->run_for(seconds{1});
    REQUIRE(s.looks.size() >= 2);
    CHECK(s.looks.back().pods == 0);
}

TEST_CASE("[behaviour 12.4] the answer to a delete says whether the object is still there") {
    const auto answer = GENERATE(as<std::string>{}, "held", "status", "last state");
    CAPTURE(answer);
    scripted s;
    std::string name;
    s.decide = [&](const core::job_object& job, core::instant) {
        name = create_service(job).name;
        return s.looks.size() == 1 ? only(create_service(job)) : core::decision();
    };
    s.nudge();
    s.w->run_for(seconds{1});
    if (answer == "held") {
        REQUIRE(s.w->patch(resources::services(), name, R"({"metadata":{"finalizers":["a.b/c"]}})")
                    .has_value());
        s.w->run_for(seconds{1});
    }
    const std::string last = *s.w->get(resources::services(), name);
    s.w->operator_transport().hold_streams("/services?");
    s.w->operator_transport().on_answer = [&](k8sio::http_response& got) {
        const bool success = got.body.find(R"("status":"Success")") != std::string::npos;
        if (answer == "last state" && success) {
            got.body = last;
        }
    };
    s.looks.clear();
    s.decide = [&](const core::job_object& job, core::instant) {
        return s.looks.size() == 1
                   ? only(removal(create_service(job), k8sio::read_object_meta(last)->uid))
                   : core::decision();
    };
    s.nudge();
    s.w->run_for(seconds{1});
    CHECK(s.writes("DELETE").size() == 1);
    s.nudge();
    s.w->run_for(seconds{5});
    if (answer == "held") {
        CHECK(s.looks.size() == 1);  // waits for the view, which is to show it as leaving
    } else {
        REQUIRE(s.looks.size() >= 2);
        CHECK(s.looks.back().children.empty());
    }
}

TEST_CASE("[behaviour 12.6] an absence is forgotten when the child is in view again") {
    scripted s;
    std::string made;
    s.decide = [&](const core::job_object& job, core::instant) {
        made = made_by(create_pod(job, 1), job);
        core::decision d;
        d.stages.emplace_back();
        for (int i = 0; i < 2; ++i) {
            if (s.looks.back().pods == 0 || i == 0) {
                d.stages.back().push_back(confirm(create_pod(job, i)));
            }
        }
        d.wake_up = s.looks.back().now + seconds{5};
        return d;
    };
    s.nudge();
    s.w->run_for(seconds{12});
    REQUIRE(s.looks.back().absences == 2);
    s.w->create(resources::pods(), made);
    s.w->run_for(seconds{12});
    CHECK(s.looks.back().pods == 1);
    CHECK(s.looks.back().absences == 1);
}

TEST_CASE("[behaviour 12.5] a refusal ends with the success of its action, asked for or not") {
    const bool was_there = GENERATE(true, false);
    CAPTURE(was_there);
    scripted s;
    s.w->server().set_fault_hook([&](std::string_view method, std::string_view target) {
        k8sio::server::fault fault;
        const bool pod = method == "POST" && target.find("/pods?") != target.npos;
        fault.status = pod && s.looks.size() == 1 ? 422 : 0;
        fault.reason = "Invalid";
        return fault;
    });
    s.decide = [&](const core::job_object& job, core::instant) {
        if (s.looks.size() == 2 && was_there) {
            s.w->create_soon(resources::pods(), made_by(create_pod(job), job));
        }
        return only(create_pod(job));
    };
    s.nudge();
    s.w->run_for(milliseconds{500});
    REQUIRE(s.looks.size() >= 3);
    CHECK(s.looks[1].refusals.size() == 1);
    CHECK(s.looks[2].refusals.empty());
}

TEST_CASE("[requirement X1] what is there already is looked at again soon, not at full speed") {
    scripted s;
    s.decide = [&](const core::job_object& job, core::instant) { return only(create_pod(job)); };
    s.nudge();
    s.w->run_for(seconds{4});
    CHECK(s.writes("POST pods").size() > 6);
    CHECK(s.writes("POST pods").size() < 25);
}

TEST_CASE("events that come without a status are told") {
    scripted s;
    s.decide = [&](const core::job_object&, core::instant) {
        core::decision d;
        if (s.looks.size() == 1) {
            d.events = {{true, "Careful", "of this"}};
        }
        return d;
    };
    s.nudge();
    s.w->run_for(seconds{1});
    const auto events = s.w->events("job");
    REQUIRE(events.size() == 1);
    CHECK(events[0].reason == "Careful");
    CHECK(events[0].type == "Warning");
    CHECK(events[0].message == "of this");
    CHECK(s.writes("PUT").empty());
}

TEST_CASE("[behaviour 2.2] requests in flight are bounded over all jobs, and so are passes") {
    world_options options;
    options.controller.max_in_flight = 6;  // three for one namespace
    options.controller.max_passes = 9;     // five for one namespace
    options.script.defaults = {{"duration", "never"}};
    scripted s(job_builder("job").replicas("worker", 8).json(), options);
    for (int i = 0; i < 12; ++i) {
        s.w->create_job(job_builder("many-" + std::to_string(i)).replicas("worker", 8));
    }
    s.w->run_for(seconds{1});
    s.decide = [&](const core::job_object& job, core::instant) {
        core::decision d;
        if (s.looks.back().pods == 0 && job.meta.name != "job") {
            d.stages.emplace_back();
            for (int i = 0; i < 8; ++i) {
                d.stages.back().push_back(create_pod(job, i));
            }
        }
        return d;
    };
    s.w->operator_transport().hold_answers("POST ");
    for (int i = 0; i < 12; ++i) {
        s.w->patch_job("many-" + std::to_string(i), R"({"metadata":{"annotations":{"n":"1"}}})");
    }
    s.w->run_for(milliseconds{100});
    CHECK(s.w->operator_().active_passes() == 5);
    CHECK(s.w->operator_().queue_depth() == 7);
    CHECK(s.writes("POST pods").size() == 2);  // of three, which it begins with
    const auto& sent = s.w->operator_transport().writes();
    CHECK(std::none_of(sent.begin(), sent.end(), [](const sent_write& write) {
        return write.body.find("-worker-1\"") != write.body.npos;
    }));  // one of each: slow start
    s.w->operator_transport().release_answers();
    s.w->run_for(seconds{5});
    CHECK(s.w->pods().size() == 96);
    CHECK(s.w->operator_transport().most_in_flight() == 3);
}

TEST_CASE("[behaviour 5.15] [requirement X12] deletions go at once, and say no grace of their own"
) {
    world_options options;
    options.controller.max_in_flight = 3;  // two for one namespace
    options.script.defaults = {{"duration", "never"}};
    scripted s(job_builder("job").replicas("worker", 8).json(), options);
    bool removes = false;
    s.decide = [&](const core::job_object& job, core::instant) {
        core::decision d;
        if (s.looks.back().pods == 0 && !removes) {
            d.stages.emplace_back();
            for (int i = 0; i < 8; ++i) {
                d.stages.back().push_back(create_pod(job, i));
            }
        } else if (removes) {
            d.stages.emplace_back();
            for (const core::pod_record& pod : s.w->pods()) {
                if (!pod.deletion) {
                    core::action a;
                    a.name = pod.name;
                    a.request = core::delete_object{pod.uid};
                    d.stages.back().push_back(std::move(a));
                }
            }
        }
        return d;
    };
    s.nudge();
    s.w->run_for(seconds{5});
    REQUIRE(s.w->pods().size() == 8);
    removes = true;
    s.w->operator_transport().hold_answers("DELETE ");
    s.nudge();
    s.w->run_for(milliseconds{100});
    CHECK(s.writes("DELETE").size() == 2);  // of eight: as many as may be under way
    s.w->operator_transport().release_answers();
    s.w->run_for(seconds{5});
    CHECK(s.writes("DELETE").size() == 8);
    for (const sent_write& write : s.w->operator_transport().writes()) {
        CHECK(write.body.find("gracePeriodSeconds") == std::string::npos);
        CHECK(write.target.find("gracePeriodSeconds") == std::string::npos);
    }
}

TEST_CASE("[requirement W13] a child that lost the label of the watch contradicts no view") {
    scripted s;
    std::string name;
    s.decide = [&](const core::job_object& job, core::instant) {
        core::decision d;
        if (s.looks.back().children.empty()) {
            d.stages = {{create_service(job)}};
            name = d.stages[0][0].name;
        }
        return d;
    };
    s.nudge();
    s.w->run_for(seconds{1});
    REQUIRE_FALSE(name.empty());
    REQUIRE(s.w->get(resources::services(), name).has_value());
    const auto changed = s.w->patch(
        resources::services(),
        name,
        R"({"metadata":{"labels":{"app.kubernetes.io/managed-by":null}}})"
    );
    REQUIRE(changed.has_value());
    s.w->run_for(seconds{5});
    // It was found by its name, and has its label again.
    CHECK(changed->find("managed-by") == std::string::npos);
    CHECK(s.w->get(resources::services(), name)->find("managed-by") != std::string::npos);
    CHECK(s.w->operator_().counters().contradicted == 0);
}
