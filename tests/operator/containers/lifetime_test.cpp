// SPDX-License-Identifier: Apache-2.0
//
// How containers and runtimes end, and what bounds them.
#include "containers/unix.hpp"
#include "machine.hpp"

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

namespace {

using namespace signalbox::op::containers;
using namespace signalbox::op::containers::test;

/// An argument for sleep that shows whether anything of this suite runs; other suites may run
/// beside it.
const std::string mark = fmt::format("77{:07}", ::getpid());

/// The text with the mark in place of each `MARK`.
std::string with_mark(std::string text) {
    for (std::size_t at = 0; (at = text.find("MARK")) != std::string::npos;) {
        text.replace(at, 4, mark);
    }
    return text;
}

/// Command lines of all processes of the machine.
std::string command_lines() {
    std::string out;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
        std::ifstream in(entry.path() / "cmdline");
        for (char c = 0; in.get(c);) {  // an iterator would throw where the process has ended
            out += c;
        }
        out += '\n';
    }
    return out;
}

bool has_shortcoming(machine& m, const std::string& words) {
    for (const std::string& each : m.runtime().shortcomings()) {
        if (each.find(words) != std::string::npos) {
            return true;
        }
    }
    return false;
}

TEST_CASE("a kill takes the whole tree, also what left its session and parent") {
    machine m;
    const auto p = m.start(m.shell(
        m.make_sandbox(),
        with_mark("(setsid sh -c 'sleep MARK & sleep MARK' &) ; (trap '' TERM HUP INT; sleep MARK) "
                  "& "
                  "while [ $(grep -sl ^sleep /proc/[0-9]*/comm | wc -l) -lt 3 ]; do :; done; "
                  "echo ready; wait")
    ));
    CHECK(m.line(*p) == "ready");
    const auto q = m.start_beside(*p, script(with_mark("echo too; sleep MARK & wait")));
    CHECK(m.line(*q) == "too");
    CHECK(command_lines().find(mark) != std::string::npos);
    p->kill();
    CHECK(m.await(p->wait()).code == 137);
    CHECK(m.await(q->wait()).code == 137);
    CHECK(command_lines().find(mark) == std::string::npos);
}

TEST_CASE("a process whose object goes is killed") {
    machine m;
    const sandbox box = m.make_sandbox();
    auto p = m.start(m.shell(box, with_mark("echo ready; sleep MARK & wait")));
    CHECK(m.line(*p) == "ready");
    auto q = m.start_beside(*p, script(with_mark("echo ready; exec sleep MARK")));
    CHECK(m.line(*q) == "ready");
    q.reset();
    // The container goes on, and sees the end of the process beside it.
    const outcome o = m.finish(*m.start_beside(
        *p,
        script("while [ $(grep -sl ^sleep /proc/[0-9]*/comm | wc -l) -gt 1 ]; do :; done; echo gone"
        )
    ));
    CHECK(o.out == "gone\n");
    p.reset();
    m.stop();
    CHECK(command_lines().find(mark) == std::string::npos);
}

TEST_CASE("orphans in a container are its first process's") {
    machine m;
    const outcome o =
        m.run(with_mark("sh -c '(sleep MARK; echo never) & exit 4'; echo $?; exec 1>&- 2>&-; exit 5"
        ));
    CHECK(o.out == "4\n");
    CHECK(o.status.code == 5);
    CHECK(command_lines().find(mark) == std::string::npos);
}

TEST_CASE("standard input is empty, or what is written") {
    machine m;
    CHECK(m.run("cat; echo end").out == "end\n");
    container_spec spec = m.shell(m.make_sandbox(), "cat; echo end");
    spec.process.input = true;
    const auto p = m.start(spec);
    const std::string text(300000, 'x');
    bool taken = false;
    m.spawn([](process& to, const std::string& all, bool& done) -> boost::asio::awaitable<void> {
        const bool written = co_await to.write(boost::asio::buffer(all));
        done = written;
        to.close_input();
    }(*p, text, taken));
    const outcome o = m.finish(*p);
    CHECK(taken);
    CHECK(o.out == text + "end\n");

    spec.process.argv = {"true"};
    const auto q = m.start(spec);
    m.await(q->wait());
    CHECK_FALSE(m.await(q->write(boost::asio::buffer(text))));
}

