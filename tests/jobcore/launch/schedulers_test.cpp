// SPDX-License-Identifier: Apache-2.0
//
// What jobs of each scheduler of gangs get: the object, and what pods carry.
#include "launch/ssh_job.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

using namespace signalbox;
using namespace signalbox::test;
using core::object_kind;

namespace {

using request_fields = decltype(core::gang_request::fields);

object_kind kind_of(std::string_view scheduler) {
    const auto kinds = core::kinds_of_scheduler(scheduler);
    REQUIRE_FALSE(kinds.empty());
    return kinds.front();
}

struct training : typed_job<core::pytorch_spec> {
    explicit training(std::string scheduler, request_fields fields = {})
        : typed_job(core::job_kind::pytorch, "mnist") {
        for (const auto& [type, count] : {std::pair{"master", 1}, std::pair{"worker", 3}}) {
            core::replica_spec replica;
            replica.type = type;
            replica.replicas = count;
            replica.pod_template = worker_template();
            replica.pointer = "/spec/replicaSpecs/" + std::to_string(spec.replicas.size());
            spec.replicas.push_back(replica);
        }
        spec.scheduler = core::gang_request{std::move(scheduler), std::move(fields)};
        compile();
    }

    /// With so many replicas of each type that have ended.
    std::string spec_of(object_kind kind, std::vector<std::int32_t> ended = {}) const {
        const core::render_options options{false, {}, std::move(ended)};
        return core::json::to_text(object(kind, options).spec());
    }
    std::string pod_member(std::string_view key, core::pod_identity id = {}) const {
        const auto made = pod(id);
        const value* member = find(made.spec(), key);
        return member == nullptr ? "" : core::json::to_text(*member);
    }
    bool refuses(std::string_view pointer) const {
        return std::ranges::any_of(findings, [&](const core::diagnostic& d) {
            return d.pointer == pointer && d.level == core::severity::error;
        });
    }
};

core::gang_answer said(object_kind kind, const std::string& rest) {
    const auto seen =
        core::decode_child(kind, R"({"metadata":{"name":"g","uid":"u"},)" + rest + "}");
    REQUIRE(seen);
    REQUIRE(seen->gang != nullptr);
    return *seen->gang;
}

using state = core::gang_answer::state;

}  // namespace

TEST_CASE("[behaviour 8.7] a PodGroup of Kubernetes, and pods that name it", "[launch]") {
    const object_kind group = kind_of("kubernetes");
    CHECK(core::api_version_of(group) == "scheduling.k8s.io/v1beta1");
    training job("kubernetes");
    CHECK(job.plan.objects.front().kind == group);
    CHECK(
        job.spec_of(group) ==
        R"({"schedulingPolicy":{"gang":{"minCount":4}},"disruptionMode":{"all":{}}})"
    );
    CHECK(
        job.pod_member("schedulingGroup", {.type = 1}) ==
        R"({"podGroupName":")" + job.plan.base_name + R"("})"
    );
    CHECK(job.pod_member("schedulerName").empty());
    CHECK(job.pod_member("priorityClassName").empty());

    const training all(
        "kubernetes",
        {{"disruptionMode", "Single"}, {"topologyKey", "rack"}, {"priorityClassName", "high"}}
    );
    CHECK(
        all.spec_of(group) == R"({"schedulingPolicy":{"gang":{"minCount":4}},)"
                              R"("schedulingConstraints":{"topology":[{"key":"rack"}]},)"
                              R"("disruptionMode":{"single":{}},"priorityClassName":"high"})"
    );
    CHECK(all.pod_member("priorityClassName", {.type = 1, .index = 2}) == "\"high\"");
}

TEST_CASE("[behaviour 8.6] members that have ended do not count, but for T9k", "[launch]") {
    CHECK(has_text(training("kubernetes").spec_of(kind_of("kubernetes"), {0, 2}), "\"minCount\":2")
    );
    CHECK(has_text(training("kubernetes").spec_of(kind_of("kubernetes"), {1, 3}), "\"minCount\":1")
    );
    CHECK(has_text(training("volcano").spec_of(kind_of("volcano"), {0, 3}), "\"minMember\":1"));
    CHECK(has_text(
        training("coscheduling").spec_of(kind_of("coscheduling"), {0, 1}), "\"minMember\":3"
    ));
    CHECK(has_text(
        training("t9kScheduler").spec_of(kind_of("t9kScheduler"), {0, 2}), "\"minMember\":4"
    ));
}

