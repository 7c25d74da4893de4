// SPDX-License-Identifier: Apache-2.0
//
// ColossalAIJob: its objects and pods, and what its launcher does to the environment.
#include "launch/ssh_job.hpp"

using namespace signalbox;
using namespace signalbox::test;
using core::object_kind;

namespace {

constexpr core::pod_identity launcher{.type = 0};
constexpr core::pod_identity worker{.type = 1};

std::string alias(const core::job_plan& plan) {
    return core::pod_name(plan, worker);
}

const value& launcher_container(const rendered& pod) {
    return pod.container("launcher");
}

}  // namespace

TEST_CASE("[behaviour 2.3] two stages, the launcher decides, nothing restarts", "[launch]") {
    auto job = colossalai_job(3).compile();
    CHECK(job.plan.deciding_type == 0);
    CHECK(job.plan.pod_stages == std::vector<std::vector<std::size_t>>{{1}, {0}});
    CHECK(job.plan.scope == core::scope_rule::no_restart);
    CHECK(job.plan.types[1].serving_from_index == 0);
    CHECK(job.plan.types[0].training_container == "launcher");
    CHECK(job.pod(launcher).name() == job.plan.base_name + "-launcher-0");
    CHECK(job.pod(launcher).label("job-role") == "master");
    CHECK(job.pod(worker).label("job-role") == "<none>");
    for (const char* key :
         {"batch.tensorstack.dev/training-container", "kubectl.kubernetes.io/default-container"}) {
        CHECK(job.pod(launcher).annotation(key) == "launcher");
        CHECK(job.pod(worker).annotation(key) == "worker");
    }
    REQUIRE(job.plan.objects.size() == 4);
    CHECK(job.plan.objects[1].name == alias(job.plan));
    CHECK(job.plan.objects[2].kind == object_kind::secret);
    CHECK(job.plan.objects[3].kind == object_kind::config_map);
}

TEST_CASE(
    "[api colossalai worker.command] [api colossalai worker.torchArgs] [api colossalai "
    "worker.procPerWorker] the launcher's line",
    "[launch]"
) {
    colossalai_job job(2);
    job.launch.proc_per_worker = 4;
    job.launch.command = {"train.py", "--host", "a b", "$X", ""};
    job.launch.torch_args = {
        "--max_restarts", "3", "--log_dir=a b", "--rdzv_conf=k=v,l=w", "--no_python_x"};
    job.compile();
    CHECK(
        program_of(job) ==
        words{
            "colossalai",
            "run",
            "--hostfile",
            "/signalbox/config/hostfile",
            "--master_addr",
            alias(job.plan),
            "--master_port",
            "29500",
            "--nproc_per_node",
            "4",
            "--extra_launch_args",
            "max_restarts=3,log_dir='a b',no_python_x",
            "--",
            "train.py",
            "--host",
            "'a b'",
            "'$X'",
            "''"}
    );
    CHECK(job.pod(launcher).env("PET_RDZV_CONF", "launcher") == "k=v,l=w");
    job.launch.command = {"-m", "pkg.train", "x"};
    job.compile();
    const auto line = program_of(job);
    CHECK(words(line.end() - 4, line.end()) == words{"-m", "pkg.train", "--", "x"});
}

TEST_CASE("[api colossalai worker.replicas] hostfile: bare names", "[launch]") {
    auto job = colossalai_job(2).compile();
    const std::string base = job.plan.base_name;
    CHECK(
        job.file("hostfile") ==
        base + "-worker-0." + base + "\n" + base + "-worker-1." + base + "\n"
    );
}

