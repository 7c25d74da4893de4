// SPDX-License-Identifier: Apache-2.0
//
// What an object that is found under a child's name is to the job, without a server.
#include "controller/child_claims.hpp"

#include <catch2/catch.hpp>
#include <rapidjson/document.h>

#include <set>
#include <string>

namespace {

using namespace signalbox;
using k8sio::standing;

using keys = std::set<std::string>;

std::string owned_by(
    const std::string& uid, const std::string& labels, const std::string& more = {}
) {
    return R"({"apiVersion":"v1","metadata":{"name":"w-0","namespace":"ml","uid":"u","labels":{)" +
           labels +
           R"(},"ownerReferences":[{"apiVersion":"batch.tensorstack.dev/v1beta1",)"
           R"("kind":"PyTorchTrainingJob","name":"job","controller":true,"uid":")" +
           uid + R"("}]})" + more + "}";
}

std::string place(int attempt, int round) {
    return R"("batch.tensorstack.dev/attempt":")" + std::to_string(attempt) +
           R"(","batch.tensorstack.dev/round":")" + std::to_string(round) +
           R"(","replica-type":"worker",)" +
           R"("replica-index":"0","job-role":"worker","app.kubernetes.io/managed-by":"signalbox")";
}

/// The labels that a merge patch gives.
keys patched(const std::string& patch) {
    keys names;
    rapidjson::Document read;
    read.Parse(patch.data(), patch.size());
    if (read.IsObject()) {
        CHECK_FALSE(read["metadata"].HasMember("uid"));  // the writer's
        for (const auto& label : read["metadata"]["labels"].GetObject()) {
            names.insert(label.name.GetString());
        }
    }
    return names;
}

struct claims_fixture {
    claims_fixture() {
        job.meta.uid = "j";
        job.meta.ns = "ml";
        options.preview =
            [this](const core::job_object&, const core::decision&, const core::action&) {
                return wanted;
            };
        a.name = "w-0";
        a.request = core::create_pod{{.attempt = 2, .round = 1}};
    }
    op::child_claims claims(const k8sio::write_order& order = k8sio::confirm_order()) const {
        return {options, job, made, a, order};
    }

    op::controller_options options;
    core::job_object job;
    core::decision made;
    core::action a;
    std::string wanted = owned_by("j", place(2, 1));
};

}  // namespace

TEST_CASE_METHOD(
    claims_fixture, "[behaviour 1.8] a child is ours by the UID of the job that owns it"
) {
    const auto kind = GENERATE(core::object_kind::pod, core::object_kind::service);
    a.kind = kind;
    CHECK(claims().is_ours(owned_by("j", place(1, 0))));
    CHECK_FALSE(claims().is_ours(owned_by("other", place(2, 1))));
    CHECK_FALSE(claims().is_ours(R"({"metadata":{"name":"w-0","uid":"u"}})"));
    CHECK_FALSE(claims().is_ours("no object"));
}

TEST_CASE_METHOD(
    claims_fixture, "[behaviour 2.7] the wanted pod is one of the same attempt and round"
) {
    CHECK(claims().is_wanted(owned_by("j", place(2, 1))));
    CHECK_FALSE(claims().is_wanted(owned_by("j", place(1, 1))));
    CHECK_FALSE(claims().is_wanted(owned_by("j", place(2, 0))));
}

TEST_CASE_METHOD(
    claims_fixture, "[behaviour 2.7] the wanted object has the same attempt, if any, and data"
) {
    a.kind = core::object_kind::config_map;
    a.request = core::create_object{{0, 2}};
    const std::string data = R"(,"data":{"a":"b"})";
    const std::string attempt = R"("batch.tensorstack.dev/attempt":"2")";
    wanted = owned_by("j", attempt, data);
    CHECK(claims().is_wanted(owned_by("j", attempt, data)));
    CHECK(claims().is_wanted(owned_by("j", R"("team":"a")", data)));  // kept over attempts
    CHECK_FALSE(claims().is_wanted(owned_by("j", R"("batch.tensorstack.dev/attempt":"1")", data)));
    CHECK_FALSE(claims().is_wanted(owned_by("j", attempt, R"(,"data":{"a":"c"})")));
}

TEST_CASE_METHOD(claims_fixture, "[behaviour 2.7] [behaviour 1.9] which labels are put back") {
    const std::string bare = owned_by("j", R"("batch.tensorstack.dev/attempt":"2")");
    CHECK(
        patched(claims().repair_of(bare, standing::wanted)) ==
        keys{"replica-type", "replica-index", "job-role", "app.kubernetes.io/managed-by"}
    );
    CHECK(
        patched(claims().repair_of(bare, standing::other)) == keys{"app.kubernetes.io/managed-by"}
    );
    for (const standing found : {standing::wanted, standing::other}) {
        CHECK(claims().repair_of(wanted, found).empty());
    }
    a.kind = core::object_kind::secret;  // BEHAVIOUR.md 2.10
    for (const standing found : {standing::wanted, standing::other}) {
        CHECK(claims().repair_of(bare, found).empty());
    }
}

TEST_CASE_METHOD(
    claims_fixture, "[behaviour 2.8] a new pod is held against what was sent, other objects not"
) {
    const k8sio::write_order order = k8sio::create_order(wanted);
    CHECK(claims(order).lost_of(wanted).empty());
    CHECK(
        claims(order).lost_of(owned_by("j", R"("replica-type":"worker","replica-index":"0")")) ==
        "batch.tensorstack.dev/attempt, batch.tensorstack.dev/round, job-role, "
        "app.kubernetes.io/managed-by"
    );
    a.kind = core::object_kind::service;
    CHECK(claims(order).lost_of(owned_by("j", "")).empty());
}

TEST_CASE_METHOD(
    claims_fixture, "[behaviour 12.12] the size that is written to a job must be kept"
) {
    a.kind = core::object_kind::job;
    const std::string size = R"({"spec":{"elastic":{"expectedReplicas":3}}})";
    a.request = core::patch_object{"j", size, std::nullopt};
    CHECK(claims().lost_of(R"({"spec":{"elastic":{"expectedReplicas":3,"enabled":true}}})").empty()
    );
    CHECK(claims().lost_of(R"({"spec":{"elastic":{"enabled":true}}})") == "spec");
    a.kind = core::object_kind::service;  // somebody may have changed it again
    CHECK(claims().lost_of(R"({"spec":{}})").empty());
}

TEST_CASE_METHOD(claims_fixture, "[behaviour 2.13] a Secret is ours by its content too") {
    const auto read = core::read_job(
        R"({"apiVersion":"batch.tensorstack.dev/v1beta1","kind":"DeepSpeedJob","metadata":{)"
        R"("name":"cifar","namespace":"ml","uid":"j"},"spec":{"config":{"run":{"python":)"
        R"(["train.py"]}},"worker":{"replicas":2,"template":{"spec":{"containers":)"
        R"([{"name":"worker","image":"ds"}]}}}}})"
    );
    REQUIRE(read);
    job = *read;
    a.kind = core::object_kind::secret;
    const std::string named = owned_by("j", "", R"(,"data":{"authorized_keys":"ZXZpbA=="})");
    const op::child_claims asked = claims();
    CHECK_FALSE(asked.is_ours(named));
    CHECK(asked.has_other_content());
    CHECK_FALSE(asked.is_ours(owned_by("other", "", "")));
    CHECK_FALSE(asked.has_other_content());
    CHECK(asked.is_ours(owned_by("j", "")));  // of another form: ours, and not the wanted one
    CHECK_FALSE(asked.has_other_content());
}
