// SPDX-License-Identifier: Apache-2.0
//
// The controller's parts that need no server: slow start, refusals, texts.
#include "controller/object_text.hpp"
#include "controller/refusal_ledger.hpp"
#include "controller/slow_start.hpp"
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

core::decision asking_for(std::vector<core::action> actions) {
    core::decision d;
    d.stages.push_back(std::move(actions));
    return d;
}

k8sio::api_error refusal(int status, std::string reason, std::string message) {
    k8sio::api_error error;
    error.http_status = status;
    error.reason = std::move(reason);
    error.message = std::move(message);
    return error;
}

}  // namespace

TEST_CASE("[behaviour 2.2] [requirement X12] slow start doubles per round trip up to the bound") {
    op::slow_start pace(32);
    std::vector<int> rounds;
    for (int round = 0; round < 8; ++round) {
        int sent = 0;
        while (pace.may_start()) {
            pace.started();
            ++sent;
        }
        rounds.push_back(sent);
        for (int i = 0; i < sent; ++i) {
            pace.succeeded();
        }
    }
    CHECK(rounds == std::vector<int>{1, 2, 4, 8, 16, 32, 32, 32});
}

TEST_CASE(
    "[behaviour 2.2] [requirement X12] a refusal that will repeat costs one request, not the whole "
    "stage"
) {
    op::slow_start pace(32);
    pace.started();
    CHECK_FALSE(pace.may_start());
    pace.failed();
    pace.stop();
    CHECK_FALSE(pace.may_start());
    CHECK(pace.idle());
}

TEST_CASE("[behaviour 12.5] refusals are counted per object, attempt and round") {
    op::refusal_ledger ledger;
    const auto quota = refusal(403, "Forbidden", "exceeded quota: q");
    ledger.note(create("w-0"), quota, at(1));
    ledger.note(create("w-0"), quota, at(5));
    ledger.note(create("w-0", 2), quota, at(6));
    REQUIRE(ledger.all().size() == 2);
    CHECK(ledger.all()[0].count == 2);
    CHECK(ledger.all()[0].first == at(1));
    CHECK(ledger.all()[0].last == at(5));
    CHECK(ledger.all()[0].message == "exceeded quota: q");
    CHECK(ledger.all()[1].attempt == 2);

    ledger.settle(create("w-0"));
    REQUIRE(ledger.all().size() == 1);
    CHECK(ledger.all()[0].attempt == 2);
}

TEST_CASE("[behaviour 12.5] a refusal is forgotten when decisions no longer ask for its action") {
    op::refusal_ledger ledger;
    ledger.note(create("w-0"), refusal(403, "Forbidden", ""), at(1));
    ledger.note(create("w-1"), refusal(403, "Forbidden", ""), at(1));
    core::action held = create("w-0");
    held.not_before = at(100);
    ledger.prune(asking_for({held}));
    REQUIRE(ledger.all().size() == 1);
    CHECK(ledger.all()[0].name == "w-0");
    ledger.prune({});
    CHECK(ledger.empty());
}

TEST_CASE("[behaviour 2.5] [requirement X3] what says that the namespace is terminating or gone") {
    auto error = refusal(403, "Forbidden", "forbidden: namespace default is being terminated");
    CHECK_FALSE(op::is_namespace_terminating(error));
    error.causes.push_back({"NamespaceTerminating", "", "metadata.namespace"});
    CHECK(op::is_namespace_terminating(error));
    CHECK(op::is_namespace_terminating(refusal(404, "NotFound", "namespaces \"default\" not found"))
    );
    CHECK_FALSE(op::is_namespace_terminating(
        refusal(404, "NotFound", "the server could not find the requested resource")
    ));
}

TEST_CASE("the identity of an object is read without the rest of it") {
    const auto identity = op::read_identity(
        R"({"kind":"Pod","spec":{"metadata":{"uid":"not this"}},)"
        R"("metadata":{"labels":{"uid":"nor this"},"name":"p","namespace":"n",)"
        R"("managedFields":[{"uid":"nor this"}],"resourceVersion":"7","uid":"u"}, broken)"
    );
    REQUIRE(identity);
    CHECK(identity->uid == "u");
    CHECK(identity->name == "p");
    CHECK(identity->ns == "n");
    CHECK(identity->resource_version == "7");
    CHECK_FALSE(op::read_identity(R"({"metadata":{"name":"p"}})"));
    CHECK_FALSE(op::read_identity("[]"));
    CHECK_FALSE(op::read_identity(""));
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

TEST_CASE("[requirement X8] patches carry the UID as precondition") {
    CHECK(
        op::with_uid_precondition(R"({"spec":{"a":1}})", "u") ==
        R"({"spec":{"a":1},"metadata":{"uid":"u"}})"
    );
    CHECK(
        op::with_uid_precondition(R"({"metadata":{"uid":"x","resourceVersion":"3"}})", "u") ==
        R"({"metadata":{"resourceVersion":"3","uid":"u"}})"
    );
    CHECK(op::with_uid_precondition("[1]", "u").empty());
    CHECK(op::with_uid_precondition(R"({"metadata":1})", "u").empty());
}

TEST_CASE(
    "[behaviour 2.7] [behaviour I16] lost labels of ours are restored, attempt and round never"
) {
    const std::string wanted =
        R"({"metadata":{"labels":{"replica-type":"worker","replica-index":"0","team":"a",)"
        R"("batch.tensorstack.dev/attempt":"2","batch.tensorstack.dev/round":"1"}}})";
    const std::string live = R"({"metadata":{"uid":"u","labels":{"replica-type":"worker",)"
                             R"("batch.tensorstack.dev/attempt":"1"}}})";
    CHECK(
        op::label_patch(wanted, live) ==
        R"({"metadata":{"uid":"u","labels":{"replica-index":"0"}}})"
    );
    CHECK_FALSE(op::label_patch(
        wanted,
        R"({"metadata":{"uid":"u","labels":)"
        R"({"replica-type":"worker","replica-index":"0"}}})"
    ));
    CHECK(op::label_patch(wanted, R"({"metadata":{"uid":"u"}})").has_value());
}
