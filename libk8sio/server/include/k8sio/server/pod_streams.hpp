// SPDX-License-Identifier: Apache-2.0
//
// What the embedded API server asks of whoever runs the pods: logs, commands in containers, and
// connections to ports. The server knows the objects and the protocols, this interface the rest.
#pragma once

#include "k8sio/clock.hpp"
#include "k8sio/error.hpp"

#include <boost/asio/awaitable.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace signalbox::k8sio::server {

/// The pod of a request, which the server has when the request comes. A class with a constructor,
/// because g++ 12 miscompiles coroutines whose parameters are aggregates; so are those below.
class pod_ref {
public:
    pod_ref() = default;
    pod_ref(std::string pod_namespace, std::string pod_name, std::string pod_uid)
        : ns(std::move(pod_namespace)), name(std::move(pod_name)), uid(std::move(pod_uid)) {}
    std::string ns;
    std::string name;
    std::string uid;  ///< the namespace and name may be another pod's a moment later
};

/// Which part of a container's log is wanted. The server itself cuts it at `limitBytes`.
class log_options {
public:
    log_options() = default;
    std::string container;           ///< one of the pod's, of any kind
    bool follow = false;             ///< goes on until the container has ended
    bool previous = false;           ///< of the container's run before this one
    bool timestamps = false;         ///< each line begins with its time (RFC 3339, nanoseconds)
    std::optional<wall_time> since;  ///< lines from then on; nothing: all
    /// That many lines from the end, then what follows; nothing: all. Never negative.
    std::optional<std::int64_t> tail_lines;
};

/// What a client wants of a process in a container. At least one stream is wanted; with a terminal
/// never `err`, since a terminal has one output.
class process_options {
public:
    process_options() = default;
    std::string container;             ///< one of the pod's
    std::vector<std::string> command;  ///< of exec, as the client gave it; empty of attach
    bool in = false;                   ///< standard input
    bool out = false;
    bool err = false;
    bool tty = false;
};

/// What did not work though nothing was wrong with the request of open_log() and others: 500,
/// `InternalError`. What they refuse is a status_error(), as a Status tells it to the client: e.g.
/// 400, `BadRequest`, `container "main" in pod "w-0" is waiting to start: ContainerCreating`.
api_error pod_failure(std::string message);

/// Bytes that are read one piece at a time: whoever makes them waits until they are asked for, and
/// holds a bounded number of them.
///
/// Errors: cancelled after close(); any other one breaks the client's stream off.
/// Lifetimes: destroyed when no operation is pending, close() having been called before.
/// Thread: the server's.
/// Cancellation: none by Asio's slots; close() ends what is pending.
class byte_source {
public:
    virtual ~byte_source() = default;

    /// The next bytes, some 64 KiB at most; empty at the end. One call at a time.
    virtual boost::asio::awaitable<result<std::string>> read_some() = 0;
    /// The client left, or the server stops. May be called again, and at any time.
    virtual void close() = 0;
};

/// A connection to a port of a pod, in both directions at a time.
///
/// Errors: as of byte_source.
/// Lifetimes: as of byte_source.
/// Thread: the server's.
/// Cancellation: as of byte_source.
class byte_channel : public byte_source {
public:
    /// Completes when the bytes are taken. One call at a time, beside read_some().
    ///
    /// Lifetimes: `bytes` live until completion.
    virtual boost::asio::awaitable<result<void>> write(std::string_view bytes) = 0;
    /// No more is written; what is to be read may go on. Not while a write() is pending.
    virtual void finish_writing() = 0;
};

/// The outputs of a process.
enum class process_output { out, err };

/// A process as its client has it: one that exec() started, or the container's own.
///
/// Errors: cancelled after close(); any other one ends the client's session with its message.
/// Lifetimes: destroyed when no operation is pending, close() having been called before.
/// Thread: the server's.
/// Cancellation: none by Asio's slots; close() ends what is pending.
class container_process {
public:
    virtual ~container_process() = default;

    /// The next bytes of one output, some 64 KiB at most; empty at its end, which comes with the
    /// end of the process at the latest. Called only for outputs that were wanted; one call at a
    /// time for each.
    virtual boost::asio::awaitable<result<std::string>> read_some(process_output of) = 0;
    /// Standard input; completes when the bytes are taken. One call at a time. An error means that
    /// the process no longer reads it: the session goes on without.
    ///
    /// Lifetimes: `bytes` live until completion.
    virtual boost::asio::awaitable<result<void>> write(std::string_view bytes) = 0;
    /// The end of standard input. Not while a write() is pending.
    virtual void finish_writing() = 0;
    /// The client's terminal has this size now. Only with a terminal.
    virtual void resize(std::uint16_t columns, std::uint16_t rows) = 0;
    /// The exit code once the process has ended, 128 + n after signal n. Called once, when all
    /// outputs have ended; of what attach() gave not at all.
    virtual boost::asio::awaitable<result<int>> wait() = 0;
    /// The client left, or the server stops: what exec() started is to end, what attach() gave goes
    /// on without its client. May be called again, and at any time.
    virtual void close() = 0;
};

/// What runs the pods. Each request names a pod that exists, is bound to a node, and has that
/// container; how far the container is only the implementation knows. Any number of them may be
/// open.
///
/// Errors: of status_error() or pod_failure(), which the client sees; others count as the latter.
/// Lifetimes: must outlive the server, and everything that it gave (api_server::set_pod_streams).
/// Thread: the server's.
/// Cancellation: none; when the client has left meanwhile, what comes is closed at once.
class pod_streams {
public:
    virtual ~pod_streams() = default;

    /// The log, from now on independent of the pod's life. An error is the answer to the request.
    virtual result<std::unique_ptr<byte_source>> open_log(
        const pod_ref& pod, const log_options& options
    ) = 0;
    /// Starts a command in a container that runs.
    ///
    /// Lifetimes: the arguments live until completion.
    virtual boost::asio::awaitable<result<std::unique_ptr<container_process>>> exec(
        const pod_ref& pod, const process_options& options
    ) = 0;
    /// The process that the container runs, from now on: of its output what comes from now on.
    ///
    /// Lifetimes: the arguments live until completion.
    virtual boost::asio::awaitable<result<std::unique_ptr<container_process>>> attach(
        const pod_ref& pod, const process_options& options
    ) = 0;
    /// A connection to a port on the pod's loopback interface.
    ///
    /// Errors: any; the message is what the client sees.
    /// Lifetimes: the arguments live until completion.
    virtual boost::asio::awaitable<result<std::unique_ptr<byte_channel>>> connect(
        const pod_ref& pod, std::uint16_t port
    ) = 0;
};

}  // namespace signalbox::k8sio::server
