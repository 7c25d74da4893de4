// SPDX-License-Identifier: Apache-2.0
//
// Bounds the unary requests in flight, and keeps idle connections for reuse (REQUIREMENTS.md T1).
#pragma once

#include "client/wakeable_sleep.hpp"
#include "transport/byte_stream.hpp"

#include <deque>
#include <memory>
#include <vector>

namespace signalbox::k8sio {

class connection_pool;

/// The right to have one request in flight; given back when destroyed.
class pool_permit {
public:
    pool_permit() = default;
    explicit pool_permit(connection_pool& pool) : pool_(&pool) {}
    pool_permit(pool_permit&& other) noexcept : pool_(std::exchange(other.pool_, nullptr)) {}
    pool_permit& operator=(pool_permit&& other) noexcept {
        std::swap(pool_, other.pool_);
        return *this;
    }
    ~pool_permit();

private:
    connection_pool* pool_ = nullptr;
};

/// For the life of a stream: while there is one, idle connections are closed even if no request
/// comes. Without one they wait for the next request: a timer would keep the loop, and with it a
/// process that is done.
class stream_mark {
public:
    explicit stream_mark(connection_pool& pool);
    ~stream_mark();
    stream_mark(const stream_mark&) = delete;
    stream_mark& operator=(const stream_mark&) = delete;

private:
    connection_pool* pool_;
};

class connection_pool {
public:
    connection_pool(clock& time, std::size_t max_in_flight, std::size_t max_idle)
        : time_(&time), max_in_flight_(max_in_flight), max_idle_(max_idle) {}
    ~connection_pool() { time_->cancel(timer_); }
    connection_pool(const connection_pool&) = delete;
    connection_pool& operator=(const connection_pool&) = delete;

    /// Waits its turn, first come first served. Errors: connect, cancelled.
    boost::asio::awaitable<result<pool_permit>> enter(steady_time deadline);

    /// The idle connection used last that still looks alive, or none. One that is not used for a
    /// minute is closed, with the next request or by a stream_mark: each holds memory here and at
    /// the server.
    std::unique_ptr<byte_stream> take_idle();
    void give_back(std::unique_ptr<byte_stream> connection);
    /// One kept connection was found dead: the others are of the same age.
    void drop_idle() { idle_.clear(); }
    std::size_t idle_size() const { return idle_.size(); }

private:
    friend class pool_permit;
    friend class stream_mark;
    struct waiter {
        sleep_waker waker;
        bool granted = false;
    };
    struct idle_connection {
        std::unique_ptr<byte_stream> stream;
        steady_time since;
    };
    void leave();
    void drop_old();

    clock* time_;
    clock::timer_id timer_ = 0;  // at the latest when the oldest idle one is too old; 0: none set
    std::size_t max_in_flight_, max_idle_;
    std::size_t in_flight_ = 0;
    std::size_t streams_ = 0;
    std::deque<waiter*> waiters_;
    std::vector<idle_connection> idle_;
};

}  // namespace signalbox::k8sio
