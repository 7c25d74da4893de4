// SPDX-License-Identifier: Apache-2.0
//
// DeepSpeedJob: its objects and pods.
#include "launch/ssh_job.hpp"

using namespace signalbox;
using namespace signalbox::test;
using core::object_kind;

namespace {

void add_resume(core::job_spec& spec, std::string type, words command, words args) {
    spec.mode.resume_replicas.push_back(
        {std::move(type), false, std::move(command), std::move(args)}
    );
}

}  // namespace

TEST_CASE("[launchers 9.1] objects: subdomain Service, Secret, ConfigMap per attempt", "[launch]") {
    auto job = deepspeed_job(3).compile();
    REQUIRE(job.plan.objects.size() == 3);
    CHECK(job.plan.objects[0].kind == object_kind::service);
    CHECK(job.plan.objects[0].name == job.plan.base_name);
    CHECK(job.plan.objects[1].kind == object_kind::secret);
    CHECK(job.plan.objects[1].name == job.plan.base_name + "-ssh");
    CHECK(job.plan.objects[2].kind == object_kind::config_map);
    CHECK(core::object_name(job.plan.objects[2], 4) == job.plan.base_name + "-4");
    CHECK(job.plan.scope == core::scope_rule::whole_job);
    CHECK(job.plan.deciding_type == 0);
    CHECK(job.plan.types[0].serving_from_index == 1);
    CHECK(job.plan.types[0].training_container == "worker");
    CHECK(job.plan.warnings.empty());
}

TEST_CASE("[launchers 9.1] several workers: the runner's line", "[launch]") {
    deepspeed_job job(2);
    job.launch.python = {"train.py", "--deepspeed", "a b"};
    job.launch.other_args = {"--launcher_args", "-t 3"};
    job.compile();
    const std::string master = core::pod_name(job.plan, {}) + "." + job.plan.base_name;
    CHECK(
        program_of(job) ==
        words{
            "deepspeed",
            "--hostfile=/signalbox/config/hostfile",
            "--master_addr=" + master,
            "--master_port=29500",
            "--force_multi",
            "--no_ssh_check",
            "--launcher_args",
            "-t 3",
            "train.py",
            "--deepspeed",
            "a b"}
    );
}

TEST_CASE("[behaviour 3.1] one worker: same objects, own address, literal arguments", "[launch]") {
    deepspeed_job job(1);
    job.launch.python = {"train.py", "c;d", "50%"};
    job.compile();
    CHECK(job.has(object_kind::secret));
    CHECK(
        program_of(job) ==
        words{
            "deepspeed",
            "--hostfile=/signalbox/config/hostfile",
            "--master_addr=127.0.0.1",
            "--master_port=29500",
            "--no_ssh_check",
            "train.py",
            "c;d",
            "50%"}
    );
}

TEST_CASE("[behaviour 7.2] line and hostfile follow the size in force", "[launch]") {
    deepspeed_job job(1);
    job.launch.slots_per_worker = 2;
    job.launch.python = {"train.py", "50%"};
    job.compile();
    const std::vector<std::int32_t> three{3};
    const core::render_options options{.resumed = false, .wanted = three};
    CHECK(contains(program_of(job, options), "--force_multi"));
    CHECK(program_of(job, options).back() == "50%%");
    const std::string prefix = job.plan.base_name + "-worker-", suffix = "." + job.plan.base_name;
    CHECK(
        job.file("hostfile", options) == prefix + "0" + suffix + " slots=2\n" + prefix + "1" +
                                             suffix + " slots=2\n" + prefix + "2" + suffix +
                                             " slots=2\n"
    );
    CHECK(job.file("hostfile") == prefix + "0" + suffix + " slots=2\n");
}

TEST_CASE(
    "[api deepspeed config.localRank] [api deepspeed config.autotune] [api deepspeed config.run] "
    "[api annotation ssh-check] options by configuration",
    "[launch]"
) {
    deepspeed_job job(2);
    const auto line = [&] { return program_of(job.compile()); };
    job.launch.local_rank = false;
    CHECK(contains(line(), "--no_local_rank"));
    job.launch.autotune = "tune";
    CHECK(contains(line(), "--autotuning=tune"));
    job.launch.autotune = "none";
    job.launch.python.clear();
    job.launch.module = {"pkg.train", "x"};
    CHECK(contains(line(), "--module"));
    job.launch.module.clear();
    job.launch.exec = {"./train", "x"};
    CHECK(contains(line(), "--no_python"));
    CHECK_FALSE(contains(line(), "--module"));
    job.meta.annotations["batch.tensorstack.dev/ssh-check"] = "on";
    CHECK_FALSE(contains(line(), "--no_ssh_check"));
    job.launch.custom_command = "deepspeed --x 'a b' && echo $HOME";
    CHECK(line() == words{"/bin/sh", "-c", "deepspeed --x 'a b' && echo $HOME"});
}

