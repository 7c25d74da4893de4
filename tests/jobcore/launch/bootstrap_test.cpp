// SPDX-License-Identifier: Apache-2.0
//
// The bootstrap, run for real by the shells of this machine. sshd, ssh and the launcher are stubs
// of the test; everything else is the ConfigMap as rendered, with its paths moved below one folder.
#include "launch/ssh_job.hpp"

using namespace signalbox;
using namespace signalbox::test;

namespace {

deepspeed_job cifar(int replicas = 2, const std::string& container = {}) {
    deepspeed_job job(replicas, worker_template(container));
    job.compile();
    return job;
}

}  // namespace

TEST_CASE("[launchers 9.1] the launcher starts once every worker answers", "[bootstrap]") {
    for (const auto& shell : shells()) {
        CAPTURE(shell);
        auto job = cifar(3);
        job.launch.python = {"train.py", "a b", "$HOME;x"};
        job.compile();
        const pod_folder pod(job);
        const auto result = run(pod.line(shell, "launcher"));
        CAPTURE(result.output);
        CHECK(result.code == 0);
        for (const auto host : {"-worker-0.", "-worker-1.", "-worker-2."}) {
            CHECK(has_text(pod.read("asked"), job.plan.base_name + host + job.plan.base_name + "\n")
            );
        }
        CHECK(has_text(pod.read("swept"), "pkill -TERM -f [d]eepspeed.launcher.launch"));
        const auto argv = pod.read("argv");
        CHECK(has_text(argv, recorded({"train.py", "a b", "'$HOME;x'"}).substr(0, 12)));
        CHECK(has_text(argv, "--force_multi"));
        CHECK(has_text(pod.read("sshd.args"), "-D -e -f"));
        CHECK(pod.read("termination").empty());
    }
}

TEST_CASE("[behaviour 5.4] workers that do not answer: code 75 and their names", "[bootstrap]") {
    for (const auto& shell : shells()) {
        CAPTURE(shell);
        const auto job = cifar(3);
        const pod_folder pod(job);
        const std::string host = job.plan.base_name + "-worker-2." + job.plan.base_name;
        pod.take_down(host);
        pod.set("sb_wait_timeout", "0");
        const auto result = run(pod.line(shell, "launcher"));
        CAPTURE(result.output);
        CHECK(result.code == 75);
        CHECK(has_text(
            pod.read("termination"), "signalbox: no answer within 0 s from sshd on: " + host
        ));
        CHECK(pod.read("argv").empty());
    }
}

TEST_CASE("[api annotation wait-timeout] 600 s, or what is asked for", "[launch]") {
    deepspeed_job job(2);
    CHECK(has_text(job.compile().file("settings.sh"), "sb_wait_timeout=600\n"));
    job.meta.annotations["batch.tensorstack.dev/wait-timeout"] = "30";
    CHECK(has_text(job.compile().file("settings.sh"), "sb_wait_timeout=30\n"));
}

TEST_CASE("[api annotation wait-timeout] off starts at once", "[bootstrap]") {
    deepspeed_job job(2);
    job.meta.annotations["batch.tensorstack.dev/wait-timeout"] = "off";
    job.compile();
    const pod_folder pod(job);
    CHECK(run(pod.line("/bin/sh", "launcher")).code == 0);
    CHECK(pod.read("asked").empty());
    CHECK_FALSE(pod.read("argv").empty());
}