TEST_CASE("[behaviour 8.7] one priority class and one scheduler for all pods", "[launch]") {
    training job("kubernetes");
    job.spec.replicas[1].pod_template = worker_template("", R"(,"priorityClassName":"high")");
    SECTION("of two templates") {
        job.compile();
        CHECK(job.refuses("/spec/replicaSpecs/1/template/spec/priorityClassName"));
    }
    SECTION("of all templates: the group has it") {
        job.spec.replicas[0].pod_template = job.spec.replicas[1].pod_template;
        job.compile();
        CHECK(job.findings.empty());
        CHECK(has_text(job.spec_of(kind_of("kubernetes")), R"("priorityClassName":"high")"));
    }
    SECTION("of the request: pods without get it") {
        job.spec.scheduler->fields = {{"priorityClassName", "high"}};
        job.compile();
        CHECK(job.findings.empty());
        CHECK(job.pod_member("priorityClassName") == "\"high\"");
    }
    SECTION("of the request, and another one of a template") {
        job.spec.scheduler->fields = {{"priorityClassName", "low"}};
        job.compile();
        CHECK(job.refuses("/spec/replicaSpecs/1/template/spec/priorityClassName"));
    }
    SECTION("two schedulers") {
        job.spec.replicas[1].pod_template = worker_template("", R"(,"schedulerName":"mine")");
        job.compile();
        CHECK(job.refuses("/spec/replicaSpecs/1/template/spec/schedulerName"));
    }
}

TEST_CASE("[behaviour 8.7] ColossalAI: the launcher is in the group, and not counted", "[launch]") {
    colossalai_job job(3, worker_template("", R"(,"priorityClassName":"high")"));
    job.spec.scheduler = core::gang_request{"kubernetes"};
    job.compile();
    const auto group = job.object(kind_of("kubernetes"));
    CHECK(find(group.spec(), "schedulingPolicy", "gang", "minCount")->GetInt() == 3);
    CHECK(string_or_empty(group.spec(), "priorityClassName") == "high");
    const auto launcher = job.pod({.type = 0});
    CHECK(find(launcher.spec(), "schedulingGroup") != nullptr);
    CHECK(string_or_empty(launcher.spec(), "priorityClassName") == "high");
}

TEST_CASE("[behaviour 8.3] what the server fills in is neither compared nor changed", "[render]") {
    training job("kubernetes");
    const auto& group = job.planned(kind_of("kubernetes"));
    std::string text = core::preview_object(job.plan, group, 1, {});
    text.insert(text.find("\"metadata\":{") + 12, R"("uid":"u-1",)");
    const auto same = [&](const std::string& json) {
        const auto seen = core::decode_child(group.kind, json);
        return seen->fingerprint == core::expected_fingerprint(job.plan, group, {}, seen->fields);
    };
    CHECK(same(text));
    std::string filled = text;
    filled.insert(filled.rfind("}}"), R"(,"priorityClassName":"default","priority":7)");
    CHECK(same(filled));
    std::string edited = text;
    edited.replace(edited.find("\"minCount\":4"), 12, "\"minCount\":3");
    CHECK_FALSE(same(edited));
}