TEST_CASE(
    "[api colossalai ssh.sshdPath] [api colossalai ssh.authMountPath] workers run sshd, whatever "
    "their template says",
    "[launch]"
) {
    auto job = colossalai_job(2, worker_template(R"(,"command":["x"],"args":["y"])"));
    job.launch.auth_mount_path = "/home/u/.ssh";
    job.launch.sshd_path = "/opt/sshd";
    job.compile();
    CHECK(job.warns("/spec/worker/template/spec/containers/0/command"));
    const auto pod = job.pod(worker);
    CHECK(
        pod.words("command", "worker") ==
        words{"/bin/sh", "/signalbox/config/bootstrap.sh", "worker"}
    );
    CHECK(pod.words("args", "worker").empty());
    CHECK(find(pod.container("worker"), "readinessProbe", "tcpSocket", "port")->GetInt() == 2222);
    CHECK(mount_at(pod, "/home/u/.ssh") != nullptr);
    CHECK(mount_at(pod, "/dev/shm") != nullptr);
    CHECK(mount_at(pod, "/job/hostfile") == nullptr);
    const auto settings = job.file("settings.sh");
    CHECK(has_text(settings, "sb_ssh_dir=/home/u/.ssh\n"));
    CHECK(has_text(settings, "sb_sshd=/opt/sshd\n"));
    CHECK(has_text(settings, "sb_link_config=yes\n"));
}

TEST_CASE(
    "[behaviour 3.6] [api colossalai launcher.workingDir] [api colossalai launcher.resources] [api "
    "colossalai launcher.image] what the launcher's pod has of its own, and what it takes from the "
    "workers",
    "[launch]"
) {
    colossalai_job job(
        2,
        worker_template(
            R"(,"imagePullPolicy":"Always","securityContext":{"runAsUser":0})",
            R"(,"nodeName":"n","nodeSelector":{"a":"b"},"tolerations":[{"key":"t"}],
                   "serviceAccountName":"sa","imagePullSecrets":[{"name":"p"}],
                   "priorityClassName":"high","runtimeClassName":"nvidia","affinity":{"nodeAffinity":{}},
                   "volumes":[{"name":"v","emptyDir":{}}],"initContainers":[{"name":"i"}])"
        )
    );
    job.compile();
    const auto pod = job.pod(launcher);
    const auto& c = launcher_container(pod);
    CHECK(string_or_empty(c, "image") == "ds:1");
    CHECK(string_or_empty(*find(c, "resources", "requests"), "cpu") == "500m");
    CHECK(string_or_empty(*find(c, "resources", "limits"), "memory") == "4Gi");
    CHECK(find(pod.spec(), "nodeName") == nullptr);
    CHECK(find(pod.spec(), "initContainers") == nullptr);
    CHECK(string_or_empty(*find(pod.spec(), "nodeSelector"), "a") == "b");
    CHECK(string_or_empty(pod.spec(), "serviceAccountName") == "sa");
    CHECK(find(pod.spec(), "tolerations") != nullptr);
    CHECK(find(pod.spec(), "affinity", "nodeAffinity") != nullptr);
    CHECK(string_or_empty(pod.spec(), "priorityClassName") == "high");
    CHECK(string_or_empty(pod.spec(), "runtimeClassName") == "nvidia");
    CHECK(find(pod.spec(), "imagePullSecrets") != nullptr);
    CHECK(find(pod.spec(), "enableServiceLinks")->IsFalse());
    CHECK(find(c, "securityContext") != nullptr);
    CHECK(string_or_empty(c, "imagePullPolicy") == "Always");
    CHECK(string_or_empty(c, "terminationMessagePolicy") == "FallbackToLogsOnError");
    CHECK(string_or_empty(pod.spec(), "restartPolicy") == "Never");
    CHECK(mount_at(pod, "/root/.ssh", "launcher") != nullptr);
    CHECK(pod.words("command", "launcher").back() == "launcher");

    job.launch.launcher_image = "other:2";
    job.launch.launcher_working_dir = "/workspace";
    job.launch.launcher_resources = R"({"limits":{"cpu":1}})";
    const auto own = job.compile().pod(launcher);
    CHECK(string_or_empty(launcher_container(own), "image") == "other:2");
    CHECK(string_or_empty(launcher_container(own), "workingDir") == "/workspace");
    CHECK(same_json(
        core::json::to_text(*find(launcher_container(own), "resources")), R"({"limits":{"cpu":1}})"
    ));
}