TEST_CASE("a program may have a terminal") {
    machine m;
    container_spec spec = m.shell(
        m.make_sandbox(),
        "tty; stty size; trap 'stty size; exit 6' WINCH; echo ready > /dev/tty; while :; do read "
        "x; done"
    );
    spec.process.terminal = true;
    spec.process.input = true;
    const auto p = m.start(spec);
    CHECK(m.line(*p) == "/dev/pts/0\r");
    CHECK(m.line(*p) == "0 0\r");
    CHECK(m.line(*p) == "ready\r");
    p->resize(120, 40);
    const outcome o = m.finish(*p);
    CHECK(o.out.find("40 120\r\n") != std::string::npos);
    CHECK(o.status.code == 6);

    const auto q = m.start(m.shell(m.make_sandbox(), "echo ready; sleep 1000 & wait"));
    CHECK(m.line(*q) == "ready");
    process_spec beside =
        script("tty; trap 'echo interrupted; exit 8' INT; echo ready; while :; do read x; done");
    beside.terminal = true;
    const auto r = m.start_beside(*q, beside);
    CHECK(m.line(*r) == "/dev/pts/0\r");
    CHECK(m.line(*r) == "ready\r");
    CHECK(m.await(r->write(boost::asio::buffer("\x03", 1))));
    CHECK(m.finish(*r).status.code == 8);
}

TEST_CASE("a container that forks without end ends alone") {
    machine m;
    container_spec spec = m.shell(
        m.make_sandbox(), "i=0; while [ $i -lt 300 ]; do sleep 1000 & i=$((i+1)); done; echo $i"
    );
    spec.bounds.processes = 50;
    const outcome o = m.run(spec);
    if (has_shortcoming(m, "limits of processes do not hold")) {
        CHECK(o.out == "300\n");
        return;
    }
    CHECK(o.err.find("Cannot fork") != std::string::npos);
    CHECK(o.status.code == 2);
    // Another container has a count of its own.
    spec.process = script("i=0; while [ $i -lt 40 ]; do sleep 1000 & i=$((i+1)); done; echo $i");
    const auto a = m.start(spec);
    const auto b = m.start([&] {
        container_spec other = spec;
        other.root.changes += "-b";
        return other;
    }());
    CHECK(m.line(*a) == "40");
    CHECK(m.line(*b) == "40");
}

TEST_CASE("a container that takes more memory than its limit is killed, and that is told") {
    machine m;
    if (has_shortcoming(m, "memory limits do not hold")) {
        WARN("no memory limits here");
        CHECK(m.run("true").status.code == 0);
        return;
    }
    container_spec spec =
        m.shell(m.make_sandbox(), "exec perl -e 'my $x = \"x\" x (200 << 20); print length $x'");
    CHECK(m.run(spec).out == std::to_string(200 << 20));
    spec.bounds.memory = 64 << 20;
    const outcome o = m.run(spec);
    CHECK(o.out.empty());
    CHECK(o.status.code == 137);
    CHECK(o.status.oom_killed);
}

TEST_CASE("a gigabyte of output is held back while no one reads") {
    machine m;
    const auto p = m.start(m.shell(m.make_sandbox(), "head -c 1073741824 /dev/zero; echo end >&2"));
    std::string buffer(1 << 20, '\0');
    std::size_t total = m.await(p->read(output_stream::out, boost::asio::buffer(buffer)));
    const auto resident = [] {
        long pages = 0;
        std::ifstream statm("/proc/self/statm");
        statm >> pages >> pages;
        return pages * ::sysconf(_SC_PAGESIZE);
    };
    const long before = resident();
    // While no one reads others run, and the writer is not through.
    CHECK(m.run("echo other").out == "other\n");
    for (;;) {
        const std::size_t size = m.await(p->read(output_stream::out, boost::asio::buffer(buffer)));
        if (size == 0) {
            break;
        }
        total += size;
    }
    CHECK(total == 1073741824);
    CHECK(resident() - before < (128 << 20));
    CHECK(m.await(p->wait()).code == 0);
}