TEST_CASE(
    "[api deepspeed config.slotsPerWorker] slots: given, else accelerators, else one", "[launch]"
) {
    const auto hostfile = [](const std::string& container, std::optional<int> slots = {}) {
        deepspeed_job job(1, worker_template(container));
        job.launch.slots_per_worker = slots;
        return job.compile().file("hostfile");
    };
    const std::string gpus = R"(,"resources":{"limits":{"nvidia.com/gpu":4,"cpu":"8"}})";
    CHECK(hostfile("").find(" slots=1\n") != std::string::npos);
    CHECK(hostfile(gpus).find(" slots=4\n") != std::string::npos);
    CHECK(hostfile(gpus, 2).find(" slots=2\n") != std::string::npos);
    CHECK(
        deepspeed_job(1, worker_template(gpus)).compile().pod().env("OMP_NUM_THREADS", "worker") ==
        "2"
    );
}

TEST_CASE("[launchers 9.1] pods: bootstrap, keys, hostfiles, probe", "[launch]") {
    auto job = deepspeed_job(2, worker_template(R"(,"command":["x"],"args":["y"])")).compile();
    CHECK(job.warns("/spec/worker/template/spec/containers/0/command"));
    CHECK(job.warns("/spec/worker/template/spec/containers/0/args"));
    const auto master = job.pod({.type = 0, .index = 0, .attempt = 7});
    const auto other = job.pod({.type = 0, .index = 1, .attempt = 7});
    CHECK(
        master.words("command", "worker") ==
        words{"/bin/sh", "/signalbox/config/bootstrap.sh", "launcher"}
    );
    CHECK(
        other.words("command", "worker") ==
        words{"/bin/sh", "/signalbox/config/bootstrap.sh", "worker"}
    );
    CHECK(find(other.container("worker"), "args") == nullptr);
    CHECK(master.label("job-role") == "master");
    CHECK(other.label("job-role") == "<none>");
    CHECK(
        string_or_empty(*find(*volume(other, "signalbox-config"), "configMap"), "name") ==
        job.plan.base_name + "-7"
    );
    const value& secret = *find(*volume(other, "signalbox-ssh"), "secret");
    CHECK(string_or_empty(secret, "secretName") == job.plan.base_name + "-ssh");
    CHECK(find(secret, "defaultMode")->GetInt() == 0600);
    CHECK(string_or_empty((*find(secret, "items"))[0], "path") == "id_ecdsa");
    for (const auto path : {"/root/.ssh", "/signalbox/config", "/signalbox/run", "/dev/shm"}) {
        CHECK(mount_at(other, path) != nullptr);
    }
    for (const auto path : {"/job/hostfile", "/t9k/hostfile"}) {
        REQUIRE(mount_at(other, path) != nullptr);
        CHECK(string_or_empty(*mount_at(other, path), "subPath") == "hostfile");
    }
    CHECK(find(other.container("worker"), "readinessProbe", "tcpSocket", "port")->GetInt() == 2222);
    const value& ports = *find(other.container("worker"), "ports");
    CHECK(string_or_empty(ports[0], "name") == "ssh");
    CHECK(find(ports[0], "containerPort")->GetInt() == 2222);
    CHECK(other.env("MASTER_PORT", "worker") == "29500");
    CHECK(other.env("DS_ENV_FILE", "worker") == "/signalbox/run/deepspeed_env");
}

