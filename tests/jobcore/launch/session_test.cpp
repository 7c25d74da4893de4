// SPDX-License-Identifier: Apache-2.0
//
// What sessions over ssh and the launcher's ranks have of the container's environment: the
// bootstrap, run as in bootstrap_test.cpp.
#include "launch/ssh_job.hpp"

using namespace signalbox;
using namespace signalbox::test;

namespace {

/// What a session on the pod finds: `<name>=<value>` and a NUL byte for each variable.
std::string session_of(const pod_folder& pod, const std::string& shell) {
    // As sshd starts it; bash then has a start-up file.
    pod.write("home/.bashrc", "PATH=/spoiled:$PATH\n");
    run("env -i PATH=/usr/bin:/bin HOME=" + pod.at("home") + " SSH_CLIENT=1 SHELL=/bin/" + shell +
        " SSH_ORIGINAL_COMMAND='env -0 >" + pod.at("session.env") + "' " + shell + " " +
        pod.at("run/session"));
    return '\0' + pod.read("session.env");
}

/// The variable has this value there.
bool has_variable(
    const std::string& environment, const std::string& name, const std::string& text
) {
    return has_text(environment, '\0' + name + '=' + text + '\0');
}

}  // namespace

TEST_CASE(
    "[launchers 5.4] [api deepspeed disableCustomEnv] a session begins with the container's "
    "environment, byte for byte",
    "[bootstrap]"
) {
    for (const auto& shell : shells()) {
        CAPTURE(shell);
        const pod_folder pod(cifar(2, R"(,"env":[{"name":"PLAIN","value":"x"}])"));
        pod.stub("sshd", "exit 0\n");
        const auto result = run(pod.line(
            shell,
            "worker",
            R"env(PLAIN=1%2 EMPTY= ODD='a b "q" \z $HOME `id`' QUOTES="it's ''" )env"
            R"env(LINES="$(printf 'a\nPATH=b\n\nc\nx')
" my.var=1 OF_IMAGE=1 HOSTNAME=x KUBERNETES_PORT=1 SSH_CLIENT=1)env"
        ));
        CAPTURE(result.output);
        CHECK(result.code == 0);
        CHECK(has_text(pod.read("run/sshd_config"), "StrictModes no\n"));
        CHECK(has_text(pod.read("run/sshd_config"), "Port 2222\n"));
        CHECK(
            has_text(pod.read("run/sshd_config"), "ForceCommand /bin/sh " + pod.at("run/session\n"))
        );
        const auto seen = session_of(pod, shell);
        CHECK(has_variable(seen, "PLAIN", "1%2"));
        CHECK(has_variable(seen, "EMPTY", ""));
        CHECK(has_variable(seen, "ODD", R"(a b "q" \z $HOME `id`)"));
        CHECK(has_variable(seen, "QUOTES", "it's ''"));
        CHECK(has_variable(seen, "LINES", "a\nPATH=b\n\nc\nx\n"));
        CHECK(has_variable(seen, "OF_IMAGE", "1"));
        CHECK(has_variable(seen, "HOSTNAME", "x"));
        CHECK(has_variable(seen, "KUBERNETES_PORT", "1"));
        CHECK(has_variable(seen, "PATH", pod.at("bin") + ":/usr/bin:/bin"));
        for (const auto name :
             {"SSH_CLIENT=1 ", "SSH_ORIGINAL_COMMAND=", "my.var", "sb_", "UNSET"}) {
            CAPTURE(name);
            CHECK_FALSE(has_text(seen, name));
        }
        const auto file = pod.read("run/deepspeed_env");
        CHECK(has_text(file, "PLAIN=1%%2\n"));
        CHECK_FALSE(has_text(file, "ODD"));
    }
}

TEST_CASE("[launchers 5.4] names of variables are read alike in every locale", "[bootstrap]") {
    // In Turkish [A-Z] has no I; of bytes that are no UTF-8 a pattern takes none.
    for (const std::string locale : {"C.UTF-8", "tr_TR.UTF-8"}) {
        CAPTURE(locale);
        const pod_folder pod(cifar(2));
        pod.stub("sshd", "exit 0\n");
        const auto env = "LOCPATH=\"$LOCPATH\" LC_ALL=" + locale +
                         R"env( NCCL_IB_DISABLE=1 file=1 BYTES="$(printf 'a\377b')")env";
        CHECK(run(pod.line("/bin/sh", "worker", env)).code == 0);
        const auto seen = session_of(pod, "sh");
        CHECK(has_variable(seen, "NCCL_IB_DISABLE", "1"));
        CHECK(has_variable(seen, "file", "1"));
        CHECK(has_variable(seen, "BYTES", "a\377b"));
    }
}

TEST_CASE("[api deepspeed disableCustomEnv] sessions have the essentials alone", "[bootstrap]") {
    deepspeed_job job(2, worker_template(R"(,"env":[{"name":"A","value":"1"}])"));
    job.launch.disable_custom_env = true;
    job.compile();
    const pod_folder pod(job);
    pod.stub("sshd", "exit 0\n");
    run(pod.line("/bin/sh", "worker", "A=1 NCCL_DEBUG=1 NVIDIA_X=1"));
    const auto seen = session_of(pod, "sh");
    CHECK(has_variable(seen, "NVIDIA_X", "1"));
    CHECK_FALSE(has_text(seen, "NCCL_DEBUG"));
    CHECK_FALSE(has_text(seen, std::string("\0A=", 3)));
    CHECK(run("test -e " + pod.at("run/deepspeed_env")).code != 0);
}

TEST_CASE("[api deepspeed disableCustomEnv] one worker: its ranks have no more", "[bootstrap]") {
    for (const bool disabled : {false, true}) {
        deepspeed_job job(1, worker_template(R"(,"env":[{"name":"A","value":"1"}])"));
        job.launch.disable_custom_env = disabled;
        job.compile();
        const pod_folder pod(job);
        pod.stub("deepspeed", "env >" + pod.at("seen") + "\n");
        CHECK(run(pod.line("/bin/sh", "launcher", "A=1 HF_HOME=/x NVIDIA_X=1 LANG=C")).code == 0);
        const auto seen = '\n' + pod.read("seen");
        for (const auto name : {"\nA=", "\nHF_HOME=", "\nLANG="}) {
            CAPTURE(name);
            CHECK(has_text(seen, name) != disabled);
        }
        for (const auto name : {"\nPATH=", "\nHOME=", "\nNVIDIA_X="}) {
            CHECK(has_text(seen, name));
        }
    }
}

TEST_CASE("[launchers 2.4] what the runner would export wrongly it does not see", "[bootstrap]") {
    for (const int workers : {1, 2}) {
        deepspeed_job job(workers);
        job.compile();
        const pod_folder pod(job);
        pod.stub("deepspeed", "env >" + pod.at("seen") + "\n");
        const auto env =
            "PYTHON_ODD='a b' MLFLOW_TOKEN='$x' NCCL_DEBUG=INFO OTHER='a b' "
            "PYTHONPATH='/a b'";
        CHECK(run(pod.line("/bin/sh", "launcher", env)).code == 0);
        const auto seen = pod.read("seen");
        CHECK(has_text(seen, "PYTHON_ODD") == (workers == 1));
        CHECK(has_text(seen, "MLFLOW_TOKEN") == (workers == 1));
        CHECK(has_text(seen, "NCCL_DEBUG=INFO"));
        CHECK(has_text(seen, "OTHER=a b"));
        CHECK(has_text(seen, "PYTHONPATH=/a b"));
        CHECK(has_variable(session_of(pod, "sh"), "MLFLOW_TOKEN", "$x"));
    }
}
