// SPDX-License-Identifier: Apache-2.0
//
// PyTorch without torchrun, and what both modes share.
#include "json/resources.hpp"
#include "launch/compiled.hpp"

using namespace signalbox;
using namespace signalbox::test;

namespace {

job_builder with_container(const std::string& more, int replicas = 1) {
    replica worker;
    worker.replicas = replicas;
    worker.container_more = more;
    return job_builder().replicas(worker);
}

job_builder with_pod(const std::string& more, int replicas = 1) {
    replica worker;
    worker.replicas = replicas;
    worker.pod_more = more;
    return job_builder().replicas(worker);
}

}  // namespace

TEST_CASE("[behaviour 3.5] plain mode: addresses, rank over all types, world size", "[launch]") {
    const compiled job(job_builder().replicas("ps", 2).replicas("worker", 3));
    const auto pod = job.pod({.type = 1, .index = 2});
    CHECK(pod.env("MASTER_ADDR") == core::pod_name(job.plan, {0, 0}));
    CHECK(pod.env("MASTER_ADDR") == job.plan.objects[1].name);
    CHECK(pod.env("MASTER_PORT") == "29500");
    CHECK(pod.env("RANK") == "4");
    CHECK(pod.env("WORLD_SIZE") == "5");
    CHECK(pod.env("PYTHONUNBUFFERED") == "1");
    CHECK(pod.env("LOCAL_RANK") == "<none>");
    CHECK(pod.env("TORCHELASTIC_ERROR_FILE") == "<none>");
    CHECK(job.pod({.type = 0, .index = 0}).env("RANK") == "0");
    CHECK(job.pod({.type = 0, .index = 1}).env("RANK") == "1");
}

TEST_CASE(
    "[behaviour 7.2] [behaviour I10] ranks and world size follow the recorded size", "[launch]"
) {
    const compiled job(job_builder().replicas("ps", 2).replicas("worker", 3));
    const std::vector<std::int32_t> recorded{1, 5};
    const auto pod = job.pod({.type = 1, .index = 2}, {.wanted = recorded});
    CHECK(pod.env("RANK") == "3");
    CHECK(pod.env("WORLD_SIZE") == "6");
}

TEST_CASE("[behaviour 3.1] plain mode leaves command and args alone", "[launch]") {
    replica worker;
    worker.command = {"python", "-u"};
    worker.args = {"train.py", "--lr", "0.1", "$(MASTER_ADDR):$(MASTER_PORT)"};
    const auto pod = compiled(job_builder().replicas(worker)).pod();
    CHECK(pod.words("command") == worker.command);
    CHECK(pod.words("args") == worker.args);
    replica bare;
    bare.args = {};
    const auto image_program = compiled(job_builder().replicas(bare)).pod();
    CHECK(find(image_program.container("pytorch"), "command") == nullptr);
    CHECK(find(image_program.container("pytorch"), "args") == nullptr);
}

TEST_CASE("[behaviour 3.4] env that we add comes first in the list, each name once", "[launch]") {
    const compiled job(with_container(
        R"j("env":[{"name":"URL","value":"tcp://$(MASTER_ADDR)"},{"name":"MASTER_PORT","value":"1"},
                  {"name":"RANK","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}}])j"
    ));
    const auto pod = job.pod();
    const auto names = pod.env_names();
    const std::vector<std::string> expected{
        "MASTER_ADDR", "WORLD_SIZE", "PYTHONUNBUFFERED", "URL", "MASTER_PORT", "RANK"};
    CHECK(names == expected);
    CHECK(pod.env("MASTER_PORT") == "1");
    CHECK(pod.env("RANK").empty());  // the user's valueFrom, no value
    CHECK(job.plan.warnings.empty());
}

TEST_CASE(
    "[behaviour 3.4] other containers get the addresses only, the user's value wins", "[launch]"
) {
    replica worker;
    worker.pod_template = R"({"spec":{
        "initContainers":[{"name":"init","image":"i"}],
        "containers":[{"name":"side","image":"s","env":[{"name":"A","value":"b"}]},
                      {"name":"pytorch","image":"t"},
                      {"name":"own","image":"s","env":[{"name":"MASTER_ADDR","value":"me"}]}]}})";
    const auto pod = compiled(job_builder().replicas(worker)).pod();
    using names = std::vector<std::string>;
    CHECK(pod.env_names("side") == names{"MASTER_ADDR", "MASTER_PORT", "A"});
    CHECK(pod.env_names("init", "initContainers") == names{"MASTER_ADDR", "MASTER_PORT"});
    CHECK(pod.env_names("own") == names{"MASTER_PORT", "MASTER_ADDR"});
    CHECK(pod.env("MASTER_ADDR", "own") == "me");
    CHECK(pod.env("RANK") == "0");
    CHECK(find(pod.container("side"), "terminationMessagePolicy") == nullptr);
}

