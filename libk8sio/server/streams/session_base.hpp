// SPDX-License-Identifier: Apache-2.0
//
// What sessions over a WebSocket have in common: coroutines beside run(), and messages one at a
// time.
#pragma once

#include "k8sio/synchronization.hpp"
#include "server/answers/socket_session.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <memory>
#include <string>

namespace signalbox::k8sio::server {

class session_base : public socket_session, public std::enable_shared_from_this<session_base> {
public:
    const std::string& protocol() const override { return protocol_; }

protected:
    session_base(boost::asio::any_io_executor executor, std::string protocol);

    /// Whole messages, in the order of the calls. A lost connection ends the session; one that is
    /// gone sends nothing.
    static boost::asio::awaitable<void> send_message(
        std::shared_ptr<session_base> self, message_socket& socket, std::string message
    );
    /// Runs `work` beside; `running` is the number of those that have not ended.
    void spawn(boost::asio::awaitable<void> work, int& running);
    /// Until `running` is 0. Only run() waits.
    static boost::asio::awaitable<void> join(
        std::shared_ptr<session_base> self, const int& running
    );

    boost::asio::any_io_executor executor_;
    bool gone_ = false;

private:
    std::string protocol_;
    semaphore writer_;
    notification news_;  // a child has ended
};

}  // namespace signalbox::k8sio::server
