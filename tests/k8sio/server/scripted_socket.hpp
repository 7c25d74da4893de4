// SPDX-License-Identifier: Apache-2.0
//
// A WebSocket whose client is the test, and a session over it under way.
#pragma once

#include "runtime/virtual_loop.hpp"
#include "server/answers/socket_session.hpp"
#include "server/scripted_pods.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace signalbox::k8sio::server::test {

class scripted_socket final : public message_socket {
public:
    explicit scripted_socket(const boost::asio::any_io_executor& executor)
        : from_client(std::make_shared<script>(executor)),
          taking(std::make_shared<script>(executor)) {}

    boost::asio::awaitable<result<std::string_view>> read() override {
        boost::asio::awaitable<result<std::string>> reading = script::read(from_client);
        message_.clear();
        const result<std::string> got = co_await std::move(reading);
        if (got.has_error()) {
            co_return of_code(errc::connection_lost);
        }
        message_ = *got;
        co_return std::string_view(message_);
    }
    boost::asio::awaitable<result<void>> write(std::string_view message) override {
        std::string copy(message);
        if (slow) {
            boost::asio::awaitable<result<std::string>> turn = script::read(taking);
            const result<std::string> token = co_await std::move(turn);
            broken = broken || token.has_error();
        }
        if (broken) {
            co_return of_code(errc::connection_lost);
        }
        to_client.push_back(std::move(copy));
        co_return result<void>();
    }
    boost::asio::awaitable<void> finish() override {
        const std::shared_ptr<script> reading = from_client;
        finished = true;
        reading->close();
        co_return;
    }
    /// What the face does when the connection is gone.
    void lose() {
        broken = true;
        from_client->close();
        taking->close();
    }

    std::shared_ptr<script> from_client;
    std::shared_ptr<script> taking;  ///< if `slow`, each write waits for a piece of it
    bool slow = false;
    bool broken = false;
    bool finished = false;
    std::vector<std::string> to_client;

private:
    std::string message_;
};

/// Runs a session until it ends by itself, or the test leaves it.
class running_session {
public:
    running_session(k8sio::test::virtual_loop& loop, std::shared_ptr<socket_session> session)
        : socket(loop.loop.get_executor()),
          loop_(&loop),
          session_(std::move(session)),
          task_(loop, session_->run(socket)) {
        loop.settle();
    }
    ~running_session() { leave(); }

    bool done() {
        loop_->settle();
        return task_.done;
    }
    void send(std::string message) {
        socket.from_client->put(std::move(message));
        loop_->settle();
    }
    /// The connection is gone.
    void leave() {
        socket.lose();
        session_->stop();
        loop_->settle();
    }
    /// What the client has got since the last call.
    std::vector<std::string> got() {
        loop_->settle();
        return std::exchange(socket.to_client, {});
    }

    scripted_socket socket;

private:
    k8sio::test::virtual_loop* loop_;
    std::shared_ptr<socket_session> session_;
    k8sio::test::task<void> task_;
};

}  // namespace signalbox::k8sio::server::test