TEST_CASE(
    "[api pytorch replicaSpecs.template] [api 1.13] the training container is pytorch, else "
    "python, "
    "else the only one, else that of the annotation",
    "[launch]"
) {
    const auto training = [](const std::string& names, const std::string& shown = {}) {
        replica worker;
        worker.pod_template =
            R"({"metadata":{"annotations":{"kubectl.kubernetes.io/default-container":")" + shown +
            R"("}},"spec":{"containers":[)" + names + "]}}";
        return compiled(job_builder().replicas(worker)).plan.types[0].training_container;
    };
    const std::string a = R"({"name":"a","image":"i"})",
                      python = R"({"name":"python","image":"i"})",
                      pytorch = R"({"name":"pytorch","image":"i"})";
    CHECK(training(a + "," + python + "," + pytorch) == "pytorch");
    CHECK(training(a + "," + python) == "python");
    CHECK(training(a) == "a");
    const std::string b = R"({"name":"b","image":"i"})";
    CHECK(training(a + "," + b, "b") == "b");
    CHECK(training(a + "," + python, "a") == "python");
    CHECK(training(a, "b") == "a");
}

TEST_CASE("[launchers 8.2] accelerators are known by their exact names", "[launch]") {
    const auto count = [](const std::string& limits) {
        core::json::document container;
        core::json::parse(
            container, R"({"resources":{"requests":{"amd.com/gpu":9},"limits":{)" + limits + "}}}"
        );
        const auto found = core::json::count_devices(container);
        return std::to_string(found.accelerators) + ' ' + found.unknown;
    };
    for (const std::string name :
         {"nvidia.com/gpu",
          "nvidia.com/mig-1g.5gb",
          "amd.com/gpu",
          "hygon.com/dcu",
          "huawei.com/Ascend910",
          "huawei.com/Ascend310P",
          "habana.ai/gaudi",
          "cambricon.com/mlu",
          "gpu.intel.com/i915",
          "gpu.intel.com/xe"}) {
        CAPTURE(name);
        CHECK(count('"' + name + R"(":2,"cpu":8,"memory":"1Gi")") == "2 ");
    }
    for (const std::string name :
         {"nvidia.com/gpumem",
          "nvidia.com/gpumem-percentage",
          "gpu.intel.com/millicores",
          "gpu.intel.com/memory.max",
          "huawei.com/Ascend910-memory",
          "rdma/hca"}) {
        CAPTURE(name);
        CHECK(count('"' + name + R"(":2)") == "0 ");
    }
    CHECK(count(R"("example.com/gpu":2)") == "0 example.com/gpu");
    CHECK(count(R"("nvidia.com/gpu":1,"example.com/npu":2)") == "1 example.com/npu");
    CHECK(count(R"("cpu":2)") == "9 ");
}

TEST_CASE("[api 1.13] several containers and no sign which one trains", "[launch]") {
    replica worker;
    worker.pod_template =
        R"({"metadata":{"annotations":{"kubectl.kubernetes.io/default-container":"c"}},
        "spec":{"containers":[{"name":"a","image":"i"},{"name":"b","image":"i"}]}})";
    const compiled unclear(job_builder().replicas(worker));
    REQUIRE(unclear.findings.size() == 1);
    CHECK(unclear.findings[0].pointer == "/spec/replicaSpecs/0/template/spec/containers");
    CHECK(core::has_errors(unclear.findings));
    // A job that an older version began goes on as it was.
    auto parsed = core::parse_job(job_builder().replicas(worker).json());
    parsed.meta.begun = true;
    std::vector<core::diagnostic> findings;
    const auto plan = core::compile_plan(parsed.meta, *parsed.spec, findings);
    CHECK(findings.empty());
    CHECK(plan.types[0].training_container == "a");
}

