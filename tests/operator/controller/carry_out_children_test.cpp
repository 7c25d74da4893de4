// SPDX-License-Identifier: Apache-2.0
//
// Actions on Secrets, ConfigMaps and the job itself, with a scripted decision in place of
// libjobcore's.
#include "controller/key_material.hpp"
#include "controller/object_text.hpp"
#include "controller/resource_table.hpp"
#include "controller/scripted.hpp"
#include "k8sio/resource.hpp"
#include "scenario/job_texts.hpp"

#include <catch2/catch.hpp>
#include <rapidjson/document.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <optional>
#include <string>

namespace {

using namespace signalbox;
using namespace signalbox::test;
namespace resources = k8sio::resources;

core::job_object read(scripted& s) {
    const auto text = s.w->get(s.w->type_of_job("job"), "job");
    auto job = core::read_job(*text);
    CAPTURE(job.error());
    REQUIRE(job);
    return std::move(*job);
}

std::size_t number_of(const core::job_plan& plan, core::object_kind kind) {
    const auto found = std::ranges::find(plan.objects, kind, &core::planned_object::kind);
    return static_cast<std::size_t>(found - plan.objects.begin());
}

/// The action that creates the planned object of that kind.
core::action create(const core::job_object& job, core::object_kind kind) {
    return create_object(job, number_of(*job.compiled->plan, kind));
}

/// The object as the operator makes it, with keys of its own; `edit` may change it.
template <class Edit>
std::string made_object(const core::job_object& job, core::object_kind kind, Edit edit) {
    std::string error;
    const core::action a = create(job, kind);
    const auto keys = op::make_keys(core::key_slots_of(job, a), error);
    REQUIRE(keys);
    rapidjson::Document object;
    object.Parse(core::render_action(job, {}, a, *keys)->c_str());
    edit(object);
    rapidjson::StringBuffer buffer;
    rapidjson::Writer<rapidjson::StringBuffer> out(buffer);
    object.Accept(out);
    return buffer.GetString();
}

constexpr const char* managed_by = "app.kubernetes.io/managed-by";

}  // namespace

TEST_CASE("[behaviour 2.7] AlreadyExists is success for the wanted data, whatever the keys are") {
    const auto kind = GENERATE(core::object_kind::secret, core::object_kind::config_map);
    const auto other = GENERATE(as<std::string>{}, "", "data", "attempt");
    const bool same = other.empty() || (other == "attempt" && kind == core::object_kind::secret);
    CAPTURE(core::to_string(kind), other);
    scripted s(deepspeed("job", 2));
    const core::job_object job = read(s);
    // Out of view, so that the decision cannot know of it.
    s.w->create(
        op::type_of(kind, core::job_kind::deepspeed),
        made_object(
            job,
            kind,
            [&](rapidjson::Document& object) {
                object["metadata"]["labels"].RemoveMember(managed_by);
                if (other == "attempt" && kind == core::object_kind::config_map) {
                    object["metadata"]["labels"]["batch.tensorstack.dev/attempt"].SetString("7");
                }
                if (other == "data") {
                    object["data"].AddMember("more", "bW9yZQ==", object.GetAllocator());
                }
            }
        )
    );
    s.decide = [&](const core::job_object& now, core::instant) {
        core::decision d;
        const bool first = s.looks.size() == 1;
        if (first) {
            d.stages = {{create(now, kind)}, {create_pod(now)}};
        }
        return d;
    };
    s.nudge();
    s.w->run_for(seconds{2});
    CHECK(s.writes("POST pods").size() == (same ? 1U : 0U));
    // It gets its label back, and so comes into view: as the wanted one, or to be exchanged.
    CHECK(s.looks.back().children.size() == 1);
    CHECK(s.looks.back().refusals.empty());
}

TEST_CASE("[behaviour 2.7] AlreadyExists of an object on its way out is no success") {
    scripted s(deepspeed("job", 2));
    const core::job_object job = read(s);
    s.w->create(
        resources::secrets(),
        made_object(
            job,
            core::object_kind::secret,
            [](rapidjson::Document& object) {
                rapidjson::Value finalizers(rapidjson::kArrayType);
                finalizers.PushBack("example.com/held", object.GetAllocator());
                object["metadata"].AddMember("finalizers", finalizers, object.GetAllocator());
                object["metadata"]["labels"].RemoveMember(managed_by);
            }
        )
    );
    s.w->remove(resources::secrets(), create(job, core::object_kind::secret).name);
    s.decide = [&](const core::job_object& now, core::instant) {
        core::decision d;
        if (s.looks.size() == 1) {
            d.stages = {{create(now, core::object_kind::secret)}, {create_pod(now)}};
        }
        return d;
    };
    s.nudge();
    s.w->run_for(seconds{2});
    CHECK(s.writes("POST secrets").size() == 1);
    CHECK(s.writes("POST pods").empty());
    CHECK(s.looks.back().refusals.empty());
}