TEST_CASE("[behaviour 8.5] what PodGroups say", "[render]") {
    const object_kind group = kind_of("kubernetes");
    const auto held = said(
        group,
        R"("spec":{"priority":10},"status":{"conditions":[{"type":"PodGroupInitiallyScheduled",)"
        R"("status":"False","reason":"Unschedulable","message":"minCount (6) cannot be satisfied"}]})"
    );
    CHECK(held.is == state::waiting);
    CHECK(held.words == "Unschedulable: minCount (6) cannot be satisfied");
    CHECK(held.priority == 10);
    CHECK(said(group, R"("status":{})").is == state::unsaid);
    CHECK(said(
              group,
              R"("status":{"conditions":[{"type":"PodGroupInitiallyScheduled","status":"True"}]})"
    )
              .words.empty());
    const object_kind other = kind_of("coscheduling");
    CHECK(said(other, R"("status":{"phase":"Scheduling"})").words == "phase Scheduling");
    CHECK(said(other, R"("status":{"phase":"Running"})").is == state::unsaid);
    const object_kind volcano = kind_of("volcano");
    CHECK(said(volcano, R"("status":null)").is == state::unsaid);
    CHECK(said(volcano, R"("status":{"phase":"Pending"})").is == state::waiting);
    for (const std::string phase : {"Inqueue", "Running", "Unknown", "Completed"}) {
        CHECK(said(volcano, R"("status":{"phase":")" + phase + R"("})").is == state::admitted);
    }
    CHECK(
        said(
            volcano,
            R"("status":{"phase":"Pending","conditions":[{"type":"Unschedulable","status":"True",)"
            R"("reason":"NotEnoughResources","message":"no room"}]})"
        )
            .words == "NotEnoughResources: no room"
    );
    CHECK(
        said(volcano, R"("status":{"phase":")" + std::string(9000, 'x') + R"("})").words.size() ==
        512
    );
}

TEST_CASE("[behaviour 8.8] coscheduling, Koordinator and Volcano: object and marks", "[launch]") {
    training job("coscheduling", {{"timeoutSeconds", "60"}});
    CHECK(job.spec_of(kind_of("coscheduling")) == R"({"minMember":4,"scheduleTimeoutSeconds":60})");
    CHECK(job.pod().label("scheduling.x-k8s.io/pod-group") == job.plan.base_name);
    CHECK(job.pod_member("schedulerName").empty());

    training without("koordinator");
    CHECK(core::kinds_of_scheduler("koordinator").empty());
    CHECK(without.plan.objects.front().kind == object_kind::service);
    CHECK(without.pod_member("schedulerName") == "\"koord-scheduler\"");
    const auto pod = without.pod({.type = 1});
    const value* annotations = find(pod.root(), "metadata", "annotations");
    CHECK(
        string_or_empty(*annotations, "gang.scheduling.koordinator.sh/name") ==
        without.plan.base_name
    );
    const std::string minimum = "gang.scheduling.koordinator.sh/min-available";
    CHECK(string_or_empty(*annotations, minimum) == "4");
    core::render_options later;
    later.ended = {0, 2};  // [behaviour 8.6]
    CHECK(
        core::render_pod(without.plan, {.type = 1}, later).find('"' + minimum + R"(":"2")") !=
        std::string::npos
    );

    training queued("volcano", {{"queue", "team-a"}, {"priorityClassName", "high"}});
    CHECK(
        queued.spec_of(kind_of("volcano")) ==
        R"({"minMember":4,"queue":"team-a","priorityClassName":"high"})"
    );
    CHECK(training("volcano").spec_of(kind_of("volcano")) == R"({"minMember":4})");
    CHECK(queued.pod_member("schedulerName") == "\"volcano\"");
    const auto member = queued.pod();
    CHECK(
        string_or_empty(
            *find(member.root(), "metadata", "annotations"), "scheduling.k8s.io/group-name"
        ) == queued.plan.base_name
    );
}

TEST_CASE("[behaviour 1.6] a template's own mark of a gang is not used, and is told", "[launch]") {
    const auto with_mark = [](const std::string& scheduler, const std::string& annotation) {
        training job(scheduler);
        std::string& text = job.spec.replicas[1].pod_template;
        text = R"({"metadata":{"annotations":{)" + annotation + "}}," + text.substr(1);
        job.compile();
        return job;
    };
    const std::string at = "/spec/replicaSpecs/1/template/metadata/annotations/";
    const std::string group = at + "scheduling.k8s.io~1group-name";
    const std::string minimum = at + "gang.scheduling.koordinator.sh~1min-available";
    CHECK(with_mark("volcano", R"("scheduling.k8s.io/group-name":"mine")").warns(group));
    CHECK(with_mark("volcano", R"("scheduling.k8s.io/group-name":"mnist-40c14")")
              .plan.warnings.empty());
    CHECK(with_mark("volcano", R"("example.com/mine":"x")").plan.warnings.empty());
    CHECK(with_mark("koordinator", R"("gang.scheduling.koordinator.sh/min-available":"4")")
              .warns(minimum));
    CHECK(
        with_mark("coscheduling", R"("scheduling.k8s.io/group-name":"mine")").plan.warnings.empty()
    );
}
