// SPDX-License-Identifier: Apache-2.0
//
// What a parsed PyTorchTrainingJob holds: values, aliases, defaults, metadata.
#include <jobcore/schema.hpp>

#include <catch2/catch.hpp>

using namespace signalbox::core;

namespace {

const std::string pod =
    R"({"spec":{"containers":[{"name":"pytorch","image":"i","args":["a.py"]}]}})";

std::string job(const std::string& spec_members) {
    return R"({"apiVersion":"batch.tensorstack.dev/v1beta1","kind":"PyTorchTrainingJob",)"
           R"("metadata":{"name":"mnist"},"spec":{"replicaSpecs":[{"type":"worker","template":)" +
           pod + "}]" + (spec_members.empty() ? "" : "," + spec_members) + "}}";
}

job_spec spec_of(const std::string& object) {
    const auto parsed = parse_job(object);
    for (const auto& d : parsed.findings) {
        INFO(d.pointer << ": " << d.message);
        REQUIRE(d.level == severity::warning);
    }
    REQUIRE(parsed.spec.has_value());
    return *parsed.spec;
}

}  // namespace

TEST_CASE("[api defaults] what is absent from a PyTorchTrainingJob", "[api]") {
    job_spec expected;
    expected.managed_by = std::string(managed_by_signalbox);
    expected.replicas = {
        {.type = "worker", .pod_template = pod, .pointer = "/spec/replicaSpecs/0"}};
    expected.launch = pytorch_spec{};
    CHECK(spec_of(job("")) == expected);
}

TEST_CASE("[api runMode] both modes reach the specification", "[api]") {
    const auto spec = spec_of(job(R"("runMode":{
        "debug":{"enabled":true,"replicaSpecs":[
            {"type":"worker","skipInitContainer":true,"command":["sleep","1"]},
            {"type":"worker","command":["x"]}, {"type":"master"}]},
        "pause":{"enabled":null,"enable":true,"resumeSpecs":[{"type":"worker","command":["c"],"args":["a","b"]}]}})"
    ));
    CHECK(spec.mode.debug);
    CHECK(spec.mode.pause);
    // The second entry of a type has no effect.
    CHECK(
        spec.mode.debug_replicas ==
        std::vector<debug_replica>{
            {.type = "worker", .skip_init_container = true, .command = {"sleep", "1"}},
            {.type = "master", .command = {}}}
    );
    CHECK(
        spec.mode.resume_replicas ==
        std::vector<resume_replica>{{.type = "worker", .command = {"c"}, .args = {"a", "b"}}}
    );
}

TEST_CASE(
    "[api runPolicy.backoffLimit] with other numbers and words of runPolicy in the specification",
    "[api]"
) {
    const auto policy = spec_of(job(R"("runPolicy":{
        "activeDeadlineSeconds":9007199254740993,"backoffLimit":2.0,"cleanUpPolicy":"none",
        "ttlSecondsAfterFinished":0,"restartScope":"Replica","failurePolicy":"Master"})"))
                            .policy;
    CHECK(policy.active_deadline_seconds == 9007199254740993);
    CHECK(policy.backoff_limit == 2);
    CHECK(policy.clean_up == clean_up_policy::none);
    CHECK(policy.ttl_seconds_after_finished == 0);
    CHECK(policy.scope == restart_scope::replica);
    CHECK(policy.failure == failure_policy::master);
}

TEST_CASE(
    "[api runPolicy.cleanUpPolicy] each enumeration of runPolicy maps to its value", "[api]"
) {
    const auto clean_up = [](const std::string& text) {
        return spec_of(job(R"("runPolicy":{"cleanUpPolicy":")" + text + "\"}")).policy.clean_up;
    };
    CHECK(clean_up("All") == clean_up_policy::all);
    CHECK(clean_up("all") == clean_up_policy::all);
    CHECK(clean_up("Unfinished") == clean_up_policy::unfinished);
    CHECK(clean_up("None") == clean_up_policy::none);
    CHECK(
        spec_of(job(R"("runPolicy":{"restartScope":"Job","failurePolicy":"AnyReplica"})"))
            .policy.scope == restart_scope::job
    );
}

