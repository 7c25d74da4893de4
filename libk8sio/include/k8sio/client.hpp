// SPDX-License-Identifier: Apache-2.0
//
// The verbs of the Kubernetes API over a transport. Bodies are JSON texts in both directions.
#pragma once

#include "k8sio/clock.hpp"
#include "k8sio/error.hpp"
#include "k8sio/request_options.hpp"
#include "k8sio/resource.hpp"
#include "k8sio/transport.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::k8sio {

namespace protocol {
class list_memory;
class server_time;
}  // namespace protocol

/// How a client names itself, and how patient it is.
class client_options {
public:
    client_options() = default;
    /// Sent as `fieldManager` of writes (empty: none) and, with the library's version, as
    /// User-Agent (REQUIREMENTS.md T12).
    std::string manager = "signalbox";
    /// For one call of a verb in all: its turn, connecting, every repetition and the waits between.
    std::chrono::nanoseconds request_timeout = std::chrono::seconds{30};
    /// How often a request that the server told to come back later (429, 503 with Retry-After) or
    /// that failed before it was sent is repeated within its deadline (REQUIREMENTS.md R2, R4).
    int max_retries = 3;
    /// What all lists that are read item by item at one time may hold together, in bytes: of each
    /// the item that is not whole yet. One that needs more fails with errc::too_large
    /// (REQUIREMENTS.md L7); a reflector then begins it anew, later.
    std::size_t list_memory = 32u << 20;
    /// Of the random parts of waits. Processes that should not all come back at the same moment
    /// need different ones; 0 and so on make tests repeatable.
    std::uint64_t seed = 0;
    /// Called with a line that is worth a place in a log: the server's time has jumped, or, of a
    /// client that connect() made, credentials could not be renewed. It runs on the loop while
    /// something is handled: it must neither throw nor call this client. Empty: no one is told.
    std::function<void(const std::string& line)> notice;
    /// Asked before whatever is not a read is sent, each time, at the last moment: false ends the
    /// call with errc::cancelled, and nothing was sent. For leader_election::leads()
    /// (REQUIREMENTS.md B7). It must neither throw nor call this client. Empty: writes are sent.
    std::function<bool()> may_write;
    /// Called for each exchange of a verb, repetitions included, with the answer's status, or 0 if
    /// there was none, and how long it took; watches are not counted. For metrics. It must neither
    /// throw nor call this client. Empty: no one is told.
    std::function<void(const http_request& sent, int status, std::chrono::nanoseconds took)>
        on_exchange;
};

/// The verbs. Every one gives the whole JSON text of the server's answer. A request that was not
/// carried out is repeated within its timeout; a write whose fate is not known never is
/// (REQUIREMENTS.md R2, R4). `ns` is not looked at for types without namespaces. Any number of
/// calls may be pending.
///
/// Errors: invalid_argument for what is refused here (an empty name, or an empty namespace of a
/// namespaced type), http_status for what the server refused, others of errc for why there is no
/// answer; with method and path. classify() says what to do then.
/// Lifetimes: `transport` and `time` must outlive the client, and the client every pending call.
/// Texts and types that are handed over by reference or view must live until the call completes.
/// Thread: one, that of the loop on which its coroutines run.
/// Cancellation: terminal or all; a call ends with the value errc::cancelled, and a write may have
/// happened then. A caller that awaits more after that must have called throw_if_cancelled(false)
/// of Asio.
class client {
public:
    client(k8sio::transport& transport, clock& time, client_options options = client_options());
    ~client();
    client(const client&) = delete;
    client& operator=(const client&) = delete;

