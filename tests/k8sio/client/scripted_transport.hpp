// SPDX-License-Identifier: Apache-2.0
//
// A transport whose answers a test writes down, and whose Nth operation can be made to fail.
#pragma once

#include "client/wakeable_sleep.hpp"
#include "k8sio/transport.hpp"

#include <boost/asio/this_coro.hpp>

#include <deque>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

namespace signalbox::k8sio {

/// So that failed assertions on results can be printed.
inline std::ostream& operator<<(std::ostream& out, const api_error& error) {
    return out << error.text();
}

}  // namespace signalbox::k8sio

namespace signalbox::k8sio::test {

inline http_response answer(int status, std::string body, std::string type = "application/json") {
    http_response made;
    made.status = status;
    made.headers.emplace_back("Content-Type", std::move(type));
    made.body = std::move(body);
    return made;
}

inline api_error failure(errc code, std::string message = "injected") {
    api_error made;
    made.code = code;
    made.message = std::move(message);
    return made;
}

/// What a stream gives: pieces, then its end; without `ends` it waits for more.
class stream_script {
public:
    stream_script() = default;
    int status = 200;
    std::vector<std::pair<std::string, std::string>> headers;
    std::deque<result<std::string>> pieces;
    bool ends = false;
    bool outdated = false;
    sleep_waker more;
};

class scripted_transport final : public transport {
public:
    using operation_hook = std::function<std::optional<api_error>(std::size_t number)>;

    explicit scripted_transport(clock& time) : time_(&time) {}

    std::function<result<http_response>(const http_request&)> on_exchange;
    std::function<result<std::shared_ptr<stream_script>>(const http_request&)> on_open;
    /// How long on_exchange takes, of virtual time.
    std::chrono::nanoseconds latency{};
    /// Asked before each operation (exchange, open, read); an error ends the operation.
    operation_hook fail;
    std::vector<http_request> requests;
    std::size_t operations = 0;

    boost::asio::awaitable<result<http_response>> exchange(const http_request& request, steady_time)
        override {
        const auto injected = next_failure();
        requests.push_back(request);
        if (injected) {
            co_return *injected;
        }
        if (latency.count() > 0) {
            const bool whole = co_await sleep_for(*time_, latency);
            if (!whole) {
                co_return failure(errc::cancelled);
            }
        }
        co_return on_exchange(request);
    }

    boost::asio::awaitable<result<std::unique_ptr<response_stream>>> open_stream(
        const http_request& request, std::chrono::nanoseconds idle
    ) override {
        const auto injected = next_failure();
        requests.push_back(request);
        if (injected) {
            co_return *injected;
        }
        auto script = on_open(request);
        if (script.has_error()) {
            co_return script.error();
        }
        std::unique_ptr<response_stream> made = std::make_unique<stream>(*this, *script, idle);
        co_return made;
    }

private:
    class stream final : public response_stream {
    public:
        stream(
            scripted_transport& owner,
            std::shared_ptr<stream_script> script,
            std::chrono::nanoseconds idle
        )
            : owner_(&owner), script_(std::move(script)), idle_(idle) {}

        int status() const override { return script_->status; }
        std::string_view header(std::string_view name) const override {
            for (const auto& [key, value] : script_->headers) {
                if (key == name) {
                    return value;
                }
            }
            return {};
        }
        boost::asio::awaitable<result<std::string_view>> read_some() override {
            const auto injected = owner_->next_failure();
            if (injected) {
                co_return *injected;
            }
            const steady_time until = owner_->time_->steady_now() +
                                      std::chrono::duration_cast<steady_time::duration>(idle_);
            while (script_->pieces.empty() && !script_->ends && !closed_) {
                const wake_reason reason =
                    co_await sleep_until(*owner_->time_, until, script_->more);
                if (reason == wake_reason::time) {
                    co_return failure(errc::timeout, "idle");
                }
                if (reason == wake_reason::cancelled) {
                    closed_ = true;
                }
            }
            if (closed_) {
                co_return failure(errc::cancelled);
            }
            if (script_->pieces.empty()) {
                co_return std::string_view();
            }
            last_ = std::move(script_->pieces.front());
            script_->pieces.pop_front();
            if (last_.has_error()) {
                co_return last_.error();
            }
            co_return std::string_view(*last_);
        }
        void close() override {
            closed_ = true;
            script_->more.wake();
        }
        bool outdated() const override { return script_->outdated; }

    private:
        scripted_transport* owner_;
        std::shared_ptr<stream_script> script_;
        std::chrono::nanoseconds idle_;
        result<std::string> last_;
        bool closed_ = false;
    };

    std::optional<api_error> next_failure() {
        const std::size_t number = operations++;
        return fail ? fail(number) : std::nullopt;
    }

    clock* time_;
};

}  // namespace signalbox::k8sio::test