TEST_CASE("[api pytorch replicaSpecs] order, values, template and place are kept", "[api]") {
    // Unknown fields, null, order and numbers of the template survive.
    const std::string odd =
        R"({"spec":{"zz":{"b":1,"a":[null,1.5,18446744073709551615]},"containers":[{"name":"x","image":"i"}]},"k":null})";
    const auto spec = spec_of(
        R"({"apiVersion":"batch.tensorstack.dev/v1beta1","kind":"PyTorchTrainingJob",
        "metadata":{"generateName":"m-"},"spec":{"replicaSpecs":[
        {"template":)" +
        odd + R"(,"type":"ps","replicas":3,"scalingWeight":0,"restartPolicy":"ExitCode"},
        {"type":"a","restartPolicy":"Always","template":)" +
        pod + R"(},
        {"type":"b","restartPolicy":"Never","replicas":0,"template":)" +
        pod + "}]}}"
    );
    REQUIRE(spec.replicas.size() == 3);
    CHECK(
        spec.replicas[0] ==
        replica_spec{
            .type = "ps",
            .replicas = 3,
            .scaling_weight = 0,
            .restart = restart_policy::exit_code,
            .pod_template = odd,
            .pointer = "/spec/replicaSpecs/0"}
    );
    CHECK(spec.replicas[1].restart == restart_policy::always);
    CHECK(spec.replicas[2].restart == restart_policy::never);
    CHECK(spec.replicas[2].replicas == 0);
    CHECK(spec.replicas[2].pointer == "/spec/replicaSpecs/2");
}

TEST_CASE("[api pytorch torchrunConfig.enabled] every field reaches the specification", "[api]") {
    const auto torchrun = [](const std::string& members) {
        const auto spec = spec_of(job(R"("torchrunConfig":{)" + members + "}"));
        return std::get<pytorch_spec>(spec.launch).torchrun;
    };
    CHECK(
        torchrun(R"("enable":true,"maxRestarts":7,"procPerNode":"gpu","rdzvBackend":"etcd-v2",
                 "extraOptions":["--rdzv_endpoint=e:1"])") ==
        torchrun_config{
            .enabled = true,
            .max_restarts = 7,
            .proc_per_node = "gpu",
            .rdzv_backend = "etcd-v2",
            .extra_options = {"--rdzv_endpoint=e:1"}}
    );
    CHECK(torchrun(R"("procPerNode":8)").proc_per_node == "8");
    CHECK(torchrun(R"("procPerNode":8.0)").proc_per_node == "8");
    CHECK(torchrun(R"("enabled":false,"enable":true)").enabled == false);
}

TEST_CASE("[api tensorboardSpec] is kept as JSON", "[api]") {
    const std::string board = R"({"trainingLogFilesets":["t9k://pvc/c/p"],"image":"tf"})";
    const auto spec = spec_of(job("\"tensorboardSpec\":" + board));
    CHECK(std::get<pytorch_spec>(spec.launch).tensorboard == board);
}

TEST_CASE("[api managedBy] another controller's name is kept, an empty one is ours", "[api]") {
    CHECK(
        spec_of(job(R"("managedBy":"kueue.x-k8s.io/multikueue")")).managed_by ==
        "kueue.x-k8s.io/multikueue"
    );
    CHECK(spec_of(job(R"("managedBy":"")")).managed_by == managed_by_signalbox);
}

TEST_CASE("[api 6.4] metadata is read even if the specification is invalid", "[api]") {
    const auto parsed = parse_job(R"({"apiVersion":"batch.tensorstack.dev/v1beta1",
        "kind":"PyTorchTrainingJob","metadata":{"name":"n","namespace":"ns","uid":"u",
        "resourceVersion":"7","generation":3,"creationTimestamp":"2026-01-01T00:00:00Z",
        "deletionTimestamp":"2026-01-01T00:00:05Z","annotations":{
        "batch.tensorstack.dev/shm":"off","other":"x","batch.tensorstack.dev/stuck-after":5},
        "finalizers":["orphan",7,"example.com/backup"]},
        "spec":{}})");
    CHECK_FALSE(parsed.spec.has_value());
    CHECK(
        parsed.meta ==
        job_meta{
            .kind = job_kind::pytorch,
            .name = "n",
            .ns = "ns",
            .uid = "u",
            .resource_version = "7",
            .generation = 3,
            .creation_time = instant{seconds{1767225600}},
            .deletion_time = instant{seconds{1767225605}},
            .annotations = {{"batch.tensorstack.dev/shm", "off"}},
            .finalizers = {"orphan", "example.com/backup"}}
    );
}

TEST_CASE("[api kinds] an unknown kind is one error", "[api]") {
    for (const std::string kind : {R"("Job")", "null", "7", R"("pytorchtrainingjob")"}) {
        const auto parsed = parse_job(R"({"kind":)" + kind + R"(,"spec":{"x":1}})");
        REQUIRE(parsed.findings.size() == 1);
        CHECK(parsed.findings[0].pointer == "/kind");
        CHECK_FALSE(parsed.spec.has_value());
    }
}

TEST_CASE("[api kinds] kinds and their names", "[api]") {
    for (const auto kind : {job_kind::pytorch, job_kind::deepspeed, job_kind::colossalai}) {
        CHECK(parse_job_kind(to_string(kind)) == kind);
    }
    CHECK(to_string(job_kind::colossalai) == "ColossalAIJob");
    CHECK(plural(job_kind::pytorch) == "pytorchtrainingjobs");
    CHECK(plural(job_kind::deepspeed) == "deepspeedjobs");
    CHECK(plural(job_kind::colossalai) == "colossalaijobs");
    CHECK_FALSE(parse_job_kind("").has_value());
}
