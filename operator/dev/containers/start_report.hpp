// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "containers/container_runtime.hpp"
#include "containers/protocol.hpp"

#include <optional>
#include <string>

namespace signalbox::op::containers {

/// Where a child that becomes a container's process says how that goes. The program's execution
/// closes the socket, which tells that it succeeded.
class start_report {
public:
    explicit start_report(unique_fd socket) : socket_(std::move(socket)) {}

    /// Ends the process: the program will not run.
    [[noreturn]] void fail(const std::string& reason, const std::string& message);
    [[noreturn]] void cannot_create(const std::string& what, int number);
    /// The master of the terminal.
    void terminal(int fd);
    /// All is made; what is left is to execute the program.
    void ready();

private:
    message_socket socket_;
};

/// The other end, in the node process.
class start_watch {
public:
    explicit start_watch(unique_fd socket) : socket_(std::move(socket)) {}

    int fd() const { return socket_.fd(); }
    /// Takes what is there; true when no more will come.
    bool read();
    /// After read() gave true. Why the program does not run, if it does not.
    const std::optional<container_error>& error() const { return error_; }
    unique_fd take_terminal() { return std::move(terminal_); }

private:
    message_socket socket_;
    bool ready_ = false;
    std::optional<container_error> error_;
    unique_fd terminal_;
};

}  // namespace signalbox::op::containers