TEST_CASE("[launchers 9.1] what the image lacks is said, code 64", "[bootstrap]") {
    for (const auto& shell : shells()) {
        CAPTURE(shell);
        const pod_folder pod(cifar());
        run("rm " + pod.at("bin/deepspeed"));
        CHECK(run(pod.line(shell, "launcher")).code == 64);
        CHECK(has_text(pod.read("termination"), "signalbox: the image has no program deepspeed"));

        const pod_folder insecure(cifar());
        insecure.stub("pdsh", "echo 'pdsh: module path \"/usr/lib/pdsh\" insecure.' >&2\nexit 1\n");
        CHECK(run(insecure.line(shell, "launcher")).code == 64);
        CHECK(has_text(insecure.read("termination"), "chown root:root /usr/lib"));

        const pod_folder keyless(cifar());
        run("rm " + keyless.at("ssh/ssh_host_key"));
        CHECK(run(keyless.line(shell, "worker")).code == 64);
        CHECK(has_text(keyless.read("termination"), "ssh_host_key cannot be read"));
    }
}

TEST_CASE("[launchers 9.1] an sshd that ends at once is no silence of workers", "[bootstrap]") {
    const auto job = cifar();
    const pod_folder pod(job);
    pod.stub("sshd", "echo 'no hostkeys available' >&2\nexit 1\n");
    pod.take_down(job.plan.base_name + "-worker-0." + job.plan.base_name);
    const auto result = run(pod.line("/bin/sh", "launcher"));
    CAPTURE(result.output);
    CHECK(result.code == 64);
    CHECK(has_text(pod.read("termination"), "sshd ended with code 1: no hostkeys available"));
}

TEST_CASE("[launchers 7.1] the launcher's code is the pod's", "[bootstrap]") {
    for (const auto& shell : shells()) {
        const pod_folder pod(cifar());
        pod.stub("deepspeed", "exit 7\n");
        CHECK(run(pod.line(shell, "launcher")).code == 7);
        CHECK(pod.read("termination").empty());
    }
}

TEST_CASE("[launchers 2.9] TERM ends the launcher, then ranks on all hosts", "[bootstrap]") {
    for (const auto& shell : shells()) {
        CAPTURE(shell);
        const auto job = cifar(2);
        const pod_folder pod(job);
        // A child of the launcher that does not hear of a signal to the launcher alone. What it
        // sleeps in may outlive it, so that holds no pipe and soon ends.
        pod.stub(
            "deepspeed",
            "trap 'echo ended >>" + pod.at("log") +
                "; exit 3' TERM\n"
                "rm -f " +
                pod.at("asked") +
                "\n"
                "sh -c 'trap \"echo child >>" +
                pod.at("log") +
                "; exit\" TERM; "
                "echo go >" +
                pod.at("started") + "; while [ -s " + pod.at("started") +
                " ]; do sleep 1 >/dev/null 2>&1 & wait $!; done' &\nwait\nwait\n"
        );
        const auto result =
            run(pod.line(shell, "launcher") + " & p=$!\nwhile [ ! -s " + pod.at("started") +
                " ]; do sleep 0.05; done\nkill -TERM $p\nwait $p; c=$?; rm " + pod.at("started") +
                "\nexit $c");
        CAPTURE(result.output);
        CHECK(result.code == 3);
        CHECK(has_text(pod.read("log"), "ended\n"));
        if (run("command -v setsid").code == 0) {
            CHECK(has_text(pod.read("log"), "child\n"));
        }
        CHECK(has_text(pod.read("asked"), "-worker-0."));
        CHECK(has_text(pod.read("asked"), "-worker-1."));
    }
}

