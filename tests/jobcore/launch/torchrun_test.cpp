// SPDX-License-Identifier: Apache-2.0
#include "launch/compiled.hpp"

using namespace signalbox;
using namespace signalbox::test;

namespace {

using words = std::vector<std::string>;

job_builder workers(int replicas, const std::string& container_more = {}) {
    replica worker;
    worker.replicas = replicas;
    worker.args = {"train.py", "--lr", "0.1"};
    worker.container_more = container_more;
    return job_builder().replicas(worker);
}

/// The value of `--<name>=`; `<none>` if the option is not there.
std::string option(const rendered& pod, const std::string& name) {
    for (const auto& word : pod.words("args")) {
        if (word.starts_with("--" + name + "=")) {
            return word.substr(name.size() + 3);
        }
    }
    return "<none>";
}

}  // namespace

TEST_CASE(
    "[api pytorch torchrunConfig.maxRestarts] torchrun over c10d: the whole command line",
    "[launch]"
) {
    const compiled job(workers(3).torchrun(2, R"("procPerNode":"4","extraOptions":["--tee","3"])"));
    const auto pod = job.pod({.index = 1, .attempt = 5});
    CHECK(pod.words("command") == words{"torchrun"});
    const words expected{
        "--nnodes=3",
        "--nproc_per_node=4",
        "--max_restarts=2",
        "--rdzv_backend=c10d",
        "--rdzv_endpoint=mnist-40c14-worker-0:29400",
        "--rdzv_id=cffea855-5ce2-496a-8956-f6e76fe2f565-5",
        "--rdzv_conf=is_host=0,read_timeout=900,join_timeout=1800",
        "--role=worker",
        "--tee",
        "3",
        "train.py",
        "--lr",
        "0.1"};
    CHECK(pod.words("args") == expected);
}

TEST_CASE("[launchers 3.4] is_host is told to every pod: 1 to the deciding pod alone", "[launch]") {
    const compiled job(job_builder().replicas("a", 2).replicas("b", 1).torchrun(1));
    CHECK(option(job.pod({0, 0}), "rdzv_conf").starts_with("is_host=1,"));
    CHECK(option(job.pod({0, 1}), "rdzv_conf").starts_with("is_host=0,"));
    CHECK(option(job.pod({1, 0}), "rdzv_conf").starts_with("is_host=0,"));
    CHECK(option(job.pod({1, 0}), "role") == "b");
}

TEST_CASE(
    "[launchers 9.2] torchrun's environment: addresses, no rank, store sharing off", "[launch]"
) {
    const auto pod = compiled(workers(2, R"("resources":{"limits":{"cpu":8}})").torchrun()).pod();
    const words expected{
        "MASTER_ADDR",
        "MASTER_PORT",
        "PYTHONUNBUFFERED",
        "TORCH_DISABLE_SHARE_RDZV_TCP_STORE",
        "PET_LOCAL_ADDR",
        "OMP_NUM_THREADS"};
    CHECK(pod.env_names() == expected);
    CHECK(pod.env("TORCH_DISABLE_SHARE_RDZV_TCP_STORE") == "1");
    auto own = workers(1, R"("env":[{"name":"TORCH_DISABLE_SHARE_RDZV_TCP_STORE","value":"0"}])");
    CHECK(compiled(own.torchrun()).pod().env("TORCH_DISABLE_SHARE_RDZV_TCP_STORE") == "0");
}

TEST_CASE("[behaviour 3.9] torchrun has no error file that it could not write", "[launch]") {
    // torch removes the file before it writes, which a kubelet's mount refuses (LAUNCH.md 3.5).
    CHECK(compiled(workers(2).torchrun()).pod().env("TORCHELASTIC_ERROR_FILE") == "<none>");
    auto own = workers(1, R"("env":[{"name":"TORCHELASTIC_ERROR_FILE","value":"/tmp/e"}])");
    CHECK(compiled(own.torchrun()).pod().env("TORCHELASTIC_ERROR_FILE") == "/tmp/e");
}