TEST_CASE("[behaviour 2.10] a Secret that only lost a label is no lost one, and left as it is") {
    scripted s(deepspeed("job", 2));
    const core::job_object job = read(s);
    s.w->create(
        resources::secrets(),
        made_object(
            job,
            core::object_kind::secret,
            [](rapidjson::Document& object) {
                object["metadata"]["labels"].RemoveMember(managed_by);
            }
        )
    );
    s.decide = [&](const core::job_object& now, core::instant) {
        core::decision d;
        if (s.looks.back().children.empty() && s.looks.back().absences == 0) {
            core::action look_up = create(now, core::object_kind::secret);
            look_up.request = core::confirm_absence{};
            d.stages = {{look_up}};
        }
        return d;
    };
    s.nudge();
    s.w->run_for(seconds{10});
    CHECK(s.looks.back().absences == 0);
    CHECK(s.looks.back().children.size() == 1);
    CHECK(s.w->operator_().counters().confirms <= 2);
    CHECK(s.writes("PATCH").empty());
}

TEST_CASE("[behaviour 5.3] [requirement E5] the absence of a Secret is confirmed by one live read"
) {
    scripted s(deepspeed("job", 2));
    s.decide = [&](const core::job_object& now, core::instant) {
        core::decision d;
        core::action look_up = create(now, core::object_kind::secret);
        look_up.request = core::confirm_absence{};
        if (s.looks.back().absences == 0) {
            d.stages = {{look_up}};
        }
        return d;
    };
    int reads = 0;
    s.w->operator_transport().before = [&](const k8sio::http_request& request) {
        const bool secret = request.target.find("/secrets/") != std::string::npos;
        reads += request.method == "GET" && secret && s.looks.size() == 1 ? 1 : 0;
    };
    s.nudge();
    s.w->run_for(milliseconds{500});
    REQUIRE(s.looks.size() >= 2);
    CHECK(s.looks[1].absences == 1);
    CHECK(reads == 1);
}

TEST_CASE("[behaviour 5.3] an absence holds until an object of that very name is in view") {
    scripted s(deepspeed("job", 2));
    const core::job_object job = read(s);
    const auto named = [&](const char* name) {
        return made_object(job, core::object_kind::config_map, [name](rapidjson::Document& object) {
            object["metadata"]["name"].SetString(name, object.GetAllocator());
        });
    };
    s.w->create(resources::config_maps(), named("other"));
    s.w->run_for(seconds{1});
    s.looks.clear();
    s.decide = [&](const core::job_object& now, core::instant) {
        core::decision d;
        core::action look_up = create(now, core::object_kind::config_map);
        look_up.name = "lost";
        look_up.request = core::confirm_absence{};
        if (s.looks.size() <= 2) {
            d.stages = {{look_up}};
        }
        if (s.looks.size() == 2) {
            s.w->create_soon(resources::config_maps(), named("lost"));
        }
        return d;
    };
    s.nudge();
    s.w->run_for(seconds{1});
    REQUIRE(s.looks.size() >= 3);
    CHECK(s.looks[1].children.size() == 1);
    CHECK(s.looks[1].absences == 1);
    CHECK(s.looks[2].children.size() == 2);
    CHECK(s.looks[2].absences == 0);
}

TEST_CASE("[behaviour 7.1] a patch of the job itself: on an older version it is decided again") {
    const bool stale = GENERATE(true, false);
    CAPTURE(stale);
    scripted s(deepspeed("job", 2, R"("elastic":{"enabled":true,"minReplicas":1,"maxReplicas":4})")
    );
    int asked = 0;
    s.decide = [&](const core::job_object& now, core::instant) {
        core::decision d;
        if (++asked == 1) {
            core::action size;
            size.kind = core::object_kind::job;
            size.name = now.meta.name;
            const std::string version = stale ? "1" : now.meta.resource_version;
            const std::string body = R"({"metadata":{"resourceVersion":")" + version +
                                     R"("},"spec":{"elastic":{"expectedReplicas":3}}})";
            size.request = core::patch_object{now.meta.uid, body, std::nullopt};
            d.stages = {{size}};
        }
        return d;
    };
    s.nudge();
    s.w->run_for(seconds{5});
    CHECK(asked >= 2);
    CHECK(s.writes("PATCH job").size() == 1);
    CHECK(s.looks.back().refusals.empty());
    CHECK(s.w->operator_().counters().errors == 0);
    const auto job = s.w->get(s.w->type_of_job("job"), "job");
    CHECK((job->find("expectedReplicas") == std::string::npos) == stale);
}

TEST_CASE(
    "[behaviour 12.12] [behaviour 7.1] a patch of the job that the server does not keep is "
    "a refusal"
) {
    scripted s(deepspeed("job", 2));
    int asked = 0;
    s.decide = [&](const core::job_object& now, core::instant at) {
        core::action size;
        size.kind = core::object_kind::job;
        size.name = now.meta.name;
        size.request = core::patch_object{
            now.meta.uid, R"({"spec":{"elastic":{"ofLaterVersions":3}}})", std::nullopt};
        if (++asked > 1) {
            size.not_before = at + core::seconds(60);
        }
        core::decision d;
        d.stages = {{size}};
        return d;
    };
    s.nudge();
    s.w->run_for(seconds{5});
    CHECK(asked == 2);
    CHECK(s.writes("PATCH job").size() == 1);
    REQUIRE(s.looks.back().refusals.size() == 1);
    CHECK(s.looks.back().refusals.front().reason == "NotKept");
}
