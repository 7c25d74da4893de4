// SPDX-License-Identifier: Apache-2.0
//
// The controller's parts that need no server: refusals, texts.
#include "controller/object_text.hpp"
#include "controller/own_refusals.hpp"
#include "signalbox_test/jobcore_builders.hpp"

#include <catch2/catch.hpp>
#include <rapidjson/document.h>

namespace {

using namespace signalbox;
using test::at;

}  // namespace

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
