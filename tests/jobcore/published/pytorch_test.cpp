// SPDX-License-Identifier: Apache-2.0
//
// Published PyTorchTrainingJobs, by what their pods mean.
#include "published/published.hpp"

#include <array>

using namespace signalbox;
using namespace signalbox::test;
using core::object_kind;

namespace {

const value& template_of(const published_job& job, std::size_t type) {
    const value& replicas = *find(job.source.spec(), "replicaSpecs");
    return *find(replicas[static_cast<rapidjson::SizeType>(type)], "template");
}

/// What torchrun is given for a job of one pod with four processes and three restarts, before the
/// script (LAUNCH.md 9.2).
words torchrun_options(const published_job& job, const std::string& type) {
    return {
        "--nnodes=1",
        "--nproc_per_node=4",
        "--max_restarts=3",
        "--rdzv_backend=c10d",
        "--rdzv_endpoint=" + job.pod_name(0, 0) + ":29400",
        "--rdzv_id=" + job.meta.uid + "-1",
        "--rdzv_conf=is_host=1,read_timeout=900,join_timeout=1800",
        "--role=" + type};
}

/// The two Services that every PyTorchTrainingJob has (BEHAVIOUR.md 1.5).
void check_services(const published_job& job) {
    const auto subdomain = job.object(object_kind::service);
    CHECK(subdomain.name() == job.plan.base_name);
    const rendered alias(core::preview_object(job.plan, job.planned(object_kind::service, 1), 1, {})
    );
    CHECK(alias.name() == job.pod_name(0, 0));
    for (const auto& service : {subdomain, alias}) {
        CHECK(string_or_empty(service.spec(), "clusterIP") == "None");
        CHECK(find(service.spec(), "publishNotReadyAddresses")->IsTrue());
    }
    const value& selected = *find(alias.spec(), "selector");
    CHECK(string_or_empty(selected, "replica-index") == "0");
    CHECK(string_or_empty(selected, "batch.tensorstack.dev/job-uid") == job.meta.uid);
}

}  // namespace

TEST_CASE("[behaviour 3.1] published torchrun jobs: the whole command line", "[launch]") {
    for (const std::string name :
         {"pytorchtrainingjob__ddp__job",
          "pytorchtrainingjob__ddp__job_cpu",
          "em__data-parallel-training__job"}) {
        const auto json = published_json(name);
        CAPTURE(name);
        const published_job job(json);
        CHECK(job.plan.warnings.empty());
        CHECK(job.plan.types.size() == 1);
        CHECK(job.plan.types[0].wanted == 1);
        CHECK(job.plan.peers_join);
        CHECK(job.plan.scope == core::scope_rule::c10d);
        check_services(job);
        const auto pod = job.pod();
        const value& user = first_container(template_of(job, 0));
        CHECK(pod.words("command") == words{"torchrun"});
        // Every argument as it was written, empty ones too; no shell is between.
        CHECK(
            pod.words("args") == joined(torchrun_options(job, "node"), words_of(find(user, "args")))
        );
        CHECK(
            pod.env_names() ==
            words{
                "MASTER_ADDR",
                "MASTER_PORT",
                "PYTHONUNBUFFERED",
                "TORCH_DISABLE_SHARE_RDZV_TCP_STORE",
                "PET_LOCAL_ADDR"}
        );
        CHECK(pod.env("MASTER_ADDR") == job.pod_name(0, 0));
        CHECK(pod.env("MASTER_PORT") == "29500");
        check_passed_through(user, pod.container("pytorch"), true);
        check_volumes_kept(template_of(job, 0), pod);
        // /dev/shm is ours where the user has none (BEHAVIOUR.md 3.7).
        const bool theirs = volume(pod, "dshm") != nullptr;
        CHECK(theirs == (name == "pytorchtrainingjob__ddp__job"));
        REQUIRE(mount_at(pod, "/dev/shm", "pytorch") != nullptr);
        const std::string shm(string_or_empty(*mount_at(pod, "/dev/shm", "pytorch"), "name"));
        CHECK(shm.starts_with("signalbox-") != theirs);
        CHECK(string_or_empty(*find(*volume(pod, shm), "emptyDir"), "medium") == "Memory");
    }
}

TEST_CASE("[behaviour 9.1] published jobs with a TensorBoard: image and path", "[launch]") {
    const std::array<std::pair<std::string, std::string>, 4> rows{{
        {"pytorchtrainingjob__ddp__job_cpu", "job/pytorchtrainingjob/ddp/log"},
        {"em__data-parallel-training__job", "em/data-parallel-training/log"},
        {"pytorchtrainingjob__ps__job", "job/pytorchtrainingjob/ps/log"},
        {"pytorchtrainingjob__ps__job_cpu", "job/pytorchtrainingjob/ps/log"},
    }};
    for (const auto& [name, path] : rows) {
        const auto json = published_json(name);
        CAPTURE(name);
        const published_job job(json);
        REQUIRE(job.plan.companions.size() == 3);
        const rendered deployment(core::preview_object(job.plan, job.plan.companions[1], 1, {}));
        const value& pod_template = *find(deployment.spec(), "template");
        const value& board = first_container(pod_template);
        CHECK(string_or_empty(board, "image") == "t9kpublic/tensorflow-2.11.0:cpu-sdk-0.5.2");
        CHECK(
            words_of(find(board, "command")) ==
            words{
                "tensorboard",
                "--logdir=/logs/0/tutorial-examples/" + path,
                "--host=0.0.0.0",
                "--port=6006"}
        );
        const value& claim =
            *find((*find(pod_template, "spec", "volumes"))[0], "persistentVolumeClaim");
        CHECK(string_or_empty(claim, "claimName") == "tutorial");
        CHECK(find(claim, "readOnly")->IsTrue());
    }
}

