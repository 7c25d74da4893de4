// SPDX-License-Identifier: Apache-2.0
//
// The bootstrap with real sshd, ssh and pdsh on the loopback interface. The front end is a stand-in
// that obeys DeepSpeed's protocol, faults included (LAUNCH.md 2.1, 2.5).
#include "launch/ssh_job.hpp"
#include "signalbox_test/skip.hpp"

using namespace signalbox;
using namespace signalbox::test;

namespace {

std::string missing_program() {
    for (const std::string program : {"/usr/sbin/sshd", "ssh", "ssh-keygen", "pdsh", "python3"}) {
        if (std::system(("command -v " + program + " >/dev/null").c_str()) != 0) {
            return program + " is not installed";
        }
    }
    return {};
}
const suite_needs programs(missing_program);

/// The runner: quotes as DeepSpeed does, and hands the rest to pdsh.
constexpr std::string_view runner = R"py(#!/usr/bin/env python3
import os, subprocess, sys
args = sys.argv[1:]
first = next(i for i, a in enumerate(args) if not a.startswith("--"))
hostfile = next(a for a in args if a.startswith("--hostfile=")).split("=", 1)[1]
hosts = [line.split()[0] for line in open(hostfile)]
user = ['"%s"' % a.replace('"', '\\"') if " " in a else a for a in args[first + 1 :]]
remote = ["cd", os.getcwd() + ";", os.environ["RANK_PROGRAM"], "%n", args[first], *user]
sys.exit(subprocess.run(["pdsh", "-S", "-f", "1024", "-w", ",".join(hosts), *remote]).returncode)
)py";

/// ColossalAI's launcher: click's parser takes options before `--` only; then one line of shell for
/// each host, in which every variable is exported in double quotes, unescaped, and the words of the
/// program are joined as they are (LAUNCH.md 4.1, 4.4, 4.5).
constexpr std::string_view launcher = R"py(#!/usr/bin/env python3
import os, subprocess, sys
split = sys.argv.index("--")
options, script = sys.argv[2:split], sys.argv[split + 1 :]
given = dict(zip(options[::2], options[1::2]))
hosts = [line.strip() for line in open(given["--hostfile"]) if line.strip()]
exports = "".join('export %s="%s" && ' % (k, v) for k, v in os.environ.items() if v and "\n" not in v)
codes = []
for node, host in enumerate(hosts):
    line = "cd %s && %s%s %d %s" % (os.getcwd(), exports, os.environ["RANK_PROGRAM"], node, " ".join(script))
    codes.append(subprocess.run(["ssh", "-F", os.environ["RANK_SSH_CONFIG"], host, line]).returncode)
sys.exit(1 if any(codes) else 0)
)py";

/// Files of the Secret, as whoever creates it makes them from the key slots.
void write_keys(const pod_folder& pod, const core::planned_object& secret) {
    for (const auto pair : {"client", "host"}) {
        const std::string file = pod.at("key-" + std::string(pair));
        REQUIRE(run("ssh-keygen -q -t ecdsa -b 256 -m PEM -N '' -C '' -f " + file).code == 0);
    }
    for (const auto& slot : secret.key_slots) {
        const bool line = slot.form == core::key_form::public_line;
        const std::string name = slot.data_key == "ssh-privatekey" ? "id_ecdsa" : slot.data_key;
        pod.write("ssh/" + name, slot.prefix + pod.read("key-" + slot.key + (line ? ".pub" : "")));
    }
}

/// A port that no one listens on. Not one that the kernel gives to connections of others: sshd
/// takes it later.
std::string free_port() {
    const auto found = run(R"(python3 -c '
import random, socket
while True:
    port = random.randrange(10000, 32000)
    try:
        socket.socket().bind(("", port))
        break
    except OSError:
        pass
print(port, end="")')");
    REQUIRE(found.code == 0);
    return found.output;
}

/// A pod whose sshd, ssh and pdsh are real. `env` = what kubelet would set, assignments.
struct real_pod {
    pod_folder files;
    std::string env, port;

    template <class Job>
    explicit real_pod(const Job& job) : files(job) {
        run("rm " + files.at("bin/ssh") + " " + files.at("bin/pdsh") + " " + files.at("bin/sshd"));
        write_keys(files, job.planned(core::object_kind::secret));
        port = free_port();
        const auto secret = job.object(core::object_kind::secret);
        files.write("b64", string_or_empty(*find(secret.root(), "data"), "config"));
        auto config = run("base64 -d <" + files.at("b64")).output;
        config = replaced_all(config, "/root/.ssh", files.at("ssh"));
        files.write("ssh/config", replaced_all(config, "Port 2222", "Port " + port));
        files.set("sb_port", port);
        files.set("sb_sshd", "/usr/sbin/sshd");
        files.set("sb_wait_timeout", "300");  // until a failure; 1 s is usual
        const std::string slots = has_text(job.file("hostfile"), "slots=") ? " slots=1\n" : "\n";
        files.write("config/hostfile", "127.0.0.1" + slots + "localhost" + slots);
        files.write("rank", recorder_of(files));
        files.write("bin/deepspeed", runner);
        files.write("bin/colossalai", launcher);
        run("chmod +x " + files.at("rank") + " " + files.at("bin/deepspeed") + " " +
            files.at("bin/colossalai"));
        env = "RANK_PROGRAM=" + files.at("rank") + " RANK_SSH_CONFIG=" + files.at("ssh/config") +
              " PDSH_RCMD_TYPE=ssh PDSH_SSH_ARGS_APPEND='-F " + files.at("ssh/config") + "' ";
    }

    /// Launchers change to their own folder on every node, and do not quote its name.
    const std::string here = "cd " + files.at("") + "\n";

    /// A rank: its arguments and one variable go to files named after the node.
    static std::string recorder_of(const pod_folder& files) {
        return "#!/bin/sh\nn=$1; shift\nprintf '%s' \"$ODD\" >" + files.at("odd") +
               ".$n\n{ for a in \"$@\"; do printf '%s\\0' \"$a\"; done; printf '\\0'; } >" +
               files.at("argv") + ".$n\nexit ${CODE:-0}\n";
    }
};

}  // namespace

