// SPDX-License-Identifier: Apache-2.0
#include "containers/node_launch.hpp"

#include "containers/node_process.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <linux/sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <sstream>

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

namespace signalbox::op::containers {

namespace {

container_error refused(const std::string& what, int number, bool user_mode) {
    std::string why = fmt::format("cannot {}: {}", what, error_words(number));
    if (user_mode) {
        for (const auto& [file, forbids] :
             {std::pair{"/proc/sys/kernel/unprivileged_userns_clone", '0'},
              std::pair{"/proc/sys/user/max_user_namespaces", '0'},
              std::pair{"/proc/sys/kernel/apparmor_restrict_unprivileged_userns", '1'}}) {
            const std::string value = read_text(file).value_or("");
            if (value.size() == 2 && value[0] == forbids) {
                why += fmt::format(
                    "; {} is {}, so ordinary users may not make namespaces", file, forbids
                );
            }
        }
    }
    if (!user_mode && number == EPERM) {
        why += "; root has no CAP_SYS_ADMIN here, as in most containers";
    }
    return {"NoNamespaces", why};
}

/// In the namespace an ordinary user is root, and there is no other user.
int map_user(pid_t pid) {
    const std::string folder = fmt::format("/proc/{}", pid);
    int failed = write_text(folder + "/setgroups", "deny");
    failed =
        failed == 0 ? write_text(folder + "/uid_map", fmt::format("0 {} 1", ::geteuid())) : failed;
    return failed == 0 ? write_text(folder + "/gid_map", fmt::format("0 {} 1", ::getegid()))
                       : failed;
}

}  // namespace

result<launched_node> launch_node(bool user_mode) {
    const unique_fd program(::open("/proc/self/exe", O_PATH | O_CLOEXEC));
    const unique_fd nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
    int ends[2] = {-1, -1};
    int gate[2] = {-1, -1};
    if (!program || !nothing ||
        ::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0 ||
        ::pipe2(gate, O_CLOEXEC) != 0) {
        return refused("start the node process", errno, user_mode);
    }
    launched_node node;
    node.socket.reset(ends[0]);
    const unique_fd there(ends[1]);
    unique_fd wait_here(gate[0]);
    unique_fd open_gate(gate[1]);
    std::array<char, 16> number{};
    std::snprintf(number.data(), number.size(), "%d", there.get());
    char* const argv[] = {const_cast<char*>(node_process_name), number.data(), nullptr};

    // Not fork(): the namespaces begin with the process. The child makes system calls only, as
    // other threads may hold locks.
    clone_args how = {};
    int pidfd = -1;
    how.flags = CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWUTS | CLONE_NEWIPC |
                CLONE_PIDFD | (user_mode ? CLONE_NEWUSER : 0);
    how.pidfd = reinterpret_cast<std::uint64_t>(&pidfd);
    how.exit_signal = SIGCHLD;
    const auto pid = static_cast<pid_t>(::syscall(SYS_clone3, &how, sizeof how));
    if (pid == 0) {
        ::close(open_gate.get());
        char byte = 0;
        if (::read(wait_here.get(), &byte, 1) != 1) {
            ::_exit(1);
        }
        ::dup2(nothing.get(), 0);
        ::dup2(nothing.get(), 1);
        ::fcntl(there.get(), F_SETFD, 0);
        sigset_t none;
        sigemptyset(&none);
        ::sigprocmask(SIG_SETMASK, &none, nullptr);
        ::syscall(SYS_execveat, program.get(), "", argv, environ, AT_EMPTY_PATH);
        ::_exit(1);
    }
    if (pid < 0) {
        return refused("make namespaces", errno, user_mode);
    }
    node.pid = pid;
    node.pidfd.reset(pidfd);
    wait_here.reset();
    if (const int failed = user_mode ? map_user(pid) : 0; failed != 0) {
        open_gate.reset();  // it ends
        ::waitpid(pid, nullptr, 0);
        return refused("map a user into a namespace", failed, user_mode);
    }
    [[maybe_unused]] const ssize_t opened = ::write(open_gate.get(), "g", 1);
    return node;
}

std::string free_network() {
    struct route {
        std::uint32_t to, mask;
    };
    std::vector<route> routes;
    std::istringstream table(read_text("/proc/net/route").value_or(""));
    std::string line;
    std::getline(table, line);
    while (std::getline(table, line)) {
        unsigned to = 0;
        unsigned mask = 0;
        if (std::sscanf(line.c_str(), "%*s %x %*x %*x %*d %*d %*d %x", &to, &mask) == 2 &&
            mask != 0) {
            routes.push_back({ntohl(to), ntohl(mask)});
        }
    }
    constexpr std::uint32_t prefix = 0xffff0000;
    for (std::uint32_t second = 244; second > 128; --second) {
        const std::uint32_t network = 10U << 24 | second << 16;
        bool taken = false;
        for (const route& each : routes) {
            taken = taken || ((each.to ^ network) & each.mask & prefix) == 0;
        }
        if (!taken) {
            return fmt::format("10.{}", second);
        }
    }
    return "192.168";
}

}  // namespace signalbox::op::containers
