// SPDX-License-Identifier: Apache-2.0
//
// Requests are handled one turn of the loop after they were made, in order, so that a run with the
// same inputs gives the same order of events. Waiting uses the server's clock only.
#include "server/faces/in_process.hpp"

#include "protocol/requests.hpp"
#include "server/answers/body_stream.hpp"
#include "server/values/text.hpp"

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <utility>

namespace signalbox::k8sio::server {
namespace {

namespace asio = boost::asio;

bool same_header(std::string_view x, std::string_view y) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end(), [](char a, char b) {
        return lower(a) == lower(b);
    });
}

enum class woken { ready, timeout, closed, cancelled };

/// One waiter at a time, woken by a post to the executor.
class waiting_room : public std::enable_shared_from_this<waiting_room> {
public:
    explicit waiting_room(asio::any_io_executor executor) : executor_(std::move(executor)) {}

    asio::awaitable<woken> wait() {
        return asio::async_initiate<const asio::use_awaitable_t<>&, void(woken)>(
            [self = shared_from_this()](auto handler) {
                auto slot = asio::get_associated_cancellation_slot(handler);
                // Not by move assignment: Boost 1.81 copies there, without end.
                asio::any_completion_handler<void(woken)> waiter(std::move(handler));
                self->handler_.swap(waiter);
                if (slot.is_connected()) {
                    std::weak_ptr<waiting_room> weak = self;
                    slot.assign([weak](asio::cancellation_type) {
                        if (const auto room = weak.lock()) {
                            room->wake(woken::cancelled);
                        }
                    });
                }
            },
            asio::use_awaitable
        );
    }

    void wake(woken why) {
        if (!handler_) {
            return;
        }
        asio::post(executor_, [handler = std::exchange(handler_, nullptr), why]() mutable {
            std::move(handler)(why);
        });
    }

private:
    asio::any_io_executor executor_;
    asio::any_completion_handler<void(woken)> handler_;
};

class stream final : public response_stream, public open_watch {
public:
    stream(std::weak_ptr<reception> door, api_answer answer, std::chrono::nanoseconds idle)
        : door_(std::move(door)),
          answer_(std::move(answer)),
          idle_(idle),
          room_(std::make_shared<waiting_room>(door_.lock()->executor())) {
        door_.lock()->add(*this);
        if (answer_.stream) {
            // The callback comes from within a write; waking only posts.
            answer_.stream->on_ready([room = room_] { room->wake(woken::ready); });
        }
    }
    ~stream() override { leave(); }

    int status() const override { return answer_.status; }

    std::string_view header(std::string_view name) const override {
        for (const auto& [key, text] : answer_.headers) {
            if (same_header(key, name)) {
                return text;
            }
        }
        return {};
    }

    asio::awaitable<result<std::string_view>> read_some() override {
        const steady_time started = now();
        while (true) {
            if (state_ != state::open) {
                co_return ending();
            }
            piece_ = next_piece();
            if (state_ != state::open) {
                co_return ending();
            }
            if (!piece_.empty() || ended_) {
                co_return std::string_view(piece_);
            }
            const std::shared_ptr<waiting_room> room = room_;
            const clock::timer_id timer = arm_idle(started);
            asio::awaitable<woken> waiting = room->wait();
            const woken why = co_await std::move(waiting);
            disarm_idle(timer);
            if (why == woken::timeout || why == woken::cancelled) {
                state_ = why == woken::timeout ? state::idle : state::cancelled;
                leave();
            }
        }
    }

    void close() override {
        state_ = state::cancelled;
        leave();
        room_->wake(woken::closed);
    }

    /// Of the reads from now on.
    void set_idle(std::chrono::nanoseconds idle) { idle_ = idle; }

    /// The server ends the stream cleanly, as on a restart.
    void end() override {
        answer_.stream.reset();  // it must not outlive the server
        answer_.body.clear();
        room_->wake(woken::ready);
    }

private:
    enum class state { open, idle, cancelled, lost };

    steady_time now() const {
        const auto door = door_.lock();
        return door ? door->world().time().steady_now() : steady_time{};
    }

    std::string next_piece() {
        if (door_.expired()) {
            state_ = state::lost;
            ended_ = true;
            return {};
        }
        if (!answer_.stream) {
            ended_ = answer_.body.empty();
            return std::exchange(answer_.body, {});
        }
        std::string out = answer_.stream->next(body_stream::piece_size);
        ended_ = out.empty() && answer_.stream->finished();
        if (ended_ && answer_.stream->broken()) {
            state_ = state::lost;
        }
        return out;
    }