TEST_CASE("[launchers 2.5] arguments reach ranks over real pdsh and ssh", "[launch]") {
    deepspeed_job job(2, worker_template(R"(,"env":[{"name":"ODD","value":"x"}])"));
    job.launch.python = {"my train.py"};
    const auto awkward = awkward_words();
    job.launch.python.insert(job.launch.python.end(), awkward.begin(), awkward.end());
    job.compile();
    for (const auto& shell : shells()) {
        CAPTURE(shell);
        const real_pod pod(job);
        const auto result = run(
            pod.here +
            pod.files.line(shell, "launcher", pod.env + R"env(ODD='a b "q" \z $HOME `id` 50%n')env")
        );
        CAPTURE(result.output, pod.files.read("run/sshd.log"));
        CHECK(result.code == 0);
        for (const auto node : {"0", "1"}) {
            CHECK(pod.files.read("argv." + std::string(node)) == recorded(job.launch.python));
            CHECK(
                pod.files.read("odd." + std::string(node)) == R"env(a b "q" \z $HOME `id` 50%n)env"
            );
        }
    }
}

TEST_CASE(
    "[behaviour 3.8] [api colossalai worker.command] arguments and variables reach ColossalAI's "
    "ranks over real ssh",
    "[launch]"
) {
    colossalai_job job(2, worker_template(R"(,"env":[{"name":"ODD","value":"x"}])"));
    job.launch.command = {"my train.py", "--host", "zz"};
    const auto awkward = awkward_words();
    job.launch.command.insert(job.launch.command.end(), awkward.begin(), awkward.end());
    job.compile();
    for (const auto& shell : shells()) {
        CAPTURE(shell);
        const real_pod pod(job);
        const std::string env = pod.env + R"env(ODD='a b "q" \z $HOME `id` 50%n' UID=7)env";
        // One folder stands for both pods: what the roles write has other names.
        const auto result =
            run(pod.here + pod.files.line(shell, "worker", pod.env) + " >" +
                pod.files.at("sshd.log") + " 2>&1 & p=$!\n" +
                pod.files.line(shell, "launcher", env) + "; c=$?; kill $p; exit $c");
        CAPTURE(result.output, pod.files.read("sshd.log"));
        CHECK(result.code == 0);
        for (const auto node : {"0", "1"}) {
            CHECK(pod.files.read("argv." + std::string(node)) == recorded(job.launch.command));
            CHECK(
                pod.files.read("odd." + std::string(node)) == R"env(a b "q" \z $HOME `id` 50%n)env"
            );
        }
    }
}

TEST_CASE("[launchers 7.1] a rank's code comes back through pdsh", "[launch]") {
    deepspeed_job job(2, worker_template(R"(,"env":[{"name":"CODE","value":"7"}])"));
    job.compile();
    const real_pod pod(job);
    const auto result = run(pod.here + pod.files.line("/bin/sh", "launcher", pod.env + "CODE=7"));
    CAPTURE(result.output, pod.files.read("run/sshd.log"));
    CHECK(result.code == 7);
}

TEST_CASE("[launchers 5.2] a host with another key is not trusted", "[launch]") {
    deepspeed_job job(2);
    job.compile();
    const real_pod pod(job);
    pod.files.write("ssh/known_hosts", "* " + pod.files.read("key-client.pub"));
    pod.files.set("sb_wait_timeout", "0");
    // Asks once, but not before there is an answer.
    pod.files.stub(
        "ssh",
        "until ssh-keyscan -p " + pod.port + " 127.0.0.1 2>/dev/null | grep -q .; do :; done\n" +
            "exec /usr/bin/ssh -E " + pod.files.at("ssh.log") + " \"$@\"\n"
    );
    const auto result = run(pod.here + pod.files.line("/bin/sh", "launcher", pod.env));
    CAPTURE(result.output, pod.files.read("ssh.log"));
    CHECK(result.code == 75);
    CHECK(has_text(pod.files.read("ssh.log"), "Host key verification failed"));
}
