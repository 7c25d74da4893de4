// SPDX-License-Identifier: Apache-2.0
//
// The bootstrap, run for real by the shells of this machine. sshd, ssh and the launcher are stubs
// of the test; everything else is the ConfigMap as rendered, with its paths moved below one folder.
#include "launch/ssh_job.hpp"

using namespace signalbox;
using namespace signalbox::test;

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
        CHECK(has_text(pod.read("termination"), "(1 workers). ssh: no route to " + host));
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
        CHECK(has_text(keyless.read("termination"), "signalbox: cannot copy the keys from"));

        const pod_folder toolless(cifar());
        run("rm " + toolless.at("bin/ssh") + " && ln -s /bin/rm /bin/cat " + toolless.at("bin"));
        CHECK(
            run("cd / && PATH=" + toolless.at("bin") + " /bin/" + shell + " " +
                toolless.at("config/bootstrap.sh") + " worker")
                .code == 64
        );
        CHECK(has_text(toolless.read("termination"), "signalbox: the image has no program "));

        const pod_folder pathless(cifar());
        CHECK(
            run("cd / && PATH=/nothing /bin/" + shell + " " + pathless.at("config/bootstrap.sh") +
                " worker")
                .code == 64
        );
        CHECK(has_text(
            pathless.read("termination"), "the image has no program cat (PATH is /nothing)"
        ));
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
    "[launchers 2.9] [launchers 4.6] a launcher that is killed leaves no rank", "[bootstrap]"
) {
    for (const auto& shell : shells()) {
        CAPTURE(shell);
        const pod_folder pod(cifar(2));
        pod.stub("deepspeed", "rm -f " + pod.at("asked") + "\nkill -KILL $$\n");
        CHECK(run(pod.line(shell, "launcher")).code == 137);
        CHECK(has_text(pod.read("asked"), "-worker-0."));
        CHECK(has_text(pod.read("asked"), "-worker-1."));

        // One that fails has ended its ranks itself.
        const pod_folder failing(cifar(2));
        failing.stub("deepspeed", "rm -f " + failing.at("asked") + "\nexit 7\n");
        CHECK(run(failing.line(shell, "launcher")).code == 7);
        CHECK(failing.read("asked").empty());
    }
}

TEST_CASE(
    "[api deepspeed config.autotune] an autotuner that found nothing has failed", "[bootstrap]"
) {
    using texts = std::vector<std::string>;
    const auto configuration =
        GENERATE(as<texts>{}, texts{"--deepspeed_config", "ds.json"}, texts{"--deepspeed=ds.json"});
    const auto ends = [&](const std::string& shell, const std::string& launcher, bool resumes) {
        deepspeed_job job(2);
        job.launch.autotune = "tune";
        job.launch.python = {"train.py"};
        job.launch.python.insert(
            job.launch.python.end(), configuration.begin(), configuration.end()
        );
        job.compile();
        const pod_folder pod(job);
        run("mkdir " + pod.at("work"));
        pod.write("work/ds.json", "{\"autotuning\": {\"enabled\": true}}");
        if (resumes) {  // of an attempt before, on a shared volume
            run("mkdir " + pod.at("work/autotuning_results"));
            pod.write("work/autotuning_results/ds_config_optimal.json", "{}");
            run("touch -d '1 hour ago' " + pod.at("work/autotuning_results/ds_config_optimal.json")
            );
        }
        pod.stub("deepspeed", launcher);
        const auto result = run("cd " + pod.at("work") + " && " + pod.line(shell, "launcher"));
        return std::to_string(result.code) + ' ' + pod.read("termination") + result.output;
    };
    constexpr const char* none =
        "66 signalbox: the autotuner left no autotuning_results/ds_config_optimal.json";
    for (const auto& shell : shells()) {
        CAPTURE(shell);
        CHECK(ends(shell, "mkdir -p autotuning_results\n", false).starts_with(none));
        CHECK(ends(shell, "exit 0\n", true).starts_with(none));
        const std::string found =
            "mkdir -p autotuning_results; sleep 0.01\n"
            "echo {} >autotuning_results/ds_config_optimal.json\n";
        CHECK(ends(shell, found, true).starts_with("0 "));
        CHECK(ends(shell, found + "exit 3\n", false).starts_with("3 "));
        // Moved to a place that is not there.
        const auto moved = ends(
            shell,
            "echo '{\"autotuning\": {\"a\": 1, \"results_dir\": \"/no/such\"}}' >ds.json\n",
            true
        );
        CHECK(moved.starts_with("0 "));
        CHECK(has_text(moved, "there is no folder /no/such"));
    }
}

