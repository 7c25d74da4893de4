// SPDX-License-Identifier: Apache-2.0
//
// What a program in a container sees, and how it ends.
#include "machine.hpp"

#include <catch2/catch.hpp>

#include <csignal>

namespace {

using namespace signalbox::op::containers;
using namespace signalbox::op::containers::test;

TEST_CASE("a program runs with its output and its exit code") {
    machine m;
    const outcome o = m.run("echo out; echo err >&2; exit 7");
    CHECK(o.error.message.empty());
    CHECK(o.out == "out\n");
    CHECK(o.err == "err\n");
    CHECK(o.status.code == 7);
    CHECK(o.status.signal == 0);
}

TEST_CASE("a program is process 1 of its container, with the sandbox's name and address") {
    machine m;
    const sandbox box = m.make_sandbox("trainer-0");
    const outcome o = m.run(m.shell(
        box, "echo $$; cat /proc/sys/kernel/hostname; ls -d /proc/[0-9]*; cat /proc/net/fib_trie"
    ));
    INFO(o.out << o.err);
    CHECK(o.out.find("1\ntrainer-0\n/proc/1\n") == 0);
    CHECK(o.out.find(box.address) != std::string::npos);
}

TEST_CASE("argument list and environment arrive byte for byte") {
    machine m;
    container_spec spec = m.shell(m.make_sandbox(), "");
    const std::vector<std::string> hostile{
        "a b", "", "'\"$(touch x)`", "\n\t", "\xff\xfe", "=x", "\\", "*", "-n"};
    spec.process.argv = {"/usr/bin/printf", "%s|"};
    for (const std::string& each : hostile) {
        spec.process.argv.push_back(each);
    }
    const outcome arguments = m.run(spec);
    std::string wanted;
    for (const std::string& each : hostile) {
        wanted += each + "|";
    }
    CHECK(arguments.out == wanted);

    spec.process.argv = {"/usr/bin/env", "-0"};
    spec.process.env = {
        "A=1",
        "with.dots-and spaces=x\ny",
        "B=",
        "A=2",
        "EMPTY",
        "\xff=\xfe",
        "LONG=" + std::string(100000, 'x')};
    const outcome environment = m.run(spec);
    wanted.clear();
    for (const std::string& each : spec.process.env) {
        wanted += each;
        wanted += '\0';
    }
    CHECK(environment.out == wanted);
}

TEST_CASE("a program that cannot run is refused in the words of runc") {
    machine m;
    container_spec spec = m.shell(m.make_sandbox(), "");
    const auto refusal = [&](const std::string& program) {
        spec.process.argv = {program};
        const outcome o = m.run(spec);
        CHECK(o.error.reason == "StartError");
        return o.error.message;
    };
    CHECK(
        refusal("no-such-program") ==
        "exec: \"no-such-program\": executable file not found in $PATH"
    );
    CHECK(refusal("/no/such") == "exec: \"/no/such\": stat /no/such: no such file or directory");
    CHECK(refusal("./x") == "exec: \"./x\": stat ./x: no such file or directory");
    CHECK(refusal("/etc/passwd") == "exec: \"/etc/passwd\": permission denied");
    CHECK(refusal("/etc") == "exec: \"/etc\": is a directory");

    spec.process.argv = {"true"};
    spec.process.working_dir = "/etc/passwd/x";
    CHECK(
        refusal("true") ==
        "chdir to cwd (\"/etc/passwd/x\") set in config.json failed: not a directory"
    );
}

TEST_CASE("a signal ends a program, and is told") {
    machine m;
    const auto p = m.start(m.shell(
        m.make_sandbox(), "trap 'exit 9' TERM; echo ready; while :; do sleep 1000 & wait; done"
    ));
    CHECK(m.line(*p) == "ready");
    p->signal(SIGTERM);
    CHECK(m.await(p->wait()).code == 9);

    const auto q = m.start(m.shell(m.make_sandbox(), "echo ready; sleep 1000 & wait"));
    CHECK(m.line(*q) == "ready");
    q->kill();
    const exit_status killed = m.await(q->wait());
    CHECK(killed.code == 137);
    CHECK(killed.signal == SIGKILL);
    CHECK_FALSE(killed.oom_killed);
}

TEST_CASE("one more process runs in a container") {
    machine m;
    const sandbox box = m.make_sandbox("host-a");
    const auto p = m.start(m.shell(box, "echo made > /tmp/file; echo ready; sleep 1000 & wait"));
    CHECK(m.line(*p) == "ready");
    const auto q = m.start_beside(
        *p, script("cat /tmp/file; hostname; readlink /proc/1/ns/mnt /proc/self/ns/mnt; exit 3")
    );
    const outcome o = m.finish(*q);
    INFO(o.out << o.err);
    CHECK(o.out.find("made\nhost-a\n") == 0);
    CHECK(o.status.code == 3);
    CHECK(m.await(m.runtime().exec(*p, script("true"))).has_value());

    auto missing = m.await(m.runtime().exec(*p, [] {
        process_spec spec = script("");
        spec.argv = {"no-such"};
        return spec;
    }()));
    CHECK(missing.error().reason == "StartError");

    p->kill();
    m.await(p->wait());
    CHECK(
        m.await(m.runtime().exec(*p, script("true"))).error().message ==
        "the container is not running"
    );
}

}  // namespace