TEST_CASE("[behaviour 3.2] the user's probe wins, mounts at our places are refused", "[launch]") {
    auto probed = deepspeed_job(1, worker_template(R"(,"readinessProbe":{"exec":{}})")).compile();
    CHECK(find(probed.pod().container("worker"), "readinessProbe", "tcpSocket") == nullptr);
    for (const std::string path :
         {"/root/.ssh", "/root/.ssh/config", "/job/hostfile", "/signalbox/run/"}) {
        deepspeed_job job(
            1, worker_template(R"(,"volumeMounts":[{"name":"v","mountPath":")" + path + "\"}]")
        );
        CHECK(core::has_errors(job.compile().findings));
    }
    deepspeed_job near(
        1, worker_template(R"(,"volumeMounts":[{"name":"v","mountPath":"/root/.ssh2"}])")
    );
    CHECK_FALSE(core::has_errors(near.compile().findings));
}

TEST_CASE("[behaviour 3.3] hostNetwork: a port of the job's own, everywhere the same", "[launch]") {
    auto job = deepspeed_job(2, worker_template("", R"(,"hostNetwork":true)")).compile();
    const int port =
        find(job.pod().container("worker"), "readinessProbe", "tcpSocket", "port")->GetInt();
    CHECK(
        port == 20000 + std::stoi(core::name_hash(job.meta.name, job.meta.uid), nullptr, 16) % 10000
    );
    CHECK(
        job.file("settings.sh").find("sb_port=" + std::to_string(port) + "\n") != std::string::npos
    );
    const auto secret = job.object(object_kind::secret);
    CHECK(string_or_empty(secret.root(), "type") == "kubernetes.io/ssh-auth");
}

TEST_CASE("[launchers 5.2] users other than root find keys that they can read", "[launch]") {
    for (const auto user : {"", R"("runAsUser":1000)", R"("runAsUser":0)"}) {
        const std::string context = R"(,"securityContext":{)" + std::string(user) + '}';
        const auto pod = deepspeed_job(1, worker_template(context)).compile().pod();
        CHECK(find(*volume(pod, "signalbox-ssh"), "secret", "defaultMode")->GetInt() == 0600);
        CHECK(find(pod.spec(), "securityContext", "fsGroup") == nullptr);
        const bool other = std::string(user) != R"("runAsUser":0)";
        CHECK((mount_at(pod, "/signalbox/keys") != nullptr) == other);
        if (other) {
            CHECK(find(*volume(pod, "signalbox-keys"), "secret", "defaultMode")->GetInt() == 0644);
        }
        CHECK(mount_at(pod, "/run/sshd") == nullptr);
    }
}

TEST_CASE("[launchers 5.3] under a read-only root sshd has a directory of its own", "[launch]") {
    const auto pod =
        deepspeed_job(1, worker_template(R"(,"securityContext":{"readOnlyRootFilesystem":true})"))
            .compile()
            .pod();
    REQUIRE(mount_at(pod, "/run/sshd") != nullptr);
    CHECK(string_or_empty(*mount_at(pod, "/run/sshd"), "subPath") == "sshd");
    CHECK(find(*mount_at(pod, "/run/sshd"), "readOnly") == nullptr);
}

TEST_CASE("[launchers 5.2] a Secret cannot be rendered without its keys", "[launch]") {
    const auto job = deepspeed_job(2).compile();
    const auto render = [&](object_kind kind, const core::key_pairs& keys) {
        return core::render_object(job.plan, job.planned(kind), 1, {}, keys);
    };
    const core::key_pair client{"private half", "public half\n"};
    const auto none = render(object_kind::secret, {});
    const auto one = render(object_kind::secret, {{"client", client}});
    CHECK_FALSE(none);
    CHECK(
        none.error() ==
        "the Secret " + job.plan.base_name + "-ssh needs a key pair `client` for `ssh-privatekey`"
    );
    CHECK_FALSE(one);
    CHECK(one.error().find("`host` for `ssh_host_key`") != std::string::npos);
    CHECK(one.error().find("private half") == std::string::npos);
    CHECK(render(object_kind::config_map, {}));

    const auto all =
        render(object_kind::secret, {{"client", client}, {"host", {"its key", "its line"}}});
    REQUIRE(all);
    const rendered secret(*all);
    const auto data = [&](const char* key) {
        return string_or_empty(*find(secret.root(), "data"), key);
    };
    CHECK(data("ssh-privatekey") == "cHJpdmF0ZSBoYWxm");
    CHECK(data("authorized_keys") == "cHVibGljIGhhbGYK");
    CHECK(data("known_hosts") == "KiBpdHMgbGluZQ==");  // with its prefix
    CHECK(all->find(core::generated_marker) == std::string::npos);
}