TEST_CASE(
    "[launchers 8.3] OMP_NUM_THREADS is the CPU limit shared by the accelerators", "[launch]"
) {
    const auto threads = [](const std::string& resources) {
        return compiled(with_container("\"resources\":{" + resources + "}"))
            .pod()
            .env("OMP_NUM_THREADS");
    };
    CHECK(threads(R"("limits":{"cpu":8,"nvidia.com/gpu":4})") == "2");
    CHECK(threads(R"("limits":{"cpu":"8"})") == "8");
    CHECK(threads(R"("limits":{"cpu":"7900m"})") == "7");
    CHECK(threads(R"("limits":{"cpu":"500m"})") == "1");
    CHECK(threads(R"("limits":{"cpu":2.5,"amd.com/gpu":"8"})") == "1");
    CHECK(threads(R"("limits":{"cpu":"12","nvidia.com/mig-1g.5gb":3})") == "4");
    CHECK(threads(R"("requests":{"cpu":"8"})") == "<none>");
    CHECK(threads(R"("limits":{"cpu":"many"})") == "<none>");
    CHECK(threads(R"("limits":{"cpu":"-4"})") == "<none>");
    CHECK(threads(R"("limits":{"cpu":{}})") == "<none>");
    const auto own = compiled(with_container(
        R"("env":[{"name":"OMP_NUM_THREADS","value":"3"}],"resources":{"limits":{"cpu":8}})"
    ));
    CHECK(own.pod().env("OMP_NUM_THREADS") == "3");
}

TEST_CASE(
    "[behaviour 3.7] [api annotation shm] /dev/shm is in memory unless the user mounts it",
    "[launch]"
) {
    const auto pod = compiled(with_pod(R"("volumes":[{"name":"data","emptyDir":{}}])")).pod();
    REQUIRE(mount_at(pod, "/dev/shm", "pytorch") != nullptr);
    CHECK(string_or_empty(*mount_at(pod, "/dev/shm", "pytorch"), "name") == "signalbox-shm");
    const value& volumes = *find(pod.spec(), "volumes");
    REQUIRE(volumes.Size() == 2);
    CHECK(string_or_empty(volumes[0], "name") == "data");
    CHECK(string_or_empty(volumes[1], "name") == "signalbox-shm");
    CHECK(string_or_empty(*find(volumes[1], "emptyDir"), "medium") == "Memory");

    const auto has_ours = [](const rendered& p) {
        const value* list = find(p.spec(), "volumes");
        return list != nullptr && !list->Empty();
    };
    const auto path = GENERATE("/dev/shm", "/dev/shm/", "/dev");
    CHECK_FALSE(has_ours(compiled(with_container(
                                      R"("volumeMounts":[{"name":"x","mountPath":")" +
                                      std::string(path) + "\"}]"
                                  ))
                             .pod()));
    CHECK(has_ours(
        compiled(with_container(R"("volumeMounts":[{"name":"x","mountPath":"/dev/shm2"}])")).pod()
    ));
    CHECK_FALSE(
        has_ours(compiled(job_builder().annotation("batch.tensorstack.dev/shm", "off")).pod())
    );
}

TEST_CASE("[behaviour 3.9] the reason of a failure reaches the user", "[launch]") {
    const auto policy = [](const rendered& pod) {
        return std::string(string_or_empty(pod.container("pytorch"), "terminationMessagePolicy"));
    };
    CHECK(policy(compiled(job_builder()).pod()) == "FallbackToLogsOnError");
    CHECK(policy(compiled(with_container(R"("terminationMessagePolicy":"File")")).pod()) == "File");
    CHECK(
        policy(compiled(with_container(R"("terminationMessagePolicy":null)")).pod()) ==
        "FallbackToLogsOnError"
    );
}

TEST_CASE("[behaviour 3.2] what we set wins, with a warning where the user's differs", "[launch]") {
    const compiled job(with_pod(R"("restartPolicy":"OnFailure","hostname":"h","subdomain":"s")"));
    const auto pod = job.pod();
    CHECK(string_or_empty(pod.spec(), "restartPolicy") == "Never");
    CHECK(string_or_empty(pod.spec(), "hostname") == "mnist-40c14-worker-0");
    CHECK(string_or_empty(pod.spec(), "subdomain") == "mnist-40c14");
    const std::string spec = "/spec/replicaSpecs/0/template/spec/";
    CHECK(job.warns(spec + "hostname"));
    CHECK(job.warns(spec + "subdomain"));
    for (const auto& w : job.plan.warnings) {
        CHECK(w.reason == "FieldOverridden");
    }
    CHECK(compiled(with_pod(R"("subdomain":"mnist-40c14","hostname":null)")).plan.warnings.empty());
}