    api_error ending() const {
        return make_error(
            state_ == state::idle        ? errc::timeout
            : state_ == state::cancelled ? errc::cancelled
                                         : errc::connection_lost,
            state_ == state::idle ? "nothing arrived for the idle time" : "stream closed"
        );
    }

    clock::timer_id arm_idle(steady_time started) {
        const auto door = door_.lock();
        if (!door || idle_ <= std::chrono::nanoseconds::zero()) {
            return 0;
        }
        return door->world().time().schedule(
            started + std::chrono::duration_cast<steady_time::duration>(idle_),
            [room = room_] { room->wake(woken::timeout); }
        );
    }

    void disarm_idle(clock::timer_id timer) {
        const auto door = door_.lock();
        if (door && timer != 0) {
            door->world().time().cancel(timer);
        }
    }

    void leave() {
        if (const auto door = door_.lock()) {
            door->remove(*this);
        }
        answer_.stream.reset();
    }

    std::weak_ptr<reception> door_;
    api_answer answer_;
    std::chrono::nanoseconds idle_;
    std::shared_ptr<waiting_room> room_;
    std::string piece_;
    bool ended_ = false;
    state state_ = state::open;
};

class in_process_transport final : public transport {
public:
    explicit in_process_transport(std::weak_ptr<reception> door) : door_(std::move(door)) {}

    asio::awaitable<result<http_response>> exchange(
        const http_request& request, steady_time deadline
    ) override {
        const std::shared_ptr<reception> before = door_.lock();
        if (!before) {
            co_return protocol::request_error(
                errc::connect, request, "the embedded server is gone"
            );
        }
        if (deadline <= before->world().time().steady_now()) {
            co_return protocol::request_error(
                errc::timeout, request, "the deadline had passed before sending"
            );
        }
        const asio::any_io_executor executor = before->executor();
        co_await asio::post(executor, asio::use_awaitable);
        reception::outcome_of_request done = receive(request);
        if (done.dropped) {
            co_return protocol::request_error(errc::connection_lost, request, "connection dropped");
        }
        http_response response;
        response.status = done.answer.status;
        response.headers = done.answer.headers;
        response.body = std::move(done.answer.body);
        if (done.answer.stream && done.answer.stream->ends()) {
            stream whole(door_, std::move(done.answer), std::chrono::nanoseconds::zero());
            co_return co_await read_whole(whole, request, std::move(response), deadline);
        }
        if (done.answer.stream) {
            // A watch read as a whole answer: what there is now.
            response.body = done.answer.stream->next(std::string::npos);
        }
        co_return response;
    }

    asio::awaitable<result<std::unique_ptr<response_stream>>> open_stream(
        const http_request& request, std::chrono::nanoseconds idle
    ) override {
        const std::shared_ptr<reception> before = door_.lock();
        if (!before) {
            co_return protocol::request_error(
                errc::connect, request, "the embedded server is gone"
            );
        }
        const asio::any_io_executor executor = before->executor();
        co_await asio::post(executor, asio::use_awaitable);
        reception::outcome_of_request done = receive(request);
        if (done.dropped) {
            co_return protocol::request_error(errc::connection_lost, request, "connection dropped");
        }
        std::unique_ptr<response_stream> s =
            std::make_unique<stream>(door_, std::move(done.answer), idle);
        co_return s;
    }

private:
    asio::awaitable<result<http_response>> read_whole(
        stream& body, const http_request& request, http_response response, steady_time deadline
    ) {
        std::shared_ptr<reception> door;
        while (true) {
            door = door_.lock();
            const steady_time now = door ? door->world().time().steady_now() : steady_time{};
            if (door && deadline <= now) {
                co_return protocol::request_error(errc::timeout, request, "the answer goes on");
            }
            body.set_idle(deadline - now);
            door.reset();
            asio::awaitable<result<std::string_view>> reading = body.read_some();
            const result<std::string_view> piece = co_await std::move(reading);
            if (piece.has_error()) {
                co_return protocol::request_error(
                    piece.error().code, request, piece.error().message
                );
            }
            if (piece->empty()) {
                co_return response;
            }
            response.body += *piece;
        }
    }

    reception::outcome_of_request receive(const http_request& request) {
        const std::shared_ptr<reception> door = door_.lock();
        if (!door) {
            reception::outcome_of_request gone;
            gone.dropped = true;
            return gone;
        }
        return door->receive(
            request.method, request.target, request.content_type, request.accept, request.body
        );
    }

    std::weak_ptr<reception> door_;
};

}  // namespace

std::unique_ptr<transport> make_in_process_transport(std::weak_ptr<reception> door) {
    return std::make_unique<in_process_transport>(std::move(door));
}

}  // namespace signalbox::k8sio::server
