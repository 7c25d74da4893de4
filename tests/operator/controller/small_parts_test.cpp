// SPDX-License-Identifier: Apache-2.0
//
// The controller's parts that need no server: pace of repairs, refusals, texts.
#include "controller/object_text.hpp"
#include "controller/own_refusals.hpp"
#include "controller/repair_pace.hpp"
#include "signalbox_test/jobcore_builders.hpp"

#include <catch2/catch.hpp>
#include <rapidjson/document.h>

namespace {

using namespace signalbox;
using test::at;

core::action create(std::string name, int attempt = 1, int round = 0) {
    core::action a;
    a.name = std::move(name);
    a.request = core::create_pod{{.attempt = attempt, .round = round}};
    return a;
}

}  // namespace

TEST_CASE("[behaviour 2.6] what is put right again and again has to wait, twice as long each time"
) {
    const k8sio::steady_time start{std::chrono::hours{1}};
    core::action repair = create("svc");
    if (GENERATE(true, false)) {
        repair.request = core::patch_object{};
    }
    repair.kind = core::object_kind::service;
    core::action other = repair;
    other.name = "svc-2";
    op::repair_pace pace;
    auto now = start;
    std::vector<long> waits;
    for (int i = 0; i < 15; ++i) {
        const auto next = pace.earliest(repair, now);
        waits.push_back(std::chrono::duration_cast<std::chrono::seconds>(next - now).count());
        now = next;
        pace.note(repair, now);
    }
    CHECK(waits == std::vector<long>{0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300});
    CHECK(pace.earliest(other, now) == now);
    const auto quiet = now + std::chrono::seconds{361};
    CHECK(
        pace.earliest(repair, now + std::chrono::seconds{100}) == now + std::chrono::seconds{300}
    );
    CHECK(pace.earliest(repair, quiet) == quiet);
    pace.note(repair, quiet);
    CHECK(pace.earliest(repair, quiet) == quiet);
}

TEST_CASE("[behaviour 2.6] deletions, pods and the job itself do not wait for repairs") {
    const k8sio::steady_time now{std::chrono::hours{1}};
    core::action pod = create("w-0");
    core::action job = create("mnist");
    job.request = core::patch_object{};
    job.kind = core::object_kind::job;
    core::action removal = create("svc");
    removal.request = core::delete_object{};
    removal.kind = core::object_kind::service;
    op::repair_pace pace;
    for (const core::action& a : {pod, job, removal}) {
        for (int i = 0; i < 9; ++i) {
            pace.note(a, now);
        }
        CHECK(pace.earliest(a, now) == now);
    }
}

TEST_CASE("[behaviour 12.5] [behaviour 2.5] what a server says of a refusal is kept") {
    const auto quota = op::refused_by(k8sio::status_error(403, "Forbidden", "exceeded quota: q"));
    CHECK(quota.http_code == 403);
    CHECK(quota.reason == "Forbidden");
    CHECK(quota.message == "exceeded quota: q");
    CHECK_FALSE(quota.namespace_terminating);
    CHECK_FALSE(quota.foreign_owner);
    auto dying = k8sio::status_error(403, "Forbidden", "being terminated");
    dying.causes.push_back({"NamespaceTerminating", "", "metadata.namespace"});
    CHECK(op::refused_by(dying).namespace_terminating);
}

TEST_CASE("[requirement X4] a status write carries UID and version of the object it was decided on"
) {
    core::job_object job;
    job.meta.name = "mnist";
    job.meta.ns = "ml";
    job.meta.uid = "u-1";
    job.meta.resource_version = "41";
    core::job_status status;
    status.phase = core::job_phase::running;
    const std::string body = op::status_body(job, status);
    rapidjson::Document read;
    read.Parse(body.data(), body.size());
    REQUIRE_FALSE(read.HasParseError());
    CHECK(read["metadata"]["uid"] == "u-1");
    CHECK(read["metadata"]["resourceVersion"] == "41");
    CHECK(read["kind"] == "PyTorchTrainingJob");
    CHECK(read["status"]["phase"] == "Running");
    CHECK_FALSE(read.HasMember("spec"));
}