TEST_CASE(
    "[behaviour 3.6] labels and annotations of the workers are the launcher's too", "[launch]"
) {
    // What keeps a service mesh out of the workers has to keep it out of the launcher.
    std::string pod_template = worker_template();
    pod_template.insert(
        1, R"("metadata":{"labels":{"mesh":"off"},"annotations":{"inject":"false"}},)"
    );
    auto job = colossalai_job(2, pod_template).compile();
    for (const auto& identity : {launcher, worker}) {
        CHECK(job.pod(identity).label("mesh") == "off");
        CHECK(job.pod(identity).annotation("inject") == "false");
    }
}

TEST_CASE(
    "[api colossalai launcher.env] the workers' variables lie below the launcher's own", "[launch]"
) {
    colossalai_job job(
        2, worker_template(R"(,"env":[{"name":"A","value":"worker"},{"name":"B","value":"worker"},
            {"name":"CUDA_VISIBLE_DEVICES","value":"0"},
            {"name":"IP","valueFrom":{"fieldRef":{"fieldPath":"status.podIP"}}},
            {"name":"S","valueFrom":{"secretKeyRef":{"name":"s","key":"k"}}}])")
    );
    job.launch.launcher_env = R"([{"name":"B","value":"launcher"},{"name":"C","value":"c"}])";
    job.compile();
    const auto pod = job.pod(launcher);
    CHECK(pod.env("A", "launcher") == "worker");
    CHECK(pod.env("B", "launcher") == "launcher");
    CHECK(pod.env("C", "launcher") == "c");
    CHECK(pod.env("S", "launcher").empty());
    CHECK(pod.env("IP", "launcher") == "<none>");
    CHECK(pod.env("CUDA_VISIBLE_DEVICES", "launcher") == "<none>");
    CHECK(pod.env("NVIDIA_VISIBLE_DEVICES", "launcher").empty());
    CHECK(pod.env("MASTER_ADDR", "launcher") == alias(job.plan));
    CHECK(job.pod(worker).env("B", "worker") == "worker");

    job.launch.launcher_resources = R"({"limits":{"nvidia.com/gpu":1}})";
    CHECK(job.compile().pod(launcher).env("NVIDIA_VISIBLE_DEVICES", "launcher") == "<none>");
    job.launch.launcher_env = "{}";
    CHECK(core::has_errors(job.compile().findings));
}

TEST_CASE(
    "[behaviour 3.6] a variable made of a field of its pod stays on each worker", "[launch]"
) {
    constexpr const char* variables = R"x(,"env":[
        {"name":"IP","valueFrom":{"fieldRef":{"fieldPath":"status.podIP"}}},
        {"name":"URL","value":"http://$(IP):80"},{"name":"URLS","value":"a,$(URL)"},
        {"name":"PRICE","value":"$$(IP)"},{"name":"ODD","value":"$(IP"},
        {"name":"IP2","value":"$(NO)"}])x";
    colossalai_job job(1, worker_template(variables));
    job.compile();
    const auto pod = job.pod(launcher);
    for (const auto name : {"IP", "URL", "URLS"}) {
        CHECK(pod.env(name, "launcher") == "<none>");
    }
    for (const auto name : {"PRICE", "ODD", "IP2"}) {
        CHECK(pod.env(name, "launcher") != "<none>");
    }
}