TEST_CASE("200 containers run at once") {
    machine m;
    const scratch_folder image;  // with few folders, as the machine's disk is not what is tested
    std::filesystem::create_directories(image.path() + "/usr");
    for (const char* link : {"bin", "lib", "lib64"}) {
        std::filesystem::create_symlink(std::string("usr/") + link, image.path() + "/" + link);
    }
    constexpr int count = 200;
    std::vector<std::unique_ptr<process>> all(count);
    int failures = 0;
    int open = count;
    const auto one = [&](int at) -> boost::asio::awaitable<void> {
        sandbox_spec named;
        named.hostname = "pod-" + std::to_string(at);
        auto box = co_await m.runtime().make_sandbox(named);
        container_spec spec = m.shell(box.value(), "hostname; exec sleep 1000");
        spec.root.image = image.path();
        spec.mounts.resize(1);
        spec.mounts[0].source = "/usr";
        spec.mounts[0].target = "/usr";
        auto started = co_await m.runtime().run(spec);
        failures += started ? 0 : 1;
        if (started) {
            all[static_cast<std::size_t>(at)] = std::move(*started);
        }
        --open;
    };
    for (int i = 0; i < count; ++i) {
        m.spawn(one(i));
    }
    m.run_until([&] { return open == 0; });
    REQUIRE(failures == 0);
    for (int i = 0; i < count; ++i) {
        CHECK(m.line(*all[static_cast<std::size_t>(i)]) == "pod-" + std::to_string(i));
    }
    for (const auto& each : all) {
        each->kill();
    }
    for (const auto& each : all) {
        CHECK(m.await(each->wait()).code == 137);
    }
}

TEST_CASE("a program has the capabilities that it is given, and gains no others if it must not") {
    machine m;
    const sandbox box = m.make_sandbox();
    const std::string shown = "grep -E 'CapBnd|CapEff|NoNewPrivs' /proc/self/status";
    container_spec spec = m.shell(box, shown);
    spec.process.as.user = 0;
    spec.process.as.group = 0;
    const auto status = [](const std::string& capabilities, const char* gains) {
        return "CapEff:\t" + capabilities + "\nCapBnd:\t" + capabilities + "\nNoNewPrivs:\t" +
               gains + "\n";
    };
    CHECK(m.run(spec).out == status("00000000a00425fb", "0"));
    spec.process.capabilities = 0;
    spec.process.may_gain = false;
    CHECK(m.run(spec).out == status("0000000000000000", "1"));
    spec.process.capabilities = 1U << CAP_KILL;
    CHECK(m.run(spec).out == status("0000000000000020", "1"));
    // One more program there has no more.
    spec.process.argv.back() = "exec sleep 1000";
    const auto first = m.start(spec);
    process_spec beside = spec.process;
    beside.argv.back() = shown;
    const auto second = m.start_beside(*first, beside);
    CHECK(m.finish(*second).out == status("0000000000000020", "1"));
    first->kill();
}

