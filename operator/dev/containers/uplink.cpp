// SPDX-License-Identifier: Apache-2.0
#include "containers/uplink.hpp"

#include <fmt/format.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <utility>

#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

namespace signalbox::op::containers {

namespace {

constexpr int exit_fd = 3;
constexpr int ready_fd = 4;
constexpr int network_fd = 5;

/// The errno of a failure, or 0 and the process.
int spawn_slirp(pid_t node, int network, int life, int ready, pid_t& child) {
    // Not that of the process's files: it is in other networks for moments.
    const std::string target = fmt::format("/proc/self/fd/{}", network_fd);
    const std::string users = fmt::format("--userns-path=/proc/{}/ns/user", node);
    const std::string exit_option = fmt::format("--exit-fd={}", exit_fd);
    const std::string ready_option = fmt::format("--ready-fd={}", ready_fd);
    const char* const argv[] = {
        "slirp4netns",
        "--configure",
        "--mtu=65520",
        "--disable-host-loopback",
        "--enable-sandbox",
        "--enable-seccomp",
        exit_option.c_str(),
        ready_option.c_str(),
        "--netns-type=path",
        users.c_str(),
        target.c_str(),
        uplink_name,
        nullptr};
    // Far from the numbers that the program is to find.
    const unique_fd high_life(::fcntl(life, F_DUPFD_CLOEXEC, network_fd + 1));
    const unique_fd high_ready(::fcntl(ready, F_DUPFD_CLOEXEC, network_fd + 1));
    const unique_fd high_network(::fcntl(network, F_DUPFD_CLOEXEC, network_fd + 1));
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDWR, 0);
    posix_spawn_file_actions_adddup2(&actions, 0, 1);
    posix_spawn_file_actions_adddup2(&actions, 0, 2);
    posix_spawn_file_actions_adddup2(&actions, high_life.get(), exit_fd);
    posix_spawn_file_actions_adddup2(&actions, high_ready.get(), ready_fd);
    posix_spawn_file_actions_adddup2(&actions, high_network.get(), network_fd);
    posix_spawn_file_actions_addclosefrom_np(&actions, network_fd + 1);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes, &none);
    // Of its own session: Ctrl-C is for the main process, which still needs it for a moment.
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK);
    const int failed = ::posix_spawnp(
        &child, argv[0], &actions, &attributes, const_cast<char* const*>(argv), environ
    );
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return failed;
}

}  // namespace

uplink::uplink(boost::asio::any_io_executor executor)
    : ready_(executor), state_(std::make_shared<state>(executor)) {}

uplink::~uplink() {
    stop();
}

void uplink::start(pid_t node, std::shared_ptr<node_link> link) {
    const auto fail = [kept = state_](const std::string& why) {
        kept->trouble = "containers do not reach beyond each other: " + why;
        kept->decided.set();
    };
    const unique_fd device(::open("/dev/net/tun", O_RDWR | O_CLOEXEC));
    if (!device) {
        fail("cannot open /dev/net/tun: " + error_words(errno));
        return;
    }
    int life[2] = {-1, -1};
    int ready[2] = {-1, -1};
    if (::pipe2(life, O_CLOEXEC) != 0 || ::pipe2(ready, O_CLOEXEC) != 0) {
        fail(error_words(errno));
        return;
    }
    const unique_fd its_life(life[0]);
    const unique_fd its_ready(ready[1]);
    life_.reset(life[1]);
    ready_.assign(ready[0]);
    if (const int failed =
            spawn_slirp(node, link->network.get(), its_life.get(), its_ready.get(), pid_);
        failed != 0) {
        pid_ = 0;
        fail("cannot start slirp4netns (of the package of that name): " + error_words(failed));
        return;
    }
    ready_.async_wait(
        boost::asio::posix::stream_descriptor::wait_read,
        [kept = state_, link, fail, from = ready_.native_handle()](boost::system::error_code failed
        ) {
            char byte = 0;
            if (!failed && ::read(from, &byte, 1) != 1) {
                fail("slirp4netns has ended");
            } else {
                link->tell(uplink_request{});
            }
            kept->decided.set();
        }
    );
}

void uplink::stop() {
    life_.reset();
    boost::system::error_code ignored;
    ready_.close(ignored);
    state_->decided.set();
    if (pid_ > 0) {
        ::kill(pid_, SIGKILL);
        ::waitpid(std::exchange(pid_, 0), nullptr, 0);
    }
}

boost::asio::awaitable<void> uplink::decided() {
    const std::shared_ptr<state> kept = state_;
    co_await kept->decided.wait();
}

}  // namespace signalbox::op::containers
