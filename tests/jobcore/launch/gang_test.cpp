// SPDX-License-Identifier: Apache-2.0
//
// Gang scheduling by t9kScheduler, for all kinds.
#include "launch/ssh_job.hpp"

using namespace signalbox;
using namespace signalbox::test;
using core::object_kind;

namespace {

const core::gang_request scheduler{
    .name = "t9kScheduler", .fields = {{"queue", "q"}, {"priority", "50"}}};

struct pytorch_job : typed_job<core::pytorch_spec> {
    pytorch_job() : typed_job(core::job_kind::pytorch, "mnist") {
        for (const auto& [type, count] : {std::pair{"ps", 2}, std::pair{"worker", 3}}) {
            core::replica_spec replica;
            replica.type = type;
            replica.replicas = count;
            replica.pod_template = worker_template();
            replica.pointer = "/spec/replicaSpecs/0";
            spec.replicas.push_back(replica);
        }
        spec.scheduler = scheduler;
    }
};

int min_member(const rendered& group) {
    return find(group.spec(), "minMember")->GetInt();
}

}  // namespace

TEST_CASE("[behaviour 8.1] a PodGroup first, its labels and the scheduler on pods", "[launch]") {
    auto job = pytorch_job();
    job.compile();
    REQUIRE(job.plan.objects.front().kind == object_kind::pod_group);
    const auto group = job.object(object_kind::pod_group);
    CHECK(string_or_empty(group.root(), "apiVersion") == "scheduler.tensorstack.dev/v1beta1");
    CHECK(string_or_empty(group.root(), "kind") == "PodGroup");
    CHECK(group.name() == job.plan.base_name);
    CHECK(min_member(group) == 5);
    CHECK(string_or_empty(group.spec(), "queue") == "q");
    CHECK(find(group.spec(), "priority")->GetInt() == 50);
    const auto pod = job.pod({.type = 1, .index = 2});
    CHECK(string_or_empty(pod.spec(), "schedulerName") == "t9k-scheduler");
    CHECK(pod.label("scheduler.tensorstack.dev/group-name") == job.plan.base_name);
    CHECK(pod.label("scheduler.tensorstack.dev/queue") == "q");
    CHECK(pod.label("scheduler.tensorstack.dev/role") == "worker");
    job.spec.scheduler.reset();
    job.compile();
    CHECK_FALSE(job.has(object_kind::pod_group));
    CHECK(find(job.pod().spec(), "schedulerName") == nullptr);
    CHECK(job.pod().label("scheduler.tensorstack.dev/queue") == "<none>");
}

TEST_CASE("[behaviour 8.1] a template's own scheduler is kept, with a warning", "[launch]") {
    auto job = pytorch_job();
    job.spec.replicas[0].pod_template = worker_template("", R"(,"schedulerName":"mine")");
    job.compile();
    CHECK(string_or_empty(job.pod().spec(), "schedulerName") == "mine");
    CHECK(job.warns("/spec/replicaSpecs/0/template/spec/schedulerName"));
}

TEST_CASE("[behaviour 8.2] elastic: the minimum, never more than is created", "[launch]") {
    auto job = pytorch_job();
    job.spec.elastic = core::elastic_config{2, 9, 4};
    job.compile();
    CHECK(min_member(job.object(object_kind::pod_group)) == 2);
    const std::vector<std::int32_t> one{1, 0};
    const core::render_options smaller{.resumed = false, .wanted = one};
    CHECK(min_member(job.object(object_kind::pod_group, smaller)) == 1);
}

TEST_CASE("[behaviour 8.2] ColossalAI: the launcher is labelled and not counted", "[launch]") {
    colossalai_job job(3);
    job.spec.scheduler = scheduler;
    job.compile();
    CHECK(job.plan.objects.front().kind == object_kind::pod_group);
    CHECK(min_member(job.object(object_kind::pod_group)) == 3);
    const auto launcher = job.pod({.type = 0});
    CHECK(launcher.label("scheduler.tensorstack.dev/role") == "launcher");
    CHECK(launcher.label("scheduler.tensorstack.dev/group-name") == job.plan.base_name);
    CHECK(string_or_empty(launcher.spec(), "schedulerName") == "t9k-scheduler");
}

TEST_CASE("[behaviour 2.6] a PodGroup as the server shows it; every field is watched", "[render]") {
    deepspeed_job job(2);
    job.spec.scheduler = scheduler;
    job.compile();
    const auto& group = job.planned(object_kind::pod_group);
    auto text = core::preview_object(job.plan, group, 1, {});
    text.replace(text.find("\"metadata\":{"), 12, R"("metadata":{"uid":"u-1",)");
    const auto seen = [](const std::string& json) {
        return core::decode_child(object_kind::pod_group, json)->fingerprint;
    };
    const auto expected = core::expected_fingerprint(job.plan, group, {});
    CHECK(seen(text) == expected);
    for (const std::string_view part : {R"("minMember":2)", R"("queue":"q)", R"("priority":5)"}) {
        auto edited = text;
        edited.insert(edited.find(part) + part.size(), "1");
        CHECK(seen(edited) != expected);
    }
}
