// SPDX-License-Identifier: Apache-2.0
//
// What a parsed DeepSpeedJob and ColossalAIJob hold.
#include "jobcore/schema.hpp"

#include <catch2/catch.hpp>

using namespace signalbox::core;

namespace {

const std::string worker_pod = R"({"spec":{"containers":[{"name":"a","image":"w"}],"zz":[null]}})";

job_spec spec_of(const std::string& kind, const std::string& spec) {
    const auto parsed = parse_job(
        R"({"apiVersion":"batch.tensorstack.dev/v1beta1","metadata":{"name":"a"},"kind":")" + kind +
        R"(","spec":)" + spec + "}"
    );
    for (const auto& d : parsed.findings) {
        INFO(d.pointer << ": " << d.message);
        REQUIRE(d.level == severity::warning);
    }
    REQUIRE(parsed.spec.has_value());
    return *parsed.spec;
}

}  // namespace

TEST_CASE("[api defaults] what is absent from a DeepSpeedJob", "[api]") {
    job_spec expected;
    expected.managed_by = std::string(managed_by_signalbox);
    expected.replicas = {{.type = "worker", .pod_template = worker_pod, .pointer = "/spec/worker"}};
    deepspeed_spec launch;
    launch.python = {"a.py", "-x"};
    expected.launch = launch;
    CHECK(
        spec_of(
            "DeepSpeedJob",
            R"({"config":{"run":{"python":["a.py","-x"]}},"worker":{"template":)" + worker_pod +
                "}}"
        ) == expected
    );
}

TEST_CASE(
    "[api deepspeed config] every field of a DeepSpeedJob reaches the specification", "[api]"
) {
    const auto spec = spec_of(
        "DeepSpeedJob",
        R"({"runPolicy":{"backoffLimit":7,"cleanUpPolicy":"all","restartScope":"Replica",
            "failurePolicy":"Master","activeDeadlineSeconds":5,"ttlSecondsAfterFinished":6,
            "failureRules":[{"action":"RestartElsewhere","onReason":["r"],
            "onExitCodes":{"operator":"NotIn","values":[1,2]},"onMessage":{"contains":["t"]},
            "onPodConditions":[{"type":"c"},{"type":"d","status":"False"}]}],
            "defaultFailureRules":false,"resetBackoffAfterSeconds":9,
            "avoidNodes":{"policy":"Required","forSeconds":8},"maxRestartsWithoutProgress":4,
            "progress":{"stallAfterSeconds":7,"firstReportAfterSeconds":6,"stallAction":"Restart"}},
            "elastic":{"enable":true,"minReplicas":2,"maxReplicas":4,"expectedReplicas":3},
            "disableCustomEnv":true,"managedBy":"x",
            "config":{"slotsPerWorker":8,"localRank":false,"autotune":"run",
            "run":{"python":["p"]},"otherArgs":["--save_pid"]},
            "worker":{"replicas":3,"restartPolicy":"ExitCode","template":)" +
            worker_pod + "}}"
    );
    CHECK(spec.policy.backoff_limit == 7);
    CHECK(spec.policy.clean_up == clean_up_policy::all);
    CHECK(spec.policy.scope == restart_scope::replica);
    CHECK(spec.policy.failure == failure_policy::master);
    CHECK(spec.policy.active_deadline_seconds == 5);
    CHECK(spec.policy.ttl_seconds_after_finished == 6);
    REQUIRE(spec.policy.rules.size() == 1);
    CHECK(
        spec.policy.rules[0] ==
        failure_rule{
            failure_action::restart_elsewhere,
            exit_code_match{"", false, {1, 2}},
            {{"c", "True"}, {"d", "False"}},
            {"r"},
            {"t"}}
    );
    CHECK_FALSE(spec.policy.default_rules);
    CHECK(spec.policy.reset_backoff_after == 9);
    CHECK(spec.policy.avoid == avoid_policy::required);
    CHECK(spec.policy.avoid_seconds == 8);
    CHECK(spec.policy.max_idle_restarts == 4);
    CHECK(spec.policy.stall_after == 7);
    CHECK(spec.policy.first_report_after == 6);
    CHECK(spec.policy.on_stall == stall_action::restart);
    CHECK(spec.elastic == elastic_config{2, 4, 3});
    CHECK(spec.managed_by == "x");
    REQUIRE(spec.replicas.size() == 1);
    CHECK(spec.replicas[0].replicas == 3);
    CHECK(spec.replicas[0].restart == restart_policy::exit_code);
    deepspeed_spec launch;
    launch.disable_custom_env = true;
    launch.slots_per_worker = 8;
    launch.local_rank = false;
    launch.autotune = "run";
    launch.python = {"p"};
    launch.other_args = {"--save_pid"};
    CHECK(std::get<deepspeed_spec>(spec.launch) == launch);
}