TEST_CASE("[launchers 5.2] the Secret: which values are keys, and which are known", "[launch]") {
    auto job = deepspeed_job(2).compile();
    const auto secret = job.object(object_kind::secret);
    CHECK(find(secret.root(), "immutable")->IsTrue());
    const auto& slots = job.planned(object_kind::secret).key_slots;
    REQUIRE(slots.size() == 6);
    for (const auto& slot : slots) {
        CHECK(
            string_or_empty(*find(secret.root(), "data"), slot.data_key) == core::generated_marker
        );
    }
    using core::key_form;
    CHECK(slots[0] == core::key_slot{"ssh-privatekey", "client", key_form::private_pem, ""});
    CHECK(slots[1] == core::key_slot{"id_ecdsa.pub", "client", key_form::public_line, ""});
    CHECK(slots[2] == core::key_slot{"authorized_keys", "client", key_form::public_line, ""});
    CHECK(slots[3] == core::key_slot{"ssh_host_key", "host", key_form::private_pem, ""});
    CHECK(slots[4] == core::key_slot{"ssh_host_key.pub", "host", key_form::public_line, ""});
    CHECK(slots[5] == core::key_slot{"known_hosts", "host", key_form::public_line, "* "});
    const temporary_folder folder;
    folder.write("b64", string_or_empty(*find(secret.root(), "data"), "config"));
    const auto config = run("base64 -d <" + folder.path("b64")).output;
    CHECK(
        config ==
        "Host *\nIdentityFile /root/.ssh/id_ecdsa\nPort 2222\nStrictHostKeyChecking yes\n"
        "UserKnownHostsFile /root/.ssh/known_hosts\nConnectTimeout 10\nConnectionAttempts 10\n"
        "ServerAliveInterval 30\nServerAliveCountMax 6\nLogLevel ERROR\n"
    );
}

TEST_CASE("[api deepspeed disableCustomEnv] which variables go where", "[launch]") {
    const std::string env =
        R"(,"env":[{"name":"A","value":"1"},{"name":"my.var","value":"1"},
            {"name":"IP","valueFrom":{"fieldRef":{"fieldPath":"status.podIP"}}},
            {"name":"S","valueFrom":{"secretKeyRef":{"name":"s","key":"k"}}}])";
    deepspeed_job job(2, worker_template(env));
    job.compile();
    const std::string shared = job.file("env-shared");
    CHECK(shared.find("A\nS\n") != std::string::npos);
    CHECK(shared.find("my.var") == std::string::npos);
    CHECK(shared.find("IP") == std::string::npos);
    CHECK(job.file("settings.sh").find("sb_session_env=all\n") != std::string::npos);
    CHECK(has_text(job.file("run.sh"), "sb_bare_environment=no\n"));

    // What the kubelet fills from the pod is not shared, nor what refers to it. A name ends at the
    // next bracket, whatever else opens before it [launchers 1.5].
    deepspeed_job references(
        2,
        worker_template(
            R"j(,"env":[{"name":"IP","valueFrom":{"fieldRef":{"fieldPath":"status.podIP"}}},
            {"name":"B","value":"$(IP)"},{"name":"C","value":"x$(B"},{"name":"D","value":"$$(IP)"},
            {"name":"E","value":"$($(IP)"},{"name":"F","value":"$(X)$(B)"},{"name":"G","value":"$x$(IP)"}])j"
        )
    );
    references.compile();
    const std::string kept = "\n" + references.file("env-shared");
    CHECK(kept.find("\nC\nD\nE\n") != std::string::npos);
    for (const char* name : {"\nB\n", "\nF\n", "\nG\n"}) {
        CHECK(kept.find(name) == std::string::npos);
    }

    job.launch.disable_custom_env = true;
    job.compile();
    CHECK(job.file("env-shared").empty());
    CHECK(job.file("settings.sh").find("sb_session_env=none\n") != std::string::npos);
    CHECK(job.file("settings.sh").find("sb_env_file=''\n") != std::string::npos);
    CHECK(job.pod().env("DS_ENV_FILE", "worker") == "<none>");
    CHECK(job.pod().env("A", "worker") == "1");
}