TEST_CASE("[behaviour 3.12] [behaviour 3.3] agents go by names; rank 0 is pod 0's", "[launch]") {
    const auto address = [](const char* pod_more, const char* backend, int index) {
        replica worker;
        worker.replicas = 2;
        worker.pod_more = pod_more;
        auto job = job_builder().replicas(worker).torchrun(
            0, R"("rdzvBackend":")" + std::string(backend) + '"'
        );
        return compiled(job).pod({.index = index}).env("PET_LOCAL_ADDR");
    };
    for (const char* network : {"", R"("hostNetwork":true)"}) {
        CHECK(address(network, "c10d", 0) == "MNIST-40C14-WORKER-0.mnist-40c14");
        CHECK(address(network, "c10d", 1) == "mnist-40c14-worker-1.mnist-40c14");
        CHECK(address(network, "static", 1) == "<none>");
    }
    auto etcd = job_builder().replicas("node", 2).torchrun(
        1, R"("rdzvBackend":"etcd","extraOptions":["--rdzv_endpoint=etcd:2379"])"
    );
    CHECK(compiled(etcd).pod().env("PET_LOCAL_ADDR") == "mnist-40c14-node-0.mnist-40c14");
    auto own = workers(2, R"("env":[{"name":"PET_LOCAL_ADDR","value":"x"}])");
    CHECK(compiled(own.torchrun(1)).pod().env("PET_LOCAL_ADDR") == "x");
}

TEST_CASE(
    "[behaviour 3.12] types that old versions of torch would put first are told", "[launch]"
) {
    const compiled odd(job_builder().replicas("worker", 1).replicas("helper", 2).torchrun(1));
    CHECK(odd.pod({0, 0}).env("PET_LOCAL_ADDR") < odd.pod({1, 0}).env("PET_LOCAL_ADDR"));
    CHECK(odd.warns("/spec/replicaSpecs/1/type"));
    const compiled even(job_builder().replicas("master", 1).replicas("worker", 12).torchrun(1));
    CHECK_FALSE(even.warns("/spec/replicaSpecs/1/type"));
    const compiled none(job_builder().replicas("worker", 1).replicas("helper", 0).torchrun(1));
    CHECK_FALSE(none.warns("/spec/replicaSpecs/1/type"));
    const compiled plain(job_builder().replicas("worker", 1).replicas("helper", 2));
    CHECK_FALSE(plain.warns("/spec/replicaSpecs/1/type"));
}