    /// The most recent state of one object.
    boost::asio::awaitable<result<std::string>> get(
        const resource_type& type, std::string_view ns, std::string_view name
    );
    /// One page. An empty `ns` means all namespaces: check it where it comes from a user.
    boost::asio::awaitable<result<list_page>> list(
        const resource_type& type, std::string_view ns, const list_options& options
    );
    using item_function = list_item_function;
    /// One page, item by item as they arrive: list_page::items stays empty, and no more than one
    /// item is held (REQUIREMENTS.md L7). `item` gets each once; it must not destroy the client.
    ///
    /// Errors: as of the class; some items may have been given before one.
    /// Lifetimes: the texts that `item` gets are valid during its call.
    boost::asio::awaitable<result<list_page>> list(
        const resource_type& type,
        std::string_view ns,
        const list_options& options,
        item_function item
    );
    /// POST; gives the object as the server made it.
    ///
    /// Errors: as of the class; 409 with the reason AlreadyExists if the name is taken.
    boost::asio::awaitable<result<std::string>> create(
        const resource_type& type, std::string_view ns, std::string body
    );
    /// PUT; `body` must carry metadata.resourceVersion, which is not checked here: without it some
    /// kinds would lose the change of another writer (REQUIREMENTS.md X4).
    ///
    /// Errors: as of the class; 409 if there is a newer object: read again and decide anew.
    boost::asio::awaitable<result<std::string>> update(
        const resource_type& type, std::string_view ns, std::string_view name, std::string body
    );
    /// PUT on the status subresource: of `body` the server takes the status alone. As update().
    boost::asio::awaitable<result<std::string>> update_status(
        const resource_type& type, std::string_view ns, std::string_view name, std::string body
    );
    /// JSON merge patch; preconditions go into the body (metadata.uid, metadata.resourceVersion).
    /// `subresource`: `status`, `scale` or empty.
    ///
    /// Errors: as of the class; 422 or 409 if the UID is another.
    boost::asio::awaitable<result<std::string>> merge_patch(
        const resource_type& type,
        std::string_view ns,
        std::string_view name,
        std::string body,
        std::string_view subresource = {}
    );
    /// DELETE. The answer is the object in deletion, or a Status.
    ///
    /// Errors: as of the class; 404 with the reason NotFound, which callers that want it gone take
    /// as success; 409 if a precondition does not hold.
    boost::asio::awaitable<result<std::string>> remove(
        const resource_type& type,
        std::string_view ns,
        std::string_view name,
        const delete_options& options
    );
    /// The log of a container, to be read piece by piece (REQUIREMENTS.md T15). Sent once, with a
    /// connection of its own, and no matter of finish_by(): close() of the stream ends it.
    ///
    /// Errors: as of the class; 400 with the reason BadRequest while the container has no log yet,
    /// or has no such run.
    /// Lifetimes: as of the class; the stream must not outlive the transport.
    boost::asio::awaitable<result<std::unique_ptr<response_stream>>> open_log(
        std::string_view ns, std::string_view name, const log_query& query
    );
    /// The end of a log as one text, of a container that has ended. Sent once.
    ///
    /// Errors: as open_log(), and timeout if the answer is not whole at `until`; too_large.
    /// Lifetimes: as of the class.
    boost::asio::awaitable<result<std::string>> read_log(
        std::string_view ns, std::string_view name, const log_query& query, steady_time until
    );
    /// Any request, e.g. discovery or `pods/binding`; gives the body of an answer with 2xx.
    /// `target`: path and query from `/` on, percent-encoded already. Nothing is checked or added.
    boost::asio::awaitable<result<std::string>> raw(
        std::string method, std::string target, std::string content_type, std::string body
    );

    /// For shutdown: no request lasts beyond `at`, neither those under way nor those that follow,
    /// whatever their timeout; a write that is cut off has an unknown outcome (errc::cancelled).
    /// May be called again, with another time. Streams are not touched.
    void finish_by(steady_time at);

    k8sio::transport& transport() { return *transport_; }
    clock& time() { return *time_; }
    const client_options& options() const { return options_; }
    /// The header of that name, unless the transport has another one.
    std::string user_agent() const;

    /// The server's time, to about a second: a steady clock anchored to the `Date` header of the
    /// API server's answers, so that a jump of the local clock moves no deadline. A difference of
    /// more than a minute counts only when answers agree about it (REQUIREMENTS.md R9). Before the
    /// first answer: the local clock.
    wall_time server_now() const;

    /// Requests sent since construction, repetitions included; watches are not counted.
    std::uint64_t requests_sent() const { return requests_sent_; }

private:
    class under_way;

    /// Sends it, unless it is an error; gives the object of the answer.
    boost::asio::awaitable<result<std::string>> object_of(result<http_request> request);
    boost::asio::awaitable<result<http_response>> send(http_request& request);
    boost::asio::awaitable<result<http_response>> send_task(http_request& request);
    void note_server_time(std::string_view header, steady_time sent);

    k8sio::transport* transport_;
    clock* time_;
    client_options options_;
    std::unique_ptr<protocol::server_time> server_time_;
    std::unique_ptr<protocol::list_memory> list_memory_;
    std::uint64_t requests_sent_ = 0;
    std::optional<steady_time> finish_by_;
    clock::timer_id finish_timer_ = 0;
    std::vector<boost::asio::cancellation_signal*> under_way_;
};

/// The error that an answer with status >= 400 is: the server's Status if the body is one, else the
/// status, content type and first 2 KiB (REQUIREMENTS.md T14).
api_error error_from_response(const http_request& request, const http_response& answer);

}  // namespace signalbox::k8sio