TEST_CASE("[api deepspeed config.otherArgs] --no_ssh: every pod starts its own ranks", "[launch]") {
    deepspeed_job job(3);
    job.launch.other_args = {
        "--no_ssh", "--enable_each_rank_log", "/logs", "--save_pid", "--num_gpus", "1"};
    job.launch.slots_per_worker = 2;
    job.launch.local_rank = false;
    job.launch.python = {"train.py", "$(X)", "a b"};
    job.compile();
    CHECK(job.plan.objects.size() == 1);
    CHECK(job.plan.types[0].serving_from_index == std::numeric_limits<std::int32_t>::max());
    CHECK(job.warns("/spec/config/otherArgs"));
    const auto pod = job.pod({.type = 0, .index = 1});
    CHECK(
        pod.words("command", "worker") == words{"python", "-u", "-m", "deepspeed.launcher.launch"}
    );
    const auto args = pod.words("args", "worker");
    const std::string master = core::pod_name(job.plan, {}) + "." + job.plan.base_name;
    const words rest(args.begin() + 1, args.end());
    CHECK(
        rest ==
        words{
            "--node_rank=1",
            "--master_addr=" + master,
            "--master_port=29500",
            "--no_local_rank",
            "--enable_each_rank_log",
            "/logs",
            "train.py",
            "$$(X)",
            "a b"}
    );
    const temporary_folder folder;
    folder.write("b64", args[0].substr(args[0].find('=') + 1));
    CHECK(
        run("tr -- -_ +/ <" + folder.path("b64") + " | base64 -d").output ==
        R"({"worker-0":[0,1],"worker-1":[0,1],"worker-2":[0,1]})"
    );
    CHECK(mount_at(pod, "/root/.ssh") == nullptr);
    CHECK(find(pod.container("worker"), "readinessProbe") == nullptr);
    // A shell line of the user's is run as ever.
    job.launch.custom_command = "deepspeed x";
    CHECK(job.compile().has(object_kind::secret));
}

TEST_CASE("[behaviour 3.10] debug: sshd everywhere, or the entry's command", "[launch]") {
    deepspeed_job job(2);
    job.launch.python.clear();
    job.spec.mode.debug = true;
    job.compile();
    CHECK(job.has(object_kind::secret));
    CHECK(job.pod().words("command", "worker").back() == "worker");
    CHECK(mount_at(job.pod(), "/job/hostfile") != nullptr);
    job.spec.mode.debug_replicas.push_back({"master", true, {"sleep", "9"}});
    job.compile();
    CHECK(job.pod().words("command", "worker") == words{"sleep", "9"});
    CHECK(job.pod({.type = 0, .index = 1}).words("command", "worker").back() == "worker");
    // The probe asks sshd, which runs on worker-1 alone now.
    CHECK(find(job.pod().container("worker"), "readinessProbe") == nullptr);
    CHECK(find(job.pod({.type = 0, .index = 1}).container("worker"), "readinessProbe") != nullptr);
}

TEST_CASE(
    "[behaviour 3.10] debug of one worker needs no sshd, and has no probe of it", "[launch]"
) {
    deepspeed_job job(1);
    job.spec.mode.debug = true;
    job.compile();
    CHECK(job.pod().words("command", "worker") == words{"sleep", "inf"});
    CHECK(find(job.pod().container("worker"), "readinessProbe") == nullptr);
    job.spec.elastic = core::elastic_config{1, 2, 1};
    CHECK(job.compile().pod().words("command", "worker").back() == "worker");
    CHECK(find(job.pod().container("worker"), "readinessProbe") != nullptr);
}

TEST_CASE("[behaviour 3.11] resume replaces the launched program, not the bootstrap", "[launch]") {
    deepspeed_job job(2);
    job.launch.python = {"train.py", "--fresh"};
    add_resume(job.spec, "worker", {}, {"--resume"});
    job.compile();
    CHECK(job.warns("/spec/runMode/pause/resumeSpecs/0"));
    CHECK(program_of(job).back() == "--fresh");
    CHECK(program_of(job, resumed).back() == "--resume");
    CHECK(contains(program_of(job, resumed), "train.py"));
    add_resume(job.spec, "master", {"sh", "-c", "again"}, {"x"});
    job.compile();
    CHECK(program_of(job, resumed) == words{"sh", "-c", "again", "x"});
    CHECK(job.pod({}, resumed).words("command", "worker").back() == "launcher");
    CHECK(program_of(job).back() == "--fresh");
}

