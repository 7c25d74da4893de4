// SPDX-License-Identifier: Apache-2.0
//
// The main process's end: asks the node process, and hands out what it reports.
#pragma once

#include "containers/protocol.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

namespace signalbox::op::containers {

/// Something that happens once, and that any number of coroutines wait for.
class event {
public:
    explicit event(boost::asio::any_io_executor executor)
        : timer_(executor, boost::asio::steady_timer::time_point::max()) {}

    void set();
    bool is_set() const { return set_; }
    boost::asio::awaitable<void> wait();

private:
    boost::asio::steady_timer timer_;  // never runs out; only cancelled
    bool set_ = false;
};

/// What is known of a process's end.
struct process_end {
    explicit process_end(boost::asio::any_io_executor executor) : ended(executor) {}

    event ended;
    exit_status status;
};

struct node_reply {
    node_answer answer;
    unique_fd fd;
};

/// Shared by the runtime and its processes. After close(), or when the node process is gone,
/// everything has ended, by SIGKILL, and everything asked is refused.
class node_link : public std::enable_shared_from_this<node_link> {
public:
    node_link(boost::asio::any_io_executor executor, unique_fd socket);

    /// Once, first. Calls `ready` with the report of the start.
    void begin();
    void close();

    void tell(node_request what);
    /// `what` without its `ask`.
    template <class Request>
    boost::asio::awaitable<node_reply> ask(Request what, std::vector<unique_fd> fds) {
        auto self = shared_from_this();
        what.ask = ++last_ask_;
        auto waiting = std::make_shared<pending>(executor_);
        asked_[what.ask] = waiting;
        self->send(std::move(what), std::move(fds));
        co_await waiting->answered.wait();
        co_return std::move(waiting->reply);
    }

    std::shared_ptr<process_end> new_process(process_id& id);
    void forget(process_id id) { processes_.erase(id); }

    boost::asio::any_io_executor executor() const { return executor_; }
    /// Set when there is `ready`, or the node process is gone.
    event started;
    node_ready ready;
    unique_fd network;  ///< namespace of the node
    unique_fd name_server;
    unique_fd service;

private:
    struct pending {
        explicit pending(boost::asio::any_io_executor executor) : answered(executor) {}
        event answered;
        node_reply reply;
    };

    void send(node_request what, std::vector<unique_fd> fds);
    void wait_readable();
    void wait_writable();
    void receive();
    void handle(node_ready& report, std::vector<unique_fd>& fds);
    void handle(node_answer& report, std::vector<unique_fd>& fds);
    void handle(node_exit& report, std::vector<unique_fd>& fds);
    void end_all();

    boost::asio::any_io_executor executor_;
    message_socket socket_;
    boost::asio::posix::stream_descriptor waits_;  ///< on a descriptor of its own
    bool open_ = true;
    bool wants_write_ = false;
    ask_id last_ask_ = 0;
    process_id last_process_ = 0;
    std::unordered_map<ask_id, std::shared_ptr<pending>> asked_;
    std::unordered_map<process_id, std::shared_ptr<process_end>> processes_;
};

}  // namespace signalbox::op::containers
