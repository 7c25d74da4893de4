// SPDX-License-Identifier: Apache-2.0
//
// Published DeepSpeedJobs and ColossalAIJobs, by what their pods mean.
#include "published/published.hpp"

using namespace signalbox;
using namespace signalbox::test;
using core::object_kind;

namespace {

constexpr core::pod_identity launcher{.type = 0};
constexpr core::pod_identity worker{.type = 1};

words program(const published_job& job) {
    return program_of(job.file("run.sh"));
}

/// The bootstrap of the job as each shell runs it, with a program that records its arguments.
void check_bootstrap_runs(const published_job& job, const words& line) {
    for (const auto& shell : shells()) {
        CAPTURE(shell);
        const pod_folder pod(job);
        pod.stub("colossalai", std::string(recorder));
        const auto result = run(pod.line(shell, "launcher"));
        CAPTURE(result.output);
        CHECK(result.code == 0);
        words expected(line.begin() + 1, line.end());
        for (auto& word : expected) {
            word = replaced_all(word, "/signalbox/", pod.at("") + "/");
        }
        CHECK(pod.read("argv") == recorded(expected));
    }
}

void check_keys(const rendered& pod, const published_job& job, std::string_view container) {
    REQUIRE(mount_at(pod, "/root/.ssh", container) != nullptr);
    const value& secret = *find(*volume(pod, "signalbox-ssh"), "secret");
    CHECK(string_or_empty(secret, "secretName") == job.plan.base_name + "-ssh");
    CHECK(find(secret, "defaultMode")->GetInt() == 0600);
    const value& config = *find(*volume(pod, "signalbox-config"), "configMap");
    CHECK(string_or_empty(config, "name") == job.plan.base_name + "-1");
}

}  // namespace

TEST_CASE("[behaviour 3.1] the published DeepSpeedJob: one worker of four processes", "[launch]") {
    const auto json = published_json("deepspeedjob__job");
    const published_job job(json);
    const value& pod_template = *find(job.source.spec(), "worker", "template");
    CHECK(job.parsed.findings.empty());
    CHECK(job.plan.warnings.empty());
    CHECK(job.plan.types[0].wanted == 1);
    CHECK(job.plan.scope == core::scope_rule::whole_job);
    CHECK(
        job.file("hostfile") ==
        job.plan.base_name + "-worker-0." + job.plan.base_name + " slots=4\n"
    );
    const words line{
        "deepspeed",
        "--hostfile=/signalbox/config/hostfile",
        "--master_addr=127.0.0.1",
        "--master_port=29500",
        "--no_ssh_check",
        "cifar10_deepspeed.py",
        "--deepspeed",
        "--deepspeed_config=ds_config.json"};
    CHECK(program(job) == line);
    check_bootstrap_runs(job, line);

    const auto pod = job.pod();
    CHECK(
        pod.words("command", "worker") ==
        words{"/bin/sh", "/signalbox/config/bootstrap.sh", "launcher"}
    );
    check_passed_through(first_container(pod_template), pod.container("worker"), true);
    check_volumes_kept(pod_template, pod);
    check_keys(pod, job, "worker");
    CHECK(string_or_empty(*mount_at(pod, "/dev/shm"), "name") == "dshm");
    for (const auto path : {"/job/hostfile", "/t9k/hostfile"}) {
        REQUIRE(mount_at(pod, path) != nullptr);
        CHECK(string_or_empty(*mount_at(pod, path), "subPath") == "hostfile");
    }
    CHECK(
        pod.env_names("worker") ==
        words{"MASTER_ADDR", "MASTER_PORT", "PYTHONUNBUFFERED", "OMP_NUM_THREADS", "DS_ENV_FILE"}
    );
    CHECK(pod.env("MASTER_ADDR", "worker") == job.pod_name(0, 0) + "." + job.plan.base_name);
    CHECK(pod.env("OMP_NUM_THREADS", "worker") == "4");  // 16 CPUs, 4 processes
    CHECK(find(pod.container("worker"), "readinessProbe", "tcpSocket", "port")->GetInt() == 2222);
    CHECK(pod.label("job-role") == "master");
    CHECK(string_or_empty(pod.spec(), "restartPolicy") == "Never");
}

