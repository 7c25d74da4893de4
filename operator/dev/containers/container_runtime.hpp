// SPDX-License-Identifier: Apache-2.0
//
// What runs containers: sandboxes (the namespaces that the containers of a pod share) and processes
// in them, in the terms of Kubernetes' Container Runtime Interface. Knows no Kubernetes object.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/system/result.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace signalbox::op::containers {

/// Why something could not be done: `reason` as the kubelet has it in a container's state
/// (`CreateContainerError`, `StartError`, ...), and a sentence for people.
struct container_error {
    std::string reason;
    std::string message;
};
/// Called by result::value() on an error: throws std::runtime_error with reason and message.
[[noreturn]] void throw_exception_from_error(
    const container_error& e, const boost::source_location& at
);

template <class T>
using result = boost::system::result<T, container_error>;

/// What the containers of a pod share: network, host name, IPC.
struct sandbox_spec {
    std::string hostname;
    /// The network of the node itself, as `hostNetwork` asks for, in place of one of its own.
    bool host_network = false;
    /// Its root is not the machine's: users and groups are of this sandbox alone. Always so where
    /// the runtime is an ordinary user's.
    bool own_users = false;
};

struct sandbox {
    std::string id;
    std::string
        address;  ///< IPv4 of the pod, reachable from all sandboxes; of the node with host_network
};

/// Part of a container's file system.
struct mount_point {
    enum class kind {
        bind,    ///< a file or folder of the machine
        memory,  ///< a tmpfs of its own
    };
    kind what = kind::bind;
    std::string source;  ///< bind: absolute path on the machine; must exist
    /// Of a bind: what is mounted below `source`, from which no link leads out; empty: all of it.
    std::string inside;
    std::string target;  ///< absolute path in the container; made if it is not there
    bool read_only = false;
    std::uint64_t size_limit = 0;  ///< memory: bytes; 0: no limit of its own
};

/// The file system of a container: an image, and what the container changes of it.
struct root_files {
    std::string image = "/";  ///< folder with a root file system; `/`: the machine's own
    std::string changes;      ///< folder for what the container writes; made if it is not there
    bool read_only = false;
};

/// Numeric, as in a security context. Absent fields: as the runtime itself runs.
struct identity {
    std::optional<std::uint32_t> user, group;
    std::vector<std::uint32_t> groups;  ///< supplemental
};

/// What Docker leaves to root in a container, but for MKNOD: no device group holds here what a
/// device file of the machine's disk would open. By numbers, which the kernel never changes:
/// CHOWN, DAC_OVERRIDE, FOWNER, FSETID, KILL, SETGID, SETUID, SETPCAP, NET_BIND_SERVICE, NET_RAW,
/// SYS_CHROOT, AUDIT_WRITE, SETFCAP.
inline constexpr std::uint64_t usual_capabilities = 0xa00425fb;

struct process_spec {
    std::vector<std::string>
        argv;  ///< the program is looked for in PATH of `env` and of the container
    std::vector<std::string> env;  ///< `NAME=value`; names of any form, nothing is added
    std::string working_dir = "/";
    identity as;
    /// What root may do there, by bits; where it is the machine's root, what these allow there.
    std::uint64_t capabilities = usual_capabilities;
    bool may_gain = true;  ///< rights by a program with set-user-id or capabilities of its own
    bool bounded_calls = false;  ///< only usual system calls: see bound_system_calls()
    bool input = false;          ///< without: standard input is empty
    bool terminal = false;       ///< one terminal for input, output and errors
};

struct limits {
    std::uint64_t memory = 0;     ///< bytes; 0: none
    std::uint32_t processes = 0;  ///< at once; 0: none
};

struct container_spec {
    std::string sandbox;  ///< id
    root_files root;
    std::vector<mount_point> mounts;  ///< in this order; later ones may lie below earlier ones
    process_spec process;
    limits bounds;
};

/// How a process ended.
struct exit_status {
    int code = 0;    ///< 128 + signal if a signal ended it
    int signal = 0;  ///< that ended it; 0: none
    bool oom_killed = false;
};

enum class output_stream { out, err };

/// A process: the first one of a container (process 1 of its PID namespace), or one by exec.
///
/// Lifetimes: destroying it before its end kills it, and, of a container, everything in it.
class process {
public:
    virtual ~process() = default;

    /// Waits for output. Gives the number of bytes, 0 at the end of the stream. With a terminal
    /// everything is in `out`. One read at a time for each stream; what is not read is held back
    /// in the pipe, so that memory is bounded.
    virtual boost::asio::awaitable<std::size_t> read(
        output_stream from, boost::asio::mutable_buffer to
    ) = 0;
    /// Writes all of it, or gives false if the process does not take any more.
    virtual boost::asio::awaitable<bool> write(boost::asio::const_buffer input) = 0;
    virtual void close_input() = 0;
    virtual void resize(std::uint16_t columns, std::uint16_t rows) = 0;

    /// Waits for the end; more than one may wait. Output may still be there to be read.
    virtual boost::asio::awaitable<exit_status> wait() = 0;
    /// To this process alone. Nothing happens if it has ended.
    virtual void signal(int number) = 0;
    /// SIGKILL to everything in the container; of an exec, to the process alone.
    virtual void kill() = 0;
};

using byte_stream = boost::asio::generic::stream_protocol::socket;

/// Makes sandboxes and containers.
///
/// Errors: values; nothing is left of what failed.
/// Thread: one, that of the executor it was made with.
class container_runtime {
public:
    virtual ~container_runtime() = default;

    virtual boost::asio::awaitable<result<sandbox>> make_sandbox(sandbox_spec spec) = 0;
    /// Kills what still runs in it. Nothing happens if it is gone.
    virtual void remove_sandbox(const std::string& id) = 0;
    /// Cuts it off from the network, as when a node is lost, or joins it again.
    virtual void cut(const std::string& id, bool off) = 0;

    /// Starts a container. Its file system ends with its last process and `process`; what it
    /// changed stays in `root_files::changes`.
    ///
    /// Errors: `CreateContainerError` (a mount, a folder), `StartError` (a program that is not
    /// there or cannot be executed, in the words of runc).
    virtual boost::asio::awaitable<result<std::unique_ptr<process>>> run(container_spec spec) = 0;
    /// Starts one more process in the container whose first process `in` is.
    virtual boost::asio::awaitable<result<std::unique_ptr<process>>> exec(
        process& in, process_spec spec
    ) = 0;

    /// Connects to a port inside a sandbox; `127.0.0.1` is the sandbox's own loopback.
    virtual boost::asio::awaitable<result<byte_stream>> connect(
        const std::string& sandbox, std::string address, std::uint16_t port
    ) = 0;

    /// Removes a folder with all that containers left in it, which may be much, and folders without
    /// permissions. Does not hold up the event loop where the runtime can avoid it.
    virtual boost::asio::awaitable<void> remove_files(std::string folder);

    /// Address at which the sandboxes reach the node.
    virtual std::string node_address() const = 0;
    /// A bound UDP socket at node_address(), port 53, for a name server; once. The caller owns it.
    virtual result<int> name_server_socket() = 0;
    /// A TCP socket that listens at node_address(), on any port, for a service that the sandboxes
    /// reach; once. The caller owns it.
    virtual result<int> service_socket() = 0;
    /// What the machine cannot give, one sentence each, e.g. that memory limits do not hold.
    virtual std::vector<std::string> shortcomings() const = 0;

    /// Kills everything and returns when nothing is left. Idempotent.
    virtual boost::asio::awaitable<void> stop() = 0;
};

}  // namespace signalbox::op::containers