TEST_CASE(
    "[api deepspeed config.run] module, exec and customCommand reach the specification", "[api]"
) {
    const auto launch = [](const std::string& config) {
        return std::get<deepspeed_spec>(spec_of(
                                            "DeepSpeedJob",
                                            R"({"config":)" + config + R"(,"worker":{"template":)" +
                                                worker_pod + "}}"
        )
                                            .launch);
    };
    CHECK(launch(R"({"run":{"Module":["m","a"]}})").module == std::vector<std::string>{"m", "a"});
    CHECK(launch(R"({"run":{"Module":["m","a"]}})").local_rank);
    CHECK(launch(R"({"run":{"Exec":["e"]}})").exec == std::vector<std::string>{"e"});
    CHECK(launch(R"({"customCommand":"c d"})").custom_command == "c d");
}

TEST_CASE(
    "[api deepspeed config.localRank] a program gets the argument only if asked for", "[api]"
) {
    const auto local_rank = [](const std::string& config) {
        const auto spec = spec_of(
            "DeepSpeedJob",
            R"({"config":)" + config + R"(,"worker":{"template":)" + worker_pod + "}}"
        );
        return std::get<deepspeed_spec>(spec.launch).local_rank;
    };
    CHECK(local_rank(R"({"run":{"python":["a.py"]}})"));
    CHECK_FALSE(local_rank(R"({"run":{"exec":["e"]}})"));
    CHECK_FALSE(local_rank(R"({"run":{"exec":["e"]},"localRank":null})"));
    CHECK(local_rank(R"({"run":{"exec":["e"]},"localRank":true})"));
}

TEST_CASE("[api defaults] what is absent from a ColossalAIJob", "[api]") {
    job_spec expected;
    expected.managed_by = std::string(managed_by_signalbox);
    expected.replicas = {
        {.type = "launcher",
         .restart = restart_policy::never,
         .pod_template = "{}",
         .pointer = "/spec/launcher"},
        {.type = "worker",
         .restart = restart_policy::never,
         .pod_template = worker_pod,
         .pointer = "/spec/worker"}};
    colossalai_spec launch;
    launch.launcher_image = "w";
    launch.command = {"a.py"};
    expected.launch = launch;
    CHECK(
        spec_of(
            "ColossalAIJob", R"({"worker":{"command":["a.py"],"template":)" + worker_pod + "}}"
        ) == expected
    );
}

TEST_CASE("[api colossalai shapes] both mean the same", "[api]") {
    const std::string shared =
        R"({"ssh":{"sshAuthMountPath":"/k","sshdPath":"/s"},"runPolicy":{"cleanUpWorkers":true,
            "activeDeadlineSeconds":5,"ttlSecondsAfterFinished":6},)";
    const std::string launcher =
        R"("image":"l","workingDir":"/d","env":[{"name":"A","value":"b"}],"resources":{"limits":{}}})";
    const auto first = spec_of(
        "ColossalAIJob",
        shared + R"("launcher":{)" + launcher +
            R"(,"worker":{"replicas":4,"procPerWorker":2,"command":["-m","m"],
               "torchArgs":["--tee","3"],"template":)" +
            worker_pod + "}}"
    );
    auto second = spec_of(
        "ColossalAIJob",
        shared + R"("torchConfig":{"procPerWorker":2,"script":["-m","m"],"extraArgs":["--tee","3"]},
            "replicaSpecs":[{"type":"worker","replicas":4,"template":)" +
            worker_pod + R"(},{"type":"launcher","template":{"spec":{"containers":[{"name":"side"},
            {"name":"launcher",)" +
            launcher + "]}}}]}"
    );
    CHECK(second.replicas[0].pointer == "/spec/replicaSpecs/1");
    CHECK(second.replicas[1].pointer == "/spec/replicaSpecs/0");
    second.replicas[0].pointer = first.replicas[0].pointer;
    second.replicas[1].pointer = first.replicas[1].pointer;
    CHECK(first == second);

    colossalai_spec launch;
    launch.auth_mount_path = "/k";
    launch.sshd_path = "/s";
    launch.launcher_image = "l";
    launch.launcher_working_dir = "/d";
    launch.launcher_env = R"([{"name":"A","value":"b"}])";
    launch.launcher_resources = R"({"limits":{}})";
    launch.proc_per_worker = 2;
    launch.command = {"-m", "m"};
    launch.torch_args = {"--tee", "3"};
    CHECK(std::get<colossalai_spec>(first.launch) == launch);
    CHECK(first.policy.clean_up_workers);
    CHECK(first.policy.active_deadline_seconds == 5);
    CHECK(first.policy.ttl_seconds_after_finished == 6);
    CHECK(first.replicas[1].replicas == 4);
}

TEST_CASE("[api colossalai shapes] the second without a launcher's container", "[api]") {
    for (const std::string launcher : {"", R"({"type":"launcher","template":{}},)"}) {
        const auto spec = spec_of(
            "ColossalAIJob",
            R"({"torchConfig":{"script":["a.py"]},"replicaSpecs":[)" + launcher +
                R"({"type":"worker","template":)" + worker_pod + "}]}"
        );
        REQUIRE(spec.replicas.size() == 2);
        CHECK(spec.replicas[0].type == "launcher");
        CHECK(spec.replicas[0].replicas == 1);
        CHECK(std::get<colossalai_spec>(spec.launch).launcher_image == "w");
    }
}