TEST_CASE("a program whose system calls are bounded reaches nothing beyond its container") {
    machine m;
    const sandbox box = m.make_sandbox();
    // In a thread: the C library asks for clone3 first, and takes clone where there is none.
    container_spec spec = m.shell(box, R"(exec python3 -B -c '
import ctypes, errno, os, platform, threading
clone, clone3 = 56 if platform.machine() == "x86_64" else 220, 435
kcmp = 312 if platform.machine() == "x86_64" else 272
c = ctypes.CDLL(None, use_errno=True)
def shown(given):
    return "ok" if given >= 0 else errno.errorcode[ctypes.get_errno()]
def tell():
    print(shown(c.unshare(0x20000)), shown(c.chroot(b"/")), shown(c.umount2(b"/", 0)))
    print(shown(c.personality(0xffffffff)), shown(c.personality(0x40000)))
    print(shown(c.socket(2, 1, 0)), shown(c.socket(38, 5, 0)), shown(c.socket(40, 1, 0)))
    print(shown(c.syscall(451, -1, 0, 0, 1)))
    print(open("/proc/self/status").read().split("NoNewPrivs:\t")[1][0])
    print(shown(c.syscall(clone, 0x10000011, 0, 0, 0, 0)), shown(c.syscall(clone3, 0, 0)))
    print(shown(c.syscall(kcmp, os.getpid(), os.getpid(), 0, 0, 0)))  # of itself a kernel allows it
thread = threading.Thread(target=tell)
thread.start()
thread.join()
')");
    spec.process.as.user = 0;
    spec.process.as.group = 0;
    spec.process.bounded_calls = true;
    const auto rest = [](char gains_nothing) {
        return std::string("ok ENOSYS\nok EPERM EPERM\nENOSYS\n") + gains_nothing +
               "\nEPERM ENOSYS\nEPERM\n";
    };
    CHECK(m.run(spec).out == "EPERM ok EPERM\n" + rest('0'));
    spec.process.capabilities = 0;
    CHECK(m.run(spec).out == "EPERM EPERM EPERM\n" + rest('0'));
    spec.process.may_gain = false;
    CHECK(m.run(spec).out == "EPERM EPERM EPERM\n" + rest('1'));
    spec.process.as.user = 2000;
    CHECK(m.run(spec).out == "EPERM EPERM EPERM\n" + rest('1'));
    spec.process.may_gain = true;
    CHECK(m.run(spec).out == "EPERM EPERM EPERM\n" + rest('0'));
}

TEST_CASE("programs run as who is asked for, without rights over the machine") {
    machine m;
    const sandbox box = m.make_sandbox();
    container_spec spec =
        m.shell(box, "id -u; id -g; grep CapEff /proc/self/status; echo x > /dev/stdout");
    spec.process.as.user = 2000;
    spec.process.as.group = 3000;
    CHECK(m.run(spec).out == "2000\n3000\nCapEff:\t0000000000000000\nx\n");
    spec.process.as = {};
    const outcome as_runtime = m.run(spec);
    CHECK(
        as_runtime.out.find(
            std::to_string(::geteuid()) + "\n" + std::to_string(::getegid()) + "\n"
        ) == 0
    );
    spec.process = script(
        "id -u; mount -t tmpfs none /mnt; mknod /tmp/disk b 254 0; ip link set lo down 2>&1; cat "
        "/proc/kcore"
    );
    spec.process.as.user = 0;
    spec.process.as.group = 0;
    const outcome as_root = m.run(spec);
    CHECK(as_root.out.find("0\n") == 0);
    CHECK(as_root.err.find("mount: ") != std::string::npos);
    CHECK(as_root.err.find("mknod: ") != std::string::npos);
    if (::geteuid() == 0) {
        spec.process = script("id -G; chown 5:5 /tmp && stat -c %u /tmp");
        spec.process.as = {0, 7, {8, 9}};
        CHECK(m.run(spec).out == "7 8 9\n5\n");
    }
}

TEST_CASE(
    "a main process that is killed leaves no process and no mount, and its folder goes with the "
    "next start"
) {
    const scratch_folder base;
    local_options options;
    options.folder = base.path() + "/runtime";
    // What the dying one leaves comes to us, so that its end can be waited for.
    REQUIRE(::prctl(PR_SET_CHILD_SUBREAPER, 1) == 0);
    int ready[2];
    REQUIRE(::pipe2(ready, O_CLOEXEC) == 0);
    const pid_t main_process = ::fork();
    if (main_process == 0) {
        machine m(options);
        const auto p = m.start(m.shell(
            m.make_sandbox(), with_mark("trap '' TERM; setsid sleep MARK & echo ready; wait")
        ));
        const std::string said = m.line(*p) + m.folder() + "\n";
        [[maybe_unused]] const ssize_t size = ::write(ready[1], said.data(), said.size());
        ::raise(SIGKILL);
    }
    std::string said(4096, '\0');
    const ssize_t size = ::read(ready[0], said.data(), said.size());
    REQUIRE(size > 6);
    const std::string inner = said.substr(5, static_cast<std::size_t>(size) - 6);
    while (::wait(nullptr) > 0) {
    }
    ::prctl(PR_SET_CHILD_SUBREAPER, 0);
    ::close(ready[0]);
    ::close(ready[1]);
    CHECK(command_lines().find(mark) == std::string::npos);
    CHECK(read_text("/proc/self/mountinfo")->find(base.path()) == std::string::npos);
    CHECK(read_text("/proc/net/dev")->find("signalbox0") == std::string::npos);

    const auto folders = [&] {
        std::vector<std::string> out;
        for (const auto& entry : std::filesystem::directory_iterator(options.folder)) {
            if (entry.is_directory()) {
                out.push_back(entry.path());
            }
        }
        return out;
    };
    const std::vector<std::string> left = folders();
    REQUIRE(left.size() == 1);
    machine living(options);
    living.await(living.runtime().remove_files(left[0]));  // returns when it is gone
    machine other(options);                                // does not touch that of a living one
    CHECK(folders().size() == 2);
    CHECK(std::filesystem::exists(living.runtime().folder()));
    CHECK(living.run("echo alive").out == "alive\n");
    remove_tree(inner);
}

/// Why there is no runtime in a process of its own that has done `first`.
std::string refusal_after(bool (*first)()) {
    int ends[2];
    REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
    const pid_t child = ::fork();
    if (child == 0) {
        std::string said = "cannot be tried";
        if (first()) {
            try {
                machine m;
                said = "there is one";
            } catch (const std::exception& refused) {
                said = refused.what();
            }
        }
        [[maybe_unused]] const ssize_t size = ::write(ends[1], said.data(), said.size());
        ::_exit(0);
    }
    ::close(ends[1]);
    std::string said(4096, '\0');
    const ssize_t size = ::read(ends[0], said.data(), said.size());
    ::close(ends[0]);
    ::waitpid(child, nullptr, 0);
    return said.substr(0, static_cast<std::size_t>(size));
}

TEST_CASE("where namespaces are not allowed the refusal says what is missing") {
    const std::string no_more = refusal_after([] {
        const std::string user = "0 " + std::to_string(::geteuid()) + " 1";
        return ::unshare(CLONE_NEWUSER) == 0 && write_text("/proc/self/uid_map", user) == 0 &&
               write_text("/proc/sys/user/max_user_namespaces", "0") == 0;
    });
    CHECK(
        no_more.find("NoNamespaces: cannot make namespaces: no space left on device; "
                     "/proc/sys/user/max_user_namespaces is 0") == 0
    );
    if (::geteuid() == 0) {
        const std::string no_right = refusal_after([] {
            __user_cap_header_struct version = {_LINUX_CAPABILITY_VERSION_3, 0};
            __user_cap_data_struct none[2] = {};
            none[0].effective = none[0].permitted = 1U << CAP_DAC_OVERRIDE;
            return ::syscall(SYS_capset, &version, none) == 0;
        });
        CHECK(
            no_right ==
            "NoNamespaces: cannot make namespaces: operation not permitted; root has no "
            "CAP_SYS_ADMIN here, as in most containers"
        );
    }
}

TEST_CASE("Ctrl-C at the terminal of the runtime does not reach containers") {
    machine m;
    const outcome o = m.run("ps -o pid=,sid=,pgid= -p $$ | tr -s ' '");
    CHECK(o.out.find("1 1 1") != std::string::npos);
}

}  // namespace