TEST_CASE("[behaviour 3.5] a published launch by hand: two ranks, an address each", "[launch]") {
    const auto json = published_json("pytorchtrainingjob__ddp__job_torchrun");
    const published_job job(json);
    CHECK(job.plan.warnings.empty());
    CHECK(job.plan.types[0].wanted == 2);
    CHECK_FALSE(job.plan.peers_join);
    check_services(job);
    for (const int index : {0, 1}) {
        const auto pod = job.pod({.type = 0, .index = index});
        check_passed_through(first_container(template_of(job, 0)), pod.container("pytorch"), false);
        CHECK(pod.env("RANK") == std::to_string(index));
        CHECK(pod.env("WORLD_SIZE") == "2");
        CHECK(pod.env("OMP_NUM_THREADS") == "16");
        // $(MASTER_ADDR) in the command: kubelet puts this in, and torch 1.13 compares it with the
        // pod's own hostname (LAUNCH.md 3.4).
        CHECK(contains(pod.words("command"), "$(MASTER_ADDR):$(MASTER_PORT)"));
        CHECK(pod.env("MASTER_ADDR") == job.pod_name(0, 0));
        CHECK(string_or_empty(pod.spec(), "subdomain") == job.plan.base_name);
        CHECK(string_or_empty(pod.spec(), "hostname") == job.pod_name(0, index));
    }
}

TEST_CASE("[behaviour 3.5] published parameter servers: ranks over both types", "[launch]") {
    for (const std::string name :
         {"pytorchtrainingjob__ps__job", "pytorchtrainingjob__ps__job_cpu"}) {
        const auto json = published_json(name);
        CAPTURE(name);
        const published_job job(json);
        CHECK(job.plan.warnings.empty());
        REQUIRE(job.plan.types.size() == 2);
        CHECK(job.plan.types[0].name == "ps");
        CHECK(job.plan.types[0].wanted == 1);
        CHECK(job.plan.types[1].wanted == 4);
        CHECK(job.plan.deciding_type == 0);
        CHECK(job.spec.policy.backoff_limit == 20);
        check_services(job);
        int rank = 0;
        for (std::size_t type = 0; type < 2; ++type) {
            for (int index = 0; index < job.plan.types[type].wanted; ++index) {
                const auto pod = job.pod({.type = type, .index = index});
                check_passed_through(
                    first_container(template_of(job, type)), pod.container("pytorch"), false
                );
                check_volumes_kept(template_of(job, type), pod);
                CHECK(pod.env("RANK") == std::to_string(rank++));
                CHECK(pod.env("WORLD_SIZE") == "5");
                CHECK(pod.env("MASTER_ADDR") == job.pod_name(0, 0));
                CHECK(pod.label("replica-type") == job.plan.types[type].name);
            }
        }
        // The CPU limit, shared by the processes that the accelerators make likely.
        const bool gpus = name == "pytorchtrainingjob__ps__job";
        CHECK(job.pod({.type = 0}).env("OMP_NUM_THREADS") == (gpus ? "2" : "16"));
        CHECK(job.pod({.type = 1}).env("OMP_NUM_THREADS") == "4");
    }
}

TEST_CASE(
    "[behaviour 3.10] published debug jobs: the entry's command, all else as real", "[launch]"
) {
    const std::array<std::pair<std::string, words>, 2> rows{{
        {"debug__job_debug", {"sleep", "inf"}},
        {"debug__job_debug_ssh", {"bash", "/t9k/app/ssh_server.sh"}},
    }};
    for (const auto& [name, command] : rows) {
        const auto json = published_json(name);
        CAPTURE(name);
        const published_job job(json);
        check_services(job);
        const auto pod = job.pod();
        CHECK(pod.words("command") == command);
        CHECK(find(pod.container("pytorch"), "args") == nullptr);
        check_passed_through(first_container(template_of(job, 0)), pod.container("pytorch"), true);
        check_volumes_kept(template_of(job, 0), pod);
        CHECK(pod.env("MASTER_ADDR") == job.pod_name(0, 0));
        CHECK(pod.env("TORCH_DISABLE_SHARE_RDZV_TCP_STORE") == "1");
        CHECK(find(pod.spec(), "securityContext", "runAsUser")->GetInt() == 1000);
    }
}