TEST_CASE("[behaviour 3.3] hostNetwork: cluster DNS unless the user chose", "[launch]") {
    const auto dns = [](const std::string& more) {
        return std::string(string_or_empty(compiled(with_pod(more)).pod().spec(), "dnsPolicy"));
    };
    CHECK(dns(R"("hostNetwork":true)") == "ClusterFirstWithHostNet");
    CHECK(dns(R"("hostNetwork":true,"dnsPolicy":"None")") == "None");
    CHECK(dns(R"("hostNetwork":false)").empty());
    CHECK(dns(R"("nodeName":"n")").empty());
}

TEST_CASE("[launchers 9.2] the port is declared, the user's wins", "[launch]") {
    const auto ports = [](const job_builder& job, core::pod_identity identity = {}) {
        std::vector<int> numbers;
        const auto pod = compiled(job).pod(identity);
        if (const value* list = find(pod.container("pytorch"), "ports")) {
            for (const auto& p : list->GetArray()) {
                numbers.push_back(find(p, "containerPort")->GetInt());
            }
        }
        return numbers;
    };
    using numbers = std::vector<int>;
    CHECK(ports(job_builder()) == numbers{29500});
    CHECK(ports(job_builder().torchrun()) == numbers{29400});
    CHECK(ports(with_container(R"("ports":[{"containerPort":29500}])")) == numbers{29500});
    CHECK(ports(with_container(R"("ports":[{"containerPort":80}])")) == numbers{80, 29500});
    CHECK(
        ports(with_container(R"("ports":[{"name":"rendezvous","containerPort":7}])")) == numbers{7}
    );
    // The API server makes it a port of the node there: no two such pods would fit on one.
    const auto host = with_pod(R"("hostNetwork":true)", 2);
    CHECK(ports(host, {.index = 0}) == numbers{29500});
    CHECK(ports(host, {.index = 1}).empty());
}

TEST_CASE("[api template] what the user wrote reaches the pod, whatever it is", "[launch]") {
    const std::string odd =
        R"("futureField":{"big":9007199254740993,"max":18446744073709551615,
            "min":-9223372036854775808,"tenth":0.1,"exp":1e-7,"large":1.5e300,"empty":{},"none":[],
            "text":"\u00e9\ud83d\ude80\u0000\"\\\/ \u2028","nested":[[[{"a":[null,true,false]}]]]})";
    replica worker;
    worker.pod_more = odd;
    worker.container_more = "\"resources\":{\"limits\":{\"x/y\":\"1\"}}," + odd;
    const auto pod = compiled(job_builder().replicas(worker)).pod();
    const rendered wanted("{" + odd + "}");
    CHECK(*find(pod.spec(), "futureField") == *find(wanted.root(), "futureField"));
    CHECK(*find(pod.container("pytorch"), "futureField") == *find(wanted.root(), "futureField"));
    const value& numbers = *find(pod.spec(), "futureField");
    CHECK(find(numbers, "big")->GetInt64() == 9007199254740993);
    CHECK(find(numbers, "max")->GetUint64() == 18446744073709551615u);
    CHECK(find(numbers, "min")->GetInt64() == std::numeric_limits<std::int64_t>::min());
    CHECK(find(numbers, "tenth")->GetDouble() == 0.1);
    CHECK(find(numbers, "text")->GetStringLength() == 14);
}

TEST_CASE("a user's text is never mistaken for a gap", "[launch]") {
    replica worker;
    worker.args = {"?", "", "<index>", "{}", "%s"};
    worker.container_more = R"("env":[{"name":"Q","value":"?"}])";
    const auto pod = compiled(job_builder().replicas(worker)).pod();
    CHECK(pod.words("args") == worker.args);
    CHECK(pod.env("Q") == "?");
}