TEST_CASE(
    "[behaviour 3.1] the published DeepSpeedJob with three workers goes over pdsh", "[launch]"
) {
    const auto json = published_json("deepspeedjob__job");
    const published_job job(
        replaced_all(json, R"("worker":{"replicas":1)", R"("worker":{"replicas":3)")
    );
    REQUIRE(job.plan.types[0].wanted == 3);
    const auto line = program(job);
    CHECK(contains(line, "--force_multi"));
    CHECK(contains(line, "--master_addr=" + job.pod_name(0, 0) + "." + job.plan.base_name));
    std::string hosts;
    for (const int index : {0, 1, 2}) {
        hosts += job.pod_name(0, index) + "." + job.plan.base_name + " slots=4\n";
    }
    CHECK(job.file("hostfile") == hosts);
    CHECK(job.pod({.type = 0, .index = 2}).words("command", "worker").back() == "worker");
    CHECK(job.plan.types[0].serving_from_index == 1);
}

TEST_CASE("[behaviour 3.1] published ColossalAIJobs: both forms, four workers", "[launch]") {
    struct row {
        std::string name, directory, script, image;
        bool second;
    };
    const row rows[] = {
        {"colossalaijob__job",
         "/workspace",
         "/workspace/ColossalAI/examples/language/palm/train.py",
         "tsz.io/t9k/colossalai:0.2.5-palm",
         true},
        {"colossalaijob__job_launcher_worker",
         "/workspace/ColossalAI/examples/language",
         "train.py",
         "t9kpublic/colossalai:0.2.5-palm",
         false}};
    for (const auto& r : rows) {
        const auto json = published_json(r.name);
        CAPTURE(r.name);
        const published_job job(json);
        CHECK(job.plan.types[0].wanted == 1);
        CHECK(job.plan.types[1].wanted == 4);
        CHECK(job.plan.pod_stages == std::vector<std::vector<std::size_t>>{{1}, {0}});
        CHECK(job.plan.scope == core::scope_rule::no_restart);
        CHECK(job.spec.policy.clean_up_workers == !r.second);

        std::string hosts;
        for (const int index : {0, 1, 2, 3}) {
            hosts += job.pod_name(1, index) + "." + job.plan.base_name + "\n";
        }
        CHECK(job.file("hostfile") == hosts);
        const words line{
            "colossalai",
            "run",
            "--hostfile",
            "/signalbox/config/hostfile",
            "--master_addr",
            job.pod_name(1, 0),
            "--master_port",
            "29500",
            "--nproc_per_node",
            "1",
            "--",
            r.script,
            "--distplan=colossalai",
            "--dummy_data=True"};
        CHECK(program(job) == line);
        check_bootstrap_runs(job, line);

        const auto front = job.pod(launcher);
        const value& program_container = front.container("launcher");
        CHECK(string_or_empty(program_container, "image") == r.image);
        CHECK(string_or_empty(program_container, "workingDir") == r.directory);
        CHECK(front.words("command", "launcher").back() == "launcher");
        CHECK(front.label("job-role") == "master");
        CHECK(front.env("NVIDIA_VISIBLE_DEVICES", "launcher").empty());
        CHECK(find(front.spec(), "nodeName") == nullptr);
        const value& requests = *find(program_container, "resources", "requests");
        CHECK(string_or_empty(requests, "memory") == (r.second ? "1Gi" : "2Gi"));
        check_keys(front, job, "launcher");

        const auto back = job.pod(worker);
        const value& replicas = *find(job.source.spec(), r.second ? "replicaSpecs" : "worker");
        const value& pod_template = *find(r.second ? replicas[1] : replicas, "template");
        check_passed_through(first_container(pod_template), back.container("worker"), true);
        CHECK(back.words("command", "worker").back() == "worker");
        CHECK(back.env("MASTER_ADDR", "worker") == job.pod_name(1, 0));
        CHECK(string_or_empty(back.spec(), "restartPolicy") == "Never");
        const value* node = find(back.spec(), "nodeName");
        CHECK((node != nullptr && core::json::view(*node) == "sm02") == r.second);
        CHECK(find(back.container("worker"), "readinessProbe", "tcpSocket") != nullptr);
        check_keys(back, job, "worker");
        // worker-0 is where ranks meet: its name has a Service of its own.
        CHECK(job.planned(object_kind::service, 1).name == job.pod_name(1, 0));
    }
}
