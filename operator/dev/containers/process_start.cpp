// SPDX-License-Identifier: Apache-2.0
#include "containers/process_start.hpp"

#include "containers/root_filesystem.hpp"
#include "containers/system_calls.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <string_view>

#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <termios.h>
#include <unistd.h>

namespace signalbox::op::containers {

namespace {

constexpr std::string_view default_path =
    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Nothing of the node process may show: signals, files, mask.
void forget_parent(const start_resources& resources, start_report& report) {
    ::setsid();  // Ctrl-C at the runtime's terminal is not meant for containers
    ::umask(022);
    for (int number = 1; number < NSIG; ++number) {
        ::signal(number, SIG_DFL);
    }
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    rlimit files = {};
    ::getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = std::min<rlim_t>(files.rlim_max, resources.node->open_files);
    ::setrlimit(RLIMIT_NOFILE, &files);
    for (const unique_fd& group : *resources.groups) {
        // 0 stands for the process that writes it.
        if (::write(group.get(), "0", 1) != 1) {
            report.cannot_create("enter its control group", errno);
        }
    }
}

void take_terminal(const identity& as, const start_resources& resources, start_report& report) {
    const unique_fd master(::open("/dev/pts/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC));
    int locked = 0;
    if (!master || ::ioctl(master.get(), TIOCSPTLCK, &locked) != 0) {
        report.cannot_create("make a terminal", errno);
    }
    const int slave = ::ioctl(master.get(), TIOCGPTPEER, O_RDWR | O_NOCTTY);
    if (slave < 0) {
        report.cannot_create("open a terminal", errno);
    }
    const std::uint32_t owner = resources.first_id + as.user.value_or(0);
    if (!resources.node->user_mode && ::fchown(slave, owner, static_cast<gid_t>(-1)) != 0) {
        report.cannot_create("hand over the terminal", errno);
    }
    report.terminal(master.get());
    ::ioctl(slave, TIOCSCTTY, 0);
    for (int fd = 0; fd <= 2; ++fd) {
        ::dup2(slave, fd);
    }
    if (slave > 2) {
        ::close(slave);
    }
}

void take_pipes(const process_spec& spec, const start_resources& resources, start_report& report) {
    std::vector<unique_fd>& given = *resources.stdio;
    unique_fd empty;
    if (!spec.input) {
        empty.reset(::open("/dev/null", O_RDWR | O_CLOEXEC));
    }
    const std::size_t first = spec.input ? 0 : 1;
    if (given.size() + first != 3 || (!spec.input && !empty)) {
        report.cannot_create("open standard input", empty ? EPROTO : errno);
    }
    for (int fd = 0; fd <= 2; ++fd) {
        const auto at = static_cast<std::size_t>(fd);
        const int from = at < first ? empty.get() : given[at - first].get();
        // So that the user whom the program runs as can open /dev/stdout.
        const std::uint32_t owner = resources.first_id + spec.as.user.value_or(0);
        if (!resources.node->user_mode && owner != 0 && at >= first &&
            ::fchown(from, owner, static_cast<gid_t>(-1)) != 0) {
            report.cannot_create("hand over a pipe", errno);
        }
        ::dup2(from, fd);
    }
}

/// What a program can never have here, whatever it becomes.
void drop_capabilities(std::uint64_t kept) {
    for (int capability = 0; ::prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; ++capability) {
        if (capability >= 64 || ((kept >> static_cast<unsigned>(capability)) & 1U) == 0) {
            ::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
        }
    }
}

void limit_processes(std::uint32_t most) {
    if (most > 0) {
        const rlimit bound{most, most};
        ::setrlimit(RLIMIT_NPROC, &bound);
    }
}

/// A user namespace in which the caller has the ids that the container asks for, and no others: the
/// kernel lets an ordinary user map no more than himself.
void take_identity_as_user(
    const identity& as, const start_resources& resources, start_report& report
) {
    if (::unshare(CLONE_NEWUSER) != 0) {
        report.cannot_create("make a user namespace", errno);
    }
    const std::uint32_t user = as.user.value_or(resources.node->user);
    const std::uint32_t group = as.group.value_or(resources.node->group);
    write_text("/proc/self/setgroups", "deny");
    int failed = write_text("/proc/self/uid_map", fmt::format("{} 0 1", user));
    failed = failed == 0 ? write_text("/proc/self/gid_map", fmt::format("{} 0 1", group)) : failed;
    if (failed != 0) {
        report.cannot_create(fmt::format("become user {} and group {}", user, group), failed);
    }
}

void take_identity_as_root(
    const identity& as, const start_resources& resources, start_report& report
) {
    const std::uint32_t user = as.user.value_or(resources.node->user);
    const std::uint32_t group = as.group.value_or(resources.node->group);
    if (::setgroups(as.groups.size(), as.groups.data()) != 0 ||
        ::setresgid(group, group, group) != 0 || ::setresuid(user, user, user) != 0) {
        report.cannot_create(fmt::format("become user {} and group {}", user, group), errno);
    }
}

/// A file that may be executed; 0 or an errno.
int executable(const std::string& path) {
    struct stat is = {};
    if (::stat(path.c_str(), &is) != 0) {
        return errno;
    }
    if (S_ISDIR(is.st_mode)) {
        return EISDIR;
    }
    return ::faccessat(AT_FDCWD, path.c_str(), X_OK, AT_EACCESS) == 0 ? 0 : errno;
}

/// As Go's exec.LookPath, whose messages runc passes on.
std::string find_program(const process_spec& spec, start_report& report) {
    const std::string& name = spec.argv.front();
    if (name.find('/') != std::string::npos) {
        const int failed = executable(name);
        if (failed == ENOENT || failed == ENOTDIR) {
            report.fail(
                "StartError",
                fmt::format("exec: \"{}\": stat {}: {}", name, name, error_words(failed))
            );
        }
        if (failed != 0) {
            report.fail("StartError", fmt::format("exec: \"{}\": {}", name, error_words(failed)));
        }
        return name;
    }
    std::string_view folders = default_path;
    for (const std::string& entry : spec.env) {
        if (entry.compare(0, 5, "PATH=") == 0) {
            folders = std::string_view(entry).substr(5);
            break;
        }
    }
    while (!name.empty()) {
        const std::size_t end = folders.find(':');
        const std::string_view folder = folders.substr(0, end);
        const std::string path = fmt::format("{}/{}", folder.empty() ? "." : folder, name);
        if (executable(path) == 0) {
            return path;
        }
        if (end == std::string_view::npos) {
            break;
        }
        folders.remove_prefix(end + 1);
    }
    report.fail(
        "StartError", fmt::format("exec: \"{}\": executable file not found in $PATH", name)
    );
}

std::vector<char*> c_strings(const std::vector<std::string>& texts) {
    std::vector<char*> out;
    for (const std::string& each : texts) {
        out.push_back(const_cast<char*>(each.c_str()));
    }
    out.push_back(nullptr);
    return out;
}

[[noreturn]] void become_program(
    const process_spec& spec, const start_resources& resources, start_report& report
) {
    drop_capabilities(spec.capabilities);
    // Before the user changes: the kernel asks for CAP_SYS_ADMIN where the program may gain rights.
    const int unbounded =
        spec.bounded_calls ? bound_system_calls(spec.capabilities, spec.may_gain) : 0;
    if (unbounded != 0) {
        report.fail("StartError", fmt::format("bound system calls: {}", error_words(unbounded)));
    }
    if (!resources.node->user_mode) {
        take_identity_as_root(spec.as, resources, report);
    }
    if (::chdir(spec.working_dir.c_str()) != 0) {
        report.fail(
            "StartError",
            fmt::format(
                "chdir to cwd (\"{}\") set in config.json failed: {}",
                spec.working_dir,
                error_words(errno)
            )
        );
    }
    if (resources.node->user_mode) {
        // Limits of processes count for each user namespace apart.
        limit_processes(resources.processes);
    }
    const std::string program = find_program(spec, report);
    const std::vector<char*> argv = c_strings(spec.argv);
    const std::vector<char*> env = c_strings(spec.env);
    if (!spec.may_gain && ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
        report.fail("StartError", fmt::format("set no new privileges: {}", error_words(errno)));
    }
    ::close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
    report.ready();
    ::execve(program.c_str(), argv.data(), env.data());
    report.fail("StartError", fmt::format("exec {}: {}", program, error_words(errno)));
}

}  // namespace

void start_container(
    const container_spec& spec,
    const sandbox_namespaces& in,
    const start_resources& resources,
    start_report& report
) {
    forget_parent(resources, report);
    const node_config& node = *resources.node;
    if (::setns(in.network.get(), CLONE_NEWNET) != 0 ||
        ::setns(in.host_name.get(), CLONE_NEWUTS) != 0 ||
        ::setns(in.ipc.get(), CLONE_NEWIPC) != 0 || ::unshare(CLONE_NEWNS) != 0) {
        report.cannot_create("enter the sandbox", errno);
    }
    root_plan plan;
    plan.files = spec.root;
    plan.mounts = spec.mounts;
    plan.working_dir = spec.process.working_dir;
    plan.hidden = node.folder.substr(0, node.folder.find_last_of('/'));
    plan.users = in.users.get();
    plan.first_id = in.first_id;
    enter_root(plan, report);
    if (spec.process.terminal) {
        take_terminal(spec.process.as, resources, report);
    } else {
        take_pipes(spec.process, resources, report);
    }
    if (node.user_mode) {
        take_identity_as_user(spec.process.as, resources, report);
    } else if (in.users && ::setns(in.users.get(), CLONE_NEWUSER) != 0) {
        report.cannot_create("enter the sandbox's users", errno);
    }
    become_program(spec.process, resources, report);
}

void start_beside(
    const process_spec& spec, int first, const start_resources& resources, start_report& report
) {
    forget_parent(resources, report);
    const bool user_mode = resources.node->user_mode;
    constexpr int kinds = CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWUTS | CLONE_NEWIPC;
    if (::setns(first, kinds) != 0) {
        report.fail("StartError", "the container is not running");
    }
    if (spec.terminal) {
        take_terminal(spec.as, resources, report);
    } else {
        take_pipes(spec, resources, report);
    }
    if ((user_mode || resources.first_id != 0) && ::setns(first, CLONE_NEWUSER) != 0) {
        report.fail("StartError", "the container is not running");
    }
    become_program(spec, resources, report);
}

}  // namespace signalbox::op::containers