TEST_CASE("[launchers 8.3] torchrun with one process gets the CPU limit as threads", "[launch]") {
    const auto threads = [](const char* processes, const char* resources) {
        auto job = workers(1, R"("resources":{"limits":)" + std::string(resources) + '}');
        return compiled(job.torchrun(0, R"("procPerNode":")" + std::string(processes) + '"'))
            .pod()
            .env("OMP_NUM_THREADS");
    };
    CHECK(threads("1", R"({"cpu":"3500m"})") == "3");
    CHECK(threads("2", R"({"cpu":4})") == "<none>");
    CHECK(threads("auto", R"({"cpu":1})") == "1");
    CHECK(threads("auto", R"({"cpu":4})") == "<none>");
    CHECK(threads("1", R"({"memory":"1Gi"})") == "<none>");
}

TEST_CASE(
    "[api pytorch torchrunConfig.extraOptions] --rdzv_conf is merged, the user's keys win, however "
    "it is spelled",
    "[launch]"
) {
    const auto spelled = GENERATE(
        R"("--rdzv_conf=read_timeout=60,keep_alive_interval=9")",
        R"("--rdzv_conf","read_timeout=60,keep_alive_interval=9")",
        R"("--rdzv-conf=read_timeout=60,keep_alive_interval=9")",
        R"("--rdzv_c","read_timeout=60,,keep_alive_interval=9,")",
        R"("--rdzv_conf=read_timeout=60","--rdzv_conf=keep_alive_interval=9")"
    );
    const compiled job(
        workers(1).torchrun(0, R"("extraOptions":["--tee=3",)" + std::string(spelled) + "]")
    );
    const auto pod = job.pod();
    CHECK(
        option(pod, "rdzv_conf") ==
        "is_host=1,read_timeout=60,join_timeout=1800,keep_alive_interval=9"
    );
    const auto args = pod.words("args");
    CHECK(std::count_if(args.begin(), args.end(), [](const std::string& w) {
              return w.find("rdzv_c") != std::string::npos || w.find("rdzv-c") != std::string::npos;
          }) == 1);
    CHECK(contains(args, "--tee=3"));
}

TEST_CASE(
    "[api pytorch torchrunConfig.rdzvBackend] static: node rank and master instead of a rendezvous",
    "[launch]"
) {
    const compiled job(
        job_builder().replicas("a", 1).replicas("b", 3).torchrun(0, R"("rdzvBackend":"static")")
    );
    const auto pod = job.pod({1, 2});
    CHECK(option(pod, "node_rank") == "3");
    CHECK(option(pod, "nnodes") == "4");
    CHECK(option(pod, "master_addr") == "mnist-40c14-a-0");
    CHECK(option(pod, "master_port") == "29500");
    CHECK(option(pod, "rdzv_backend") == "static");
    CHECK(option(pod, "rdzv_endpoint") == "<none>");
    CHECK(option(pod, "rdzv_id") == "<none>");
    CHECK(option(pod, "rdzv_conf") == "<none>");
    const std::vector<std::int32_t> recorded{2, 3};
    const auto resized = job.pod({1, 2}, {.wanted = recorded});
    CHECK(option(resized, "node_rank") == "4");
    CHECK(option(resized, "nnodes") == "5");
}

TEST_CASE(
    "[api pytorch torchrunConfig.rdzvBackend] etcd: the user's endpoint, a fresh id per attempt",
    "[launch]"
) {
    const compiled job(workers(2).torchrun(
        3, R"("rdzvBackend":"etcd-v2","extraOptions":["--rdzv_endpoint=etcd:2379"])"
    ));
    const auto pod = job.pod({.attempt = 2});
    CHECK(option(pod, "rdzv_backend") == "etcd-v2");
    CHECK(option(pod, "rdzv_endpoint") == "etcd:2379");
    CHECK(option(pod, "rdzv_id").ends_with("-2"));
    CHECK(option(pod, "rdzv_conf") == "timeout=1800");  // no store of ours, so no host of it
    CHECK(find(pod.container("pytorch"), "ports") == nullptr);
}

TEST_CASE("[launchers 9.2] elastic: the range of nodes never changes", "[launch]") {
    const compiled job(workers(2).torchrun(100).json(), core::elastic_config{1, 6, 4});
    const auto pod = job.pod({.index = 3});
    CHECK(option(pod, "nnodes") == "1:6");
    CHECK(option(pod, "max_restarts") == "100");
    CHECK(option(pod, "rdzv_conf").ends_with(",last_call_timeout=30"));
    const std::vector<std::int32_t> recorded{6};
    CHECK(
        core::render_pod(job.plan, {.index = 3}, {.wanted = recorded}) ==
        core::render_pod(job.plan, {.index = 3}, {})
    );
}

TEST_CASE(
    "[api pytorch torchrunConfig.procPerNode] auto without an accelerator is the CPU request",
    "[launch]"
) {
    const auto processes = [](const std::string& resources, const std::string& value = "auto") {
        const compiled job(workers(1, "\"resources\":{" + resources + "}")
                               .torchrun(0, "\"procPerNode\":\"" + value + "\""));
        return option(job.pod(), "nproc_per_node");
    };
    CHECK(processes(R"("requests":{"cpu":"3"},"limits":{"cpu":"8"})") == "3");
    CHECK(processes(R"("limits":{"cpu":"8500m"})") == "8");
    CHECK(processes(R"("limits":{"cpu":"200m"})") == "1");
    CHECK(processes(R"("limits":{"cpu":"8","nvidia.com/gpu":2})") == "2");
    CHECK(processes(R"("limits":{"memory":"8Gi"})") == "auto");
    CHECK(processes(R"("limits":{"cpu":"8"})", "gpu") == "gpu");
    CHECK(processes(R"("limits":{"cpu":"8"})", "cpu") == "cpu");
    CHECK(processes(R"("limits":{"cpu":"8"})", "2") == "2");
}

TEST_CASE("[api annotation torchrun] module starts it as a module", "[launch]") {
    const auto job = workers(1).torchrun().annotation("batch.tensorstack.dev/torchrun", "module");
    CHECK(compiled(job).pod().words("command") == words{"python", "-m", "torch.distributed.run"});
}

TEST_CASE(
    "[behaviour 3.2] a command of the user is replaced by torchrun, with a warning", "[launch]"
) {
    replica worker;
    worker.command = {"python"};
    const compiled job(job_builder().replicas(worker).torchrun());
    CHECK(job.pod().words("command") == words{"torchrun"});
    CHECK(job.warns("/spec/replicaSpecs/0/template/spec/containers/0/command"));
    worker.command = {"torchrun"};
    CHECK(compiled(job_builder().replicas(worker).torchrun()).plan.warnings.empty());
    worker.command = {"python"};
    CHECK(compiled(job_builder().replicas(worker).torchrun().debug()).plan.warnings.empty());
}

TEST_CASE("[behaviour 5.6] how far a restart reaches follows the launch mode", "[launch]") {
    using core::scope_rule;
    const auto scope = [](const job_builder& job) { return compiled(job).plan.scope; };
    CHECK(scope(workers(2)) == scope_rule::whole_job);
    CHECK(scope(workers(2).torchrun(3)) == scope_rule::c10d);
    CHECK(scope(workers(2).torchrun(0)) == scope_rule::whole_job);
    const auto elastic = [](int max_restarts) {
        const auto job = workers(2).torchrun(max_restarts).json();
        return compiled(job, core::elastic_config{1, 3, {}}).plan;
    };
    CHECK(elastic(0).scope == scope_rule::whole_job);
    CHECK_FALSE(elastic(0).elastic->survives_loss);
    CHECK(elastic(1).scope == scope_rule::c10d);
    CHECK(elastic(1).elastic->survives_loss);
    CHECK(scope(workers(2).torchrun(3, R"("rdzvBackend":"static")")) == scope_rule::whole_job);
    const std::string etcd = R"("rdzvBackend":"etcd","extraOptions":["--rdzv_endpoint=e:1"])";
    CHECK(scope(workers(2).torchrun(3, etcd)) == scope_rule::external);
    CHECK(scope(workers(2).torchrun(0, etcd)) == scope_rule::whole_job);
    CHECK(compiled(workers(2).torchrun(3)).plan.peers_join);
    CHECK_FALSE(compiled(workers(2)).plan.peers_join);

    const std::string wish = R"("restartScope":"Replica")";
    CHECK(compiled(workers(2).run_policy(wish)).warns("/spec/runPolicy/restartScope"));
    CHECK_FALSE(
        compiled(workers(2).torchrun(3).run_policy(wish)).warns("/spec/runPolicy/restartScope")
    );
}

TEST_CASE(
    "[api pytorch torchrunConfig.procPerNode] an unknown device: one process, and a warning",
    "[launch]"
) {
    const auto job = [](const char* processes, const char* limits) {
        auto one = workers(1, R"("resources":{"limits":)" + std::string(limits) + '}');
        return compiled(one.torchrun(0, R"("procPerNode":")" + std::string(processes) + '"'));
    };
    constexpr const char* place = "/spec/replicaSpecs/0/template/spec/containers/0/resources";
    const auto unknown = job("auto", R"({"example.com/npu":4,"cpu":8})");
    CHECK(option(unknown.pod(), "nproc_per_node") == "1");
    CHECK(unknown.warns(place));
    CHECK_FALSE(job("4", R"({"example.com/npu":4})").warns(place));
    const auto known = job("auto", R"({"huawei.com/Ascend910":4,"rdma/hca":1,"cpu":8})");
    CHECK(option(known.pod(), "nproc_per_node") == "4");
    CHECK_FALSE(known.warns(place));
    CHECK(option(job("auto", R"({"cpu":8})").pod(), "nproc_per_node") == "8");
}