TEST_CASE("[behaviour 2.6] ConfigMap and Secret as the server shows them", "[render]") {
    auto job = deepspeed_job(2).compile();
    const std::vector<std::int32_t> four{4};
    for (const auto kind : {object_kind::secret, object_kind::config_map}) {
        const auto& object = job.planned(kind);
        auto text = core::preview_object(job.plan, object, 3, {});
        text.replace(text.find("\"metadata\":{"), 12, R"("metadata":{"uid":"u-1",)");
        const auto seen = core::decode_child(kind, text);
        REQUIRE(seen.has_value());
        const auto expected = core::expected_fingerprint(job.plan, object, {});
        const auto data = core::expected_data_fingerprint(job.plan, object, {});
        CHECK(seen->fingerprint == expected);
        CHECK(seen->data_fingerprint == data);
        CHECK(seen->attempt == (kind == object_kind::config_map ? 3 : 0));
        const auto resized = core::expected_data_fingerprint(job.plan, object, {.wanted = four});
        CHECK((resized == data) == (kind == object_kind::secret));
        auto edited = text;
        edited.replace(
            edited.find(kind == object_kind::secret ? "ssh-auth" : "sb_newline"), 1, "x"
        );
        CHECK(core::decode_child(kind, edited)->fingerprint == expected);
        CHECK(core::decode_child(kind, edited)->data_fingerprint != data);
        auto relabelled = text;
        relabelled.replace(relabelled.find("\"signalbox\""), 11, "\"someone\"");
        CHECK(core::decode_child(kind, relabelled)->fingerprint != expected);
        CHECK(core::decode_child(kind, relabelled)->data_fingerprint == data);
    }
}

TEST_CASE("[behaviour 2.13] all of the data counts, and that no one can change it", "[render]") {
    auto job = deepspeed_job(2).compile();
    for (const auto kind : {object_kind::secret, object_kind::config_map}) {
        auto text = core::preview_object(job.plan, job.planned(kind), 3, {});
        text.replace(text.find("\"metadata\":{"), 12, R"("metadata":{"uid":"u-1",)");
        const auto data = core::expected_data_fingerprint(job.plan, job.planned(kind), {});
        const auto with = [&](std::string_view what, std::string_view instead) {
            auto edited = text;
            edited.replace(edited.find(what), what.size(), instead);
            return core::decode_child(kind, edited)->data_fingerprint;
        };
        CAPTURE(core::to_string(kind));
        CHECK(with("\"uid\"", "\"uid\"") == data);
        CHECK(with("\"immutable\":true", "\"immutable\":false") != data);
        CHECK(with("\"immutable\":true,", "") != data);
        CHECK(with("\"data\":{", R"("data":{"more":"YQ==",)") != data);
        CHECK(with("\"data\":{", R"("binaryData":{"more":"YQ=="},"data":{)") != data);
    }
    // The same file in another form is another content.
    const auto read = [](const char* data) {
        const std::string head = R"({"metadata":{"name":"n","uid":"u"},)";
        return core::decode_child(object_kind::config_map, head + data + "}")->data_fingerprint;
    };
    CHECK(read(R"("data":{"a":"YQ=="})") != read(R"("binaryData":{"a":"YQ=="})"));
}

TEST_CASE(
    "[api 6.2] [requirement X14] a hostfile that fits into no ConfigMap is refused", "[launch]"
) {
    CHECK_FALSE(core::has_errors(deepspeed_job(10'000).compile().findings));
    deepspeed_job job(10'000);
    job.meta.name = std::string(40, 'n');
    CHECK(core::has_errors(job.compile().findings));
    job.spec.replicas[0].replicas = 1'000;
    CHECK_FALSE(core::has_errors(job.compile().findings));
}

TEST_CASE(
    "[api deepspeed config.slotsPerWorker] an unknown device: one slot, and a warning", "[launch]"
) {
    constexpr const char* place = "/spec/worker/template/spec/containers/0/resources";
    deepspeed_job job(2, worker_template(R"(,"resources":{"limits":{"example.com/npu":4}})"));
    CHECK(job.compile().warns(place));
    CHECK(has_text(job.file("hostfile"), "slots=1\n"));
    job.launch.slots_per_worker = 4;
    CHECK_FALSE(job.compile().warns(place));
    CHECK(has_text(job.file("hostfile"), "slots=4\n"));
}