TEST_CASE(
    "[launchers 5.4] SetEnv carries values exactly, and only names that are set", "[bootstrap]"
) {
    const std::string env =
        R"(,"env":[{"name":"PLAIN","value":"x"},{"name":"ODD","value":"x"},{"name":"LINES","value":"x"},
            {"name":"UNSET","value":"x"},{"name":"EMPTY","value":""}])";
    for (const auto& shell : shells()) {
        CAPTURE(shell);
        const pod_folder pod(cifar(2, env));
        pod.stub("sshd", "exit 0\n");
        const auto result = run(pod.line(
            shell,
            "worker",
            R"env(PLAIN=1%2 EMPTY= ODD='a b "q" \z $HOME `id`' LINES="$(printf 'a\nb')" OTHER=1 NCCL_DEBUG=INFO)env"
        ));
        CAPTURE(result.output);
        CHECK(result.code == 0);
        const auto config = pod.read("run/sshd_config");
        CHECK(has_text(config, "StrictModes no\n"));
        CHECK(has_text(config, "Port 2222\n"));
        CHECK(has_text(config, R"( ODD="a b \"q\" \\z $HOME `id`")"));
        CHECK(has_text(config, " EMPTY=\"\""));
        CHECK(has_text(config, " NCCL_DEBUG=\"INFO\""));
        CHECK(has_text(config, " PATH=\""));
        CHECK_FALSE(has_text(config, "UNSET"));
        CHECK_FALSE(has_text(config, "LINES"));
        CHECK_FALSE(has_text(config, "OTHER"));
        const auto file = pod.read("run/deepspeed_env");
        CHECK(has_text(file, "PLAIN=1%%2\n"));
        CHECK_FALSE(has_text(file, "ODD"));
        CHECK_FALSE(has_text(file, "EMPTY"));
    }
}

TEST_CASE("[launchers 2.4] envFrom: all variables; disabled: the essentials", "[bootstrap]") {
    const pod_folder all(cifar(2, R"(,"envFrom":[{"secretRef":{"name":"s"}}])"));
    all.stub("sshd", "exit 0\n");
    run(all.line("/bin/sh", "worker", "FROM_SECRET=1 KUBERNETES_PORT=1 HOSTNAME=x"));
    CHECK(has_text(all.read("run/sshd_config"), " FROM_SECRET=\"1\""));
    CHECK_FALSE(has_text(all.read("run/sshd_config"), "KUBERNETES_PORT"));
    CHECK_FALSE(has_text(all.read("run/sshd_config"), "HOSTNAME"));

    deepspeed_job job(2, worker_template(R"(,"env":[{"name":"A","value":"1"}])"));
    job.launch.disable_custom_env = true;
    job.compile();
    const pod_folder none(job);
    none.stub("sshd", "exit 0\n");
    run(none.line("/bin/sh", "worker", "A=1 NCCL_DEBUG=1 NVIDIA_X=1"));
    CHECK(has_text(none.read("run/sshd_config"), " NVIDIA_X="));
    CHECK_FALSE(has_text(none.read("run/sshd_config"), "NCCL_DEBUG"));
    CHECK_FALSE(has_text(none.read("run/sshd_config"), " A="));
    CHECK(run("test -e " + none.at("run/deepspeed_env")).code != 0);
}

TEST_CASE("[launchers 2.4] the user's own environment file is kept", "[bootstrap]") {
    const pod_folder pod(cifar(1, R"(,"env":[{"name":"A","value":"1"}])"));
    pod.write("home/.deepspeed_env", "MINE=1\n\nbroken\nTWO=a=b\n");
    CHECK(run(pod.line("/bin/sh", "launcher", "A=1")).code == 0);
    CHECK(has_text(pod.read("run/deepspeed_env"), "A=1\n"));
    CHECK(has_text(pod.read("run/deepspeed_env"), "MINE=1\nTWO=a=b\n"));
    CHECK_FALSE(has_text(pod.read("run/deepspeed_env"), "broken"));
}

TEST_CASE("[behaviour 3.8] a shell line of the user's runs unchanged", "[bootstrap]") {
    deepspeed_job job(2);
    job.launch.custom_command = "deepspeed --a \"$ARG\" 'b c' && echo it\\'s done";
    job.compile();
    const pod_folder pod(job);
    const auto result = run(pod.line("/bin/sh", "launcher", "ARG='x y'"));
    CAPTURE(result.output);
    CHECK(result.code == 0);
    CHECK(pod.read("argv") == recorded({"--a", "x y", "b c"}));
    CHECK(has_text(result.output, "it's done"));
}