TEST_CASE(
    "[behaviour 7.1] wanted replicas are spread by weight, the first type gets one", "[launch]"
) {
    struct type {
        int replicas, weight;
    };
    const auto spread =
        [](const std::vector<type>& types, int min, int max, std::optional<int> expected) {
            job_builder job;
            job.torchrun();
            for (std::size_t i = 0; i < types.size(); ++i) {
                replica r;
                r.type = "t" + std::to_string(i);
                r.replicas = types[i].replicas;
                r.scaling_weight = types[i].weight;
                job.replicas(r);
            }
            const compiled c(job.json(), core::elastic_config{min, max, expected});
            std::vector<int> out;
            for (const auto& type : c.plan.types) {
                out.push_back(type.wanted);
            }
            return out;
        };
    using counts = std::vector<int>;
    CHECK(spread({{1, 1}}, 1, 9, 5) == counts{5});
    CHECK(spread({{1, 1}, {1, 1}}, 1, 9, 5) == counts{3, 2});
    CHECK(spread({{1, 1}, {1, 3}}, 1, 9, 8) == counts{2, 6});
    CHECK(spread({{1, 1}, {1, 1}, {1, 1}}, 1, 9, 4) == counts{2, 1, 1});
    CHECK(spread({{1, 0}, {1, 1}}, 1, 9, 4) == counts{1, 3});
    CHECK(spread({{1, 1}, {1, 100}}, 1, 9, 1) == counts{1, 0});
    CHECK(spread({{1, 1}, {1, 2}, {1, 2}}, 1, 9, 4) == counts{1, 2, 1});
    // Not written yet: the specification's count, clamped.
    CHECK(spread({{20, 1}}, 2, 9, {}) == counts{9});
    CHECK(spread({{1, 1}}, 2, 9, {}) == counts{2});
    CHECK(spread({{2, 1}, {3, 1}}, 1, 9, {}) == counts{3, 2});
}

TEST_CASE("[behaviour 3.5] the master is index 0 of the first type that has replicas", "[launch]") {
    const compiled job(job_builder().replicas("ps", 0).replicas("worker", 2));
    CHECK(job.plan.deciding_type == 1);
    CHECK(job.pod({1, 0}).env("MASTER_ADDR") == "mnist-40c14-worker-0");
    CHECK(job.pod({1, 0}).env("RANK") == "0");
    CHECK(job.pod({1, 0}).label("job-role") == "master");
}

TEST_CASE("a template whose parts have other types than Kubernetes wants is an error", "[launch]") {
    const auto bad = [](const std::string& container_more, const std::string& pod_more = {}) {
        replica worker;
        worker.container_more = container_more;
        worker.pod_more = pod_more;
        const compiled job(job_builder().replicas(worker));
        REQUIRE(core::has_errors(job.findings));
        CHECK(core::render_pod(job.plan, {}, {}).empty());
        return job.findings.front().pointer;
    };
    const std::string spec = "/spec/replicaSpecs/0/template/spec";
    CHECK(bad(R"("env":"x")") == spec + "/containers/0/env");
    CHECK(bad(R"("env":["x"])") == spec + "/containers/0/env");
    CHECK(bad(R"("ports":{})") == spec + "/containers/0/ports");
    CHECK(bad(R"("volumeMounts":7)") == spec + "/containers/0/volumeMounts");
    CHECK(bad({}, R"("volumes":{})") == spec + "/volumes");
    CHECK(bad({}, R"("initContainers":[1])") == spec + "/initContainers");
}

TEST_CASE("a specification that no one has validated: a template that is none", "[launch]") {
    const auto errors_of = [](const std::string& pod_template) {
        const auto parsed = core::parse_job(job_builder().replicas("worker", 1).json());
        REQUIRE(parsed.spec);
        core::job_spec spec = *parsed.spec;
        spec.replicas[0].pod_template = pod_template;
        std::vector<core::diagnostic> findings;
        core::compile_plan(parsed.meta, spec, findings);
        std::string out;
        for (const core::diagnostic& d : findings) {
            out += d.level == core::severity::error ? d.pointer + "\n" : "";
        }
        return out;
    };
    const std::string place = "/spec/replicaSpecs/0/template";
    CHECK(errors_of("[]") == place + "\n");
    CHECK(errors_of("{}") == place + "/spec\n");
    CHECK(errors_of(R"({"spec":7})") == place + "/spec\n");
}