TEST_CASE("[launchers 5.3] an account that sshd refuses is told at once", "[bootstrap]") {
    const auto told = [](const std::string& account) {
        const pod_folder pod(cifar());
        pod.write("passwd", "root:x:4711:0::/root:/bin/sh\n" + account);
        pod.stub("id", "[ \"$1\" = -u ] && echo 1000\n");  // id -un finds none
        pod.stub("sshd", "exit 0\n");
        const auto code = run(pod.line("/bin/sh", "worker")).code;
        return std::to_string(code) + ' ' + pod.read("termination");
    };
    constexpr const char* none =
        "64 signalbox: user 1000 has no passwd entry, sshd will refuse it\n";
    CHECK(told("") == none);
    CHECK(told("u:x:1001:1::/home/u:/bin/sh\n") == none);
    CHECK(told("u:x:1000:1::/home/u:/bin/sh\n") == "0 ");
    CHECK(told("u:x:1000:1::/home/u:\n") == "0 ");
    CHECK(has_text(told("u:x:1000:1::/:/no/shell\n"), "64 signalbox: the image has no /no/shell"));
    CHECK(has_text(told("u:x:1000:1::/:/usr/sbin/nologin\n"), "user u may not log in"));
}

TEST_CASE("[launchers 5.2] a user that cannot read root's keys gets copies", "[bootstrap]") {
    const pod_folder pod(cifar());
    run("mv " + pod.at("ssh") + " " + pod.at("keys"));
    pod.write("keys/config", "IdentityFile " + pod.at("ssh/id_ecdsa") + "\n");
    run("chmod 0444 " + pod.at("keys/id_ecdsa"));
    pod.stub("sshd", "exit 0\n");
    const auto result = run(pod.line("/bin/sh", "worker"));
    CAPTURE(result.output);
    CHECK(result.code == 0);
    const auto config = "IdentityFile " + pod.at("run/ssh/id_ecdsa") + "\n";
    CHECK(pod.read("run/ssh/config") == config);
    CHECK(pod.read("home/.ssh/config") == config);
    CHECK(run("stat -c %a " + pod.at("run/ssh/id_ecdsa")).output == "400\n");
    CHECK(has_text(pod.read("run/sshd_config"), "HostKey " + pod.at("run/ssh/ssh_host_key\n")));
}

TEST_CASE("[launchers 5.2] a user that can read root's keys has a home elsewhere", "[bootstrap]") {
    const pod_folder pod(cifar());
    pod.write("ssh/config", "Port 2222\n");
    CHECK(run(pod.line("/bin/sh", "launcher")).code == 0);
    CHECK(pod.read("home/.ssh/config") == "Port 2222\n");
    // In that of the account they are found.
    const pod_folder root(cifar());
    run("mv " + root.at("ssh") + " " + root.at("home/.ssh"));
    root.set("sb_ssh_dir", root.at("home/.ssh"));
    CHECK(run(root.line("/bin/sh", "launcher", "HOME=" + root.at("bin"))).code == 0);
    CHECK(run("ls -A " + root.at("bin/.ssh")).code != 0);
}

