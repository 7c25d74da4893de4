// SPDX-License-Identifier: Apache-2.0
#include "containers/start_report.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <unistd.h>

namespace signalbox::op::containers {

namespace {

// The first byte of a message from child to node process.
constexpr char says_failed = 'f';  // reason, NUL, message
constexpr char says_terminal = 't';
constexpr char says_ready = 'r';

}  // namespace

void start_report::fail(const std::string& reason, const std::string& text) {
    message failure;
    failure.bytes = says_failed + reason + '\0' + text;
    socket_.send(std::move(failure));
    ::_exit(1);
}

void start_report::cannot_create(const std::string& what, int number) {
    fail("CreateContainerError", fmt::format("cannot {}: {}", what, error_words(number)));
}

void start_report::terminal(int fd) {
    message master;
    master.bytes = says_terminal;
    master.fds.emplace_back(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
    socket_.send(std::move(master));
}

void start_report::ready() {
    message all_made;
    all_made.bytes = says_ready;
    socket_.send(std::move(all_made));
}

bool start_watch::read() {
    message got;
    for (;;) {
        const message_socket::state state = socket_.receive(got);
        if (state == message_socket::state::nothing) {
            return false;
        }
        if (state == message_socket::state::closed) {
            if (!ready_ && !error_) {
                error_ = container_error{
                    "CreateContainerError", "the container was killed while it was made"};
            }
            return true;
        }
        const char kind = got.bytes.empty() ? '\0' : got.bytes.front();
        if (kind == says_ready) {
            ready_ = true;
        } else if (kind == says_terminal && !got.fds.empty()) {
            terminal_ = std::move(got.fds.front());
        } else if (kind == says_failed) {
            const std::size_t end = got.bytes.find('\0');
            error_ = container_error{got.bytes.substr(1, end - 1), got.bytes.substr(end + 1)};
        }
    }
}

}  // namespace signalbox::op::containers