TEST_CASE("[launchers 4.4] what is exported on the workers arrives exactly", "[bootstrap]") {
    for (const auto& shell : shells()) {
        CAPTURE(shell);
        colossalai_job job(1, worker_template(R"(,"env":[{"name":"ODD","value":"x"}])"));
        job.compile();
        const pod_folder pod(job);
        // As the launcher does: in double quotes, unescaped, into a shell; names as they are.
        pod.stub(
            "colossalai",
            "env >" + pod.at("seen") + "\neval \"export ODD=\\\"$ODD\\\"\"\nprintf %s \"$ODD\" >" +
                pod.at("odd") + "\n"
        );
        const auto result = run(pod.line(
            shell,
            "launcher",
            R"env(ODD='say "hi" $HOME `id` \n' HOSTNAME=h KUBERNETES_PORT=1 my.var=1 OTHER='$x' )env"
            R"env(LOCPATH="$LOCPATH" LC_ALL=tr_TR.UTF-8 NCCL_IB_DISABLE=1)env"
        ));
        CAPTURE(result.output);
        CHECK(result.code == 0);
        CHECK(pod.read("odd") == R"(say "hi" $HOME `id` \n)");
        const auto seen = pod.read("seen");
        CHECK_FALSE(has_text(seen, "HOSTNAME="));
        CHECK_FALSE(has_text(seen, "KUBERNETES_PORT="));
        CHECK_FALSE(has_text(seen, "my.var"));
        CHECK(has_text(seen, "OTHER=\\$x\n"));  // of the image, or by envFrom
        CHECK(has_text(seen, "NCCL_IB_DISABLE=1\n"));
        CHECK(has_text(pod.read("swept"), "[t]orchrun --nproc"));
        CHECK(pod.read("sshd.args").empty());
    }
}

TEST_CASE("[launchers 4.4] values of several lines come from the workers' template", "[launch]") {
    constexpr const char* value = R"([{"name":"A","value":"x"},{"name":"B","value":"y\nz"}])";
    colossalai_job job(1, worker_template(R"(,"env":)" + std::string(value)));
    CHECK(job.compile().plan.warnings.empty());
    job.launch.launcher_env = value;
    CHECK(job.compile().warns("/spec/launcher/env/1/value"));
    CHECK(job.plan.warnings.size() == 1);
}

TEST_CASE("[launchers 9.3] a directory that the workers lack is said", "[bootstrap]") {
    auto job = colossalai_job(1).compile();
    const pod_folder pod(job);
    pod.stub("colossalai", "exit 0\n");
    // The folder goes when the first worker is asked.
    run("mkdir \"" + pod.at("gone it's") + "\"");
    pod.stub("ssh", "rmdir \"" + pod.at("gone it's") + "\" 2>/dev/null\ncd /\nexec /bin/sh -s\n");
    const auto result =
        run("cd \"" + pod.at("gone it's") + "\" && " + pod.line("/bin/sh", "launcher"));
    CAPTURE(result.output);
    CHECK(result.code == 64);
    CHECK(has_text(pod.read("termination"), "gone it's does not exist on"));
}

TEST_CASE("[behaviour 3.10] debug: the launcher idles, workers run sshd", "[launch]") {
    colossalai_job job(2);
    job.launch.command.clear();
    job.spec.mode.debug = true;
    job.compile();
    CHECK(job.pod(launcher).words("command", "launcher") == words{"sleep", "inf"});
    CHECK(job.pod(worker).words("command", "worker").back() == "worker");
    CHECK(find(job.pod(worker).container("worker"), "readinessProbe") != nullptr);
    job.launch.auth_mount_path = "/keys";
    job.spec.mode.debug_replicas.push_back({"worker", false, {"sleep", "1"}});
    job.compile();
    CHECK(job.pod(launcher).words("command", "launcher").back() == "idle");
    CHECK(job.pod(worker).words("command", "worker") == words{"sleep", "1"});
    CHECK(find(job.pod(worker).container("worker"), "readinessProbe") == nullptr);
}

TEST_CASE("[behaviour 3.11] a resume replaces the launcher's program", "[launch]") {
    colossalai_job job(2);
    job.spec.mode.resume_replicas.push_back({"launcher", false, {}, {"--resume", "a b"}});
    job.spec.mode.resume_replicas.push_back({"worker", false, {"x"}, {}});
    job.compile();
    CHECK(job.warns("/spec/runMode/pause/resumeSpecs/1"));
    const auto line = program_of(job, resumed);
    CHECK(words(line.end() - 3, line.end()) == words{"train.py", "--resume", "'a b'"});
    CHECK(program_of(job).back() == "train.py");
    CHECK(job.pod(worker, resumed).words("command", "worker").back() == "worker");
    job.spec.mode.resume_replicas[0].command = {"again"};
    CHECK(program_of(job.compile(), resumed) == words{"again", "--resume", "a b"});
}
