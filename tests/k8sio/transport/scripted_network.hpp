// SPDX-License-Identifier: Apache-2.0
//
// Connections whose peer a test writes down, and whose Nth operation fails or hangs.
#pragma once

#include "client/scripted_transport.hpp"
#include "client/wakeable_sleep.hpp"
#include "transport/byte_stream.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace signalbox::k8sio::test {

enum class fault {
    none,
    fail,  ///< the connection is lost
    hang,  ///< nothing happens until it is closed or cancelled
};

/// What all connections of one test share.
struct network {
    explicit network(clock& c) : time(&c) {}

    clock* time;
    /// The bytes that answer a request; the connection ends after them if `ends`.
    std::function<std::string(const std::string& request)> respond;
    bool ends = false;
    std::size_t piece = 1000000;  ///< bytes per read
    std::size_t at = SIZE_MAX;    ///< which operation has the fault
    fault what = fault::none;
    bool alive = true;  ///< how idle connections look

    std::size_t operations = 0;
    int connections = 0;
    int open = 0;
    std::vector<std::string> requests;
};

class scripted_stream final : public byte_stream {
public:
    explicit scripted_stream(network& shared) : net_(&shared) { ++net_->open; }
    ~scripted_stream() override { --net_->open; }

    boost::asio::awaitable<result<std::size_t>> read_some(char* data, std::size_t size) override {
        auto trouble = co_await step();
        if (trouble) {
            co_return *trouble;
        }
        if (inbox_.empty() && !net_->ends) {
            auto silence = co_await hang();
            co_return silence;
        }
        const std::size_t count = std::min({size, net_->piece, inbox_.size()});
        inbox_.copy(data, count);
        inbox_.erase(0, count);
        co_return count;
    }
    boost::asio::awaitable<result<std::size_t>> write_all(std::string_view bytes) override {
        auto trouble = co_await step();
        if (trouble) {
            co_return *trouble;
        }
        net_->requests.emplace_back(bytes);
        inbox_ += net_->respond(net_->requests.back());
        co_return bytes.size();
    }
    void close() override {
        closed_ = true;
        waker_.wake();
    }
    bool looks_alive() override { return net_->alive; }

private:
    boost::asio::awaitable<std::optional<api_error>> step() {
        const std::size_t number = net_->operations++;
        co_await boost::asio::post(boost::asio::use_awaitable);  // as a socket: never at once
        if (number == net_->at && net_->what == fault::fail) {
            co_return failure(errc::connection_lost);
        }
        if (number == net_->at && net_->what == fault::hang) {
            const api_error ended = co_await hang();
            co_return ended;
        }
        if (closed_) {
            co_return failure(errc::cancelled);
        }
        co_return std::nullopt;
    }
    boost::asio::awaitable<api_error> hang() {
        const steady_time far = net_->time->steady_now() + std::chrono::hours{1000};
        co_await sleep_until(*net_->time, far, waker_);
        co_return failure(errc::cancelled);
    }

    network* net_;
    sleep_waker waker_;
    std::string inbox_;
    bool closed_ = false;
};

class scripted_connector final : public connector {
public:
    explicit scripted_connector(network& shared) : net_(&shared) {}

    boost::asio::awaitable<result<std::unique_ptr<byte_stream>>> connect(steady_time deadline
    ) override {
        const std::size_t number = net_->operations++;
        if (number == net_->at && net_->what == fault::fail) {
            co_return failure(errc::connect);
        }
        if (number == net_->at && net_->what == fault::hang) {
            const bool reached = co_await sleep_until(*net_->time, deadline);
            if (reached) {
                co_return failure(errc::connect);
            }
            co_return failure(errc::cancelled);
        }
        ++net_->connections;
        std::unique_ptr<byte_stream> made = std::make_unique<scripted_stream>(*net_);
        co_return made;
    }

private:
    network* net_;
};

}  // namespace signalbox::k8sio::test