TEST_CASE("[launchers 9.1] root whose namespace has no other users runs no sshd", "[bootstrap]") {
    const pod_folder pod(cifar());
    pod.stub("id", "[ \"$1\" = -u ] && echo 0\n");
    pod.write("passwd", "root:x:0:0::" + pod.at("home") + ":/bin/sh\n");
    pod.stub("sshd", "exit 0\n");
    pod.write("setgroups", "deny\n");
    CHECK(run(pod.line("/bin/sh", "worker")).code == 64);
    CHECK(
        has_text(pod.read("termination"), "signalbox: sshd cannot run as root in a user namespace")
    );
    pod.write("setgroups", "allow\n");
    CHECK_FALSE(has_text(run(pod.line("/bin/sh", "worker")).output, "user namespace"));
}

TEST_CASE(
    "[behaviour 3.9] the launcher's errors are told, however long its log goes on", "[bootstrap]"
) {
    for (const auto& shell : shells()) {
        CAPTURE(shell);
        const pod_folder pod(cifar());
        pod.stub(
            "deepspeed",
            "printf 'w-1: [rank3]: Traceback (most recent call last):\\nw-1: [rank3]:   File x\\n"
            "w-0: step\\nw-1: [rank3]: ValueError: loss is nan\\n'\n"
            "i=0; while [ $i -lt 500 ]; do echo \"w-0: noise $i\"; i=$((i + 1)); done\n"
            "echo late >&2\nexit ${CODE:-7}\n"
        );
        const auto failed = run(pod.line(shell, "launcher"));
        CHECK(failed.code == 7);
        CHECK(has_text(failed.output, "noise 499\nlate\n"));
        CHECK(pod.read("termination") == "w-1: [rank3]: ValueError: loss is nan\n");

        // Tracebacks of ranks without a prefix lie in between each other, and others' lines there.
        const pod_folder mixed(cifar());
        mixed.stub(
            "deepspeed",
            "t='Traceback (most recent call last):'\nprintf '%s\\n' \"$t\" '  File a' \"$t\" "
            "'  File b' 'RuntimeError: lost' 'step 8: 0.1' '  x = 1' "
            "'ValueError: nan' \"$t\" '  File c' 'at step 9' 'my.Own: 1' 'Epoch: 2'\nexit 3\n"
        );
        CHECK(run(mixed.line(shell, "launcher")).code == 3);
        CHECK(mixed.read("termination") == "RuntimeError: lost\nValueError: nan\nmy.Own: 1\n");

        // What is cut ends with a whole character: torch has an emoji in the words of gloo.
        const pod_folder cut(cifar());
        const std::string whole = "[rank0]: ValueError: " + std::string(278, 'x');
        cut.stub("deepspeed", "echo '" + whole + "\xf0\x9f\x8f\x96 and more'\nexit 3\n");
        CHECK(run(cut.line(shell, "launcher")).code == 3);
        CHECK(cut.read("termination") == whole + "\n");

        // With each error the place in the user's files.
        const pod_folder placed(cifar());
        placed.stub("deepspeed", R"(cat <<'END'
w-1: [rank1]: Traceback (most recent call last):
w-1: [rank1]:   File "/code/train.py", line 57, in step
w-0: words
w-1: [rank1]:   File "/usr/lib/python3.11/site-packages/torch/x.py", line 3, in f
w-1: [rank1]: ValueError: nan
  File "b.py", line 2
    if x
SyntaxError: bad
Traceback (most recent call last):
  File "c.py", line 3, in f
Traceback (most recent call last):
  File "d.py", line 4, in g
KeyError: 1
KeyError: 2
  File "e.py", line 5, in h
words
w-1: [rank1]: OSError: 3
Exception ignored in: <function Pool.__del__ at 0x7f>
Traceback (most recent call last):
  File "f.py", line 6, in __del__
OSError: 4
END
exit 1
)");
        CHECK(run(placed.line(shell, "launcher")).code == 1);
        CHECK(
            placed.read("termination") == R"(w-1: [rank1]:   File "/code/train.py", line 57, in step
w-1: [rank1]: ValueError: nan
  File "b.py", line 2
SyntaxError: bad
KeyError: 1
KeyError: 2
w-1: [rank1]: OSError: 3
)"
        );

        // What cannot start is told beside errors of Python, of which there is none mostly.
        const std::string refusals[] = {
            "python3: can't open file '/code/trainn.py': [Errno 2] No such file or directory",
            "w-1: python3: can't open file '/code/trainn.py': [Errno 2] No such file or directory",
            "train.py: error: unrecognized arguments: --lrr",
            "w-0: train.py: error: unrecognized arguments: --lrr",
            "bash: line 1: trainn: command not found"};
        for (const std::string& line : refusals) {
            const pod_folder refused(cifar());
            refused.stub(
                "deepspeed",
                "cat <<'END'\nstep 1: error: 0.2\n" + line + "\n" + line + "!\nEND\nexit 2\n"
            );
            CHECK(run(refused.line(shell, "launcher")).code == 2);
            CHECK(refused.read("termination") == line + "\n");
        }

        // Deaths; below an error of NCCL what torch says of it, and NCCL's own last words.
        const std::string last_words[] = {
            "w-1: [2026-11-21 14:49:36,000] [ERROR] [launch.py:325:sigkill_handler] "
            "['/usr/bin/python3', '-u', 'train.py'] exits with return code = -9",
            "w-1: /code/run.sh: line 3:    12 Killed                  python3 train.py",
            "python3: /src/ring.c:88: ring_push: Assertion `r->n < r->size' failed.",
            "w-1: terminate called after throwing an instance of 'c10::DistBackendError'\nw-1:   "
            "what():  [PG 3 Rank 5] Process group watchdog thread terminated with exception: x",
            "w-1: [rank1]:   File \"a.py\", line 2, in f\nw-1: [rank1]: DistBackendError: NCCL "
            "error "
            "in: x.cpp:1, unhandled system error\nw-1: [rank1]: ncclSystemError: System call "
            "failed.\nw-1: [rank1]: Last error:\nw-1: [rank1]: Call failed : No space left on "
            "device"};
        for (const std::string& lines : last_words) {
            const pod_folder died(cifar());
            died.stub(
                "deepspeed",
                "cat <<'END'\nw-0: words\n" + lines +
                    "\nw-1: [rank1]: words\nw-0: exits with return code = -15\nEND\nexit 247\n"
            );
            CHECK(run(died.line(shell, "launcher")).code == 247);
            CHECK(died.read("termination") == lines + "\n");
        }

        // Of torchrun's reports of several nodes the last, and who ended in a way of his own.
        const pod_folder reports(cifar());
        reports.stub("deepspeed", R"(cat <<'END'
Failures:
  <NO_OTHER_FAILURES>
----
Root Cause (first observed failure):
[0]:
  host      : w-0
  rank      : 1 (local_rank: 1)
  exitcode  : 3 (pid: 333)
====
Failures:
[1]:
  host      : w-1
  rank      : 3 (local_rank: 1)
  exitcode  : -6 (pid: 334)
----
Root Cause (first observed failure):
[0]:
  host      : w-1
  rank      : 2 (local_rank: 0)
  exitcode  : 1 (pid: 335)
  exitcode  : -9 (pid: 336)
====
[E] api.py: failed (exitcode: 7) local_rank: 7 (pid: 50) of binary: python3
END
exit 1
)");
        CHECK(run(reports.line(shell, "launcher")).code == 1);
        CHECK(reports.read("termination") == R"(  host      : w-0
  rank      : 1 (local_rank: 1)
  exitcode  : 3 (pid: 333)
  exitcode  : -9 (pid: 336)
Root Cause (first observed failure):
[0]:
  host      : w-1
  rank      : 2 (local_rank: 0)
  exitcode  : 1 (pid: 335)
  exitcode  : -9 (pid: 336)
====
)");

        const pod_folder quiet(cifar());
        quiet.stub("deepspeed", "echo no reason\nexit 3\n");
        CHECK(run(quiet.line(shell, "launcher")).code == 3);
        CHECK(quiet.read("termination").empty());  // the kubelet takes the end of the log
    }
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
