// SPDX-License-Identifier: Apache-2.0
#include "containers/user_namespace.hpp"

#include <fmt/format.h>
#include <sys/wait.h>

#include <cerrno>
#include <climits>
#include <string>

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

namespace signalbox::op::containers {

namespace {

/// Holds a new user namespace until `gate` is closed; tells its number as /proc has it, which is
/// mounted for another PID namespace perhaps.
[[noreturn]] void hold_namespace(int tell, int gate) {
    char number[32];
    const ssize_t size = ::readlink("/proc/self", number, sizeof number);
    const bool good = size > 0 && ::unshare(CLONE_NEWUSER) == 0 &&
                      ::write(tell, number, static_cast<std::size_t>(size)) == size;
    char closed = 0;
    may_fail(static_cast<int>(good ? ::read(gate, &closed, 1) : 0));
    ::_exit(good ? 0 : 1);
}

}  // namespace

unique_fd make_user_namespace(std::uint32_t first) {
    int told[2] = {-1, -1};
    int gate[2] = {-1, -1};
    if (::pipe2(told, O_CLOEXEC) != 0) {
        return {};
    }
    const unique_fd heard(told[0]);
    unique_fd tell(told[1]);
    if (::pipe2(gate, O_CLOEXEC) != 0) {
        return {};
    }
    const unique_fd held(gate[0]);
    unique_fd release(gate[1]);
    const pid_t child = ::fork();
    if (child == 0) {
        release.reset();
        hold_namespace(tell.get(), held.get());
    }
    tell.reset();
    char number[32];
    const ssize_t size = child > 0 ? ::read(heard.get(), number, sizeof number) : -1;
    unique_fd made;
    int failed = size > 0 ? 0 : child > 0 ? EPERM : errno;
    if (size > 0) {
        const std::string of = "/proc/" + std::string(number, static_cast<std::size_t>(size));
        const std::string map = fmt::format("0 {} {}", first, ids_of_a_pod);
        failed = write_text(of + "/uid_map", map);
        failed = failed == 0 ? write_text(of + "/gid_map", map) : failed;
        made.reset(failed == 0 ? ::open((of + "/ns/user").c_str(), O_RDONLY | O_CLOEXEC) : -1);
        failed = failed == 0 && !made ? errno : failed;
    }
    release.reset();
    if (child > 0) {
        ::waitpid(child, nullptr, 0);
    }
    errno = failed;
    return made;
}

}  // namespace signalbox::op::containers
