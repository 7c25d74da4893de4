// SPDX-License-Identifier: Apache-2.0
//
// What the main process and the node process say to each other, and the socket between them. Both
// ends are the same binary, so that there are no versions.
#pragma once

#include "containers/container_runtime.hpp"
#include "containers/unix.hpp"

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace signalbox::op::containers {

using ask_id = std::uint64_t;      ///< ties an answer to what was asked
using process_id = std::uint64_t;  ///< given by the main process; not a PID

// Requests. Those with `ask` are answered by `node_answer` with the same.

/// The first message; answered by `node_ready`.
struct node_config {
    bool user_mode = false;        ///< an ordinary user's: in a user namespace
    std::uint32_t user = 0;        ///< whom the runtime runs as, outside
    std::uint32_t group = 0;       ///< likewise
    std::string folder;            ///< hidden in containers: what the runtime holds on disk
    std::string cgroup_name;       ///< of the groups that are made
    std::string network;           ///< first two numbers of the addresses, `10.244`
    std::uint64_t open_files = 0;  ///< soft limit of open files for containers
    std::uint32_t processes = 0;   ///< limit of processes for containers that have none
};
struct make_sandbox_request {
    ask_id ask = 0;
    sandbox_spec spec;
};
struct remove_sandbox_request {
    std::string id;
};
struct cut_request {
    std::string id;
    bool off = false;
};
/// With the child's ends of its pipes: input (if it is wanted), output, errors; with a terminal
/// none.
struct run_request {
    ask_id ask = 0;
    process_id process = 0;
    container_spec spec;
};
/// Likewise.
struct exec_request {
    ask_id ask = 0;
    process_id process = 0;
    process_id container = 0;
    process_spec spec;
};
struct signal_request {
    process_id process = 0;
    std::int32_t number = 0;
};
struct connect_request {
    ask_id ask = 0;
    std::string sandbox;
    std::string address;
    std::uint16_t port = 0;
};
/// The link to the outside is there.
struct uplink_request {
    bool up = true;
};
/// Removes a folder, and the control groups that a file in it names; in a process of its own.
struct remove_files_request {
    ask_id ask = 0;
    std::string folder;
};
using node_request = std::variant<
    node_config,
    make_sandbox_request,
    remove_sandbox_request,
    cut_request,
    run_request,
    exec_request,
    signal_request,
    connect_request,
    uplink_request,
    remove_files_request>;

// Reports.

/// With the node's network namespace and, as far as they could be had, the sockets for a name
/// server and for a service, in this order; unless `refused` says why there is no node.
struct node_ready {
    std::string refused;
    std::string address;
    std::vector<std::string> shortcomings;
    std::vector<std::string> cgroups;  ///< folders to remove after the node
    bool has_name_server = false;
    bool has_service = false;
};
/// `error.reason` is empty if it succeeded. With a descriptor: the terminal, or the connection.
struct node_answer {
    ask_id ask = 0;
    container_error error;
    std::vector<std::string> values;  ///< of a sandbox: id and address
};
struct node_exit {
    process_id process = 0;
    exit_status status;
};
using node_report = std::variant<node_ready, node_answer, node_exit>;

/// The node's link to the outside.
inline constexpr const char* uplink_name = "tap0";

/// File in the folder of a runtime: its control groups, one in a line.
inline constexpr const char* noted_groups = "/cgroups";

struct message {
    std::string bytes;
    std::vector<unique_fd> fds;
};

std::string encode(node_request what);
std::string encode(node_report what);
std::optional<node_request> decode_request(std::string_view bytes);
std::optional<node_report> decode_report(std::string_view bytes);

/// One end of a SOCK_SEQPACKET socket pair. It never blocks: what the kernel does not take waits.
class message_socket {
public:
    explicit message_socket(unique_fd socket) : socket_(std::move(socket)) {}

    int fd() const { return socket_.get(); }
    void close() { socket_.reset(); }
    /// Of any size: what a packet cannot hold goes through a file in memory.
    void send(message what);
    /// Sends what waits, as far as it goes.
    void flush();
    bool waiting() const { return !queue_.empty(); }

    enum class state { received, nothing, closed };
    state receive(message& into);

private:
    bool try_send(const message& what);

    unique_fd socket_;
    std::deque<message> queue_;
};

}  // namespace signalbox::op::containers
