// SPDX-License-Identifier: Apache-2.0
#include "scenario/mortal_transport.hpp"

#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <utility>

namespace signalbox::test {

namespace asio = boost::asio;

k8sio::api_error error_of(k8sio::errc code, const k8sio::http_request& request) {
    k8sio::api_error error;
    error.code = code;
    error.method = request.method;
    error.path = request.target.substr(0, request.target.find('?'));
    return error;
}

/// Passes pieces on and lets itself be closed when the process dies.
class mortal_transport::stream final : public k8sio::response_stream {
public:
    stream(
        mortal_transport& owner,
        std::unique_ptr<k8sio::response_stream> inner,
        std::string target,
        boost::asio::any_io_executor executor
    )
        : owner_(&owner),
          inner_(std::move(inner)),
          target_(std::move(target)),
          released_(std::move(executor)) {
        owner_->streams_.push_back(this);
    }
    ~stream() override { std::erase(owner_->streams_, this); }

    int status() const override { return inner_->status(); }
    std::string_view header(std::string_view name) const override { return inner_->header(name); }
    asio::awaitable<k8sio::result<std::string_view>> read_some() override {
        auto piece = co_await inner_->read_some();
        while (is_held()) {
            co_await released_.wait();
        }
        co_return piece;
    }
    void close() override {
        closed_ = true;
        release();
        inner_->close();
    }
    void release() { released_.notify(); }

private:
    bool is_held() const {
        const std::string& part = owner_->held_part_;
        return !closed_ && !part.empty() && target_.find(part) != std::string::npos;
    }

    mortal_transport* owner_;
    std::unique_ptr<k8sio::response_stream> inner_;
    std::string target_;
    k8sio::notification released_;
    bool closed_ = false;
};

mortal_transport::mortal_transport(std::unique_ptr<k8sio::transport> inner)
    : inner_(std::move(inner)) {}

mortal_transport::~mortal_transport() = default;

void mortal_transport::lose(std::size_t number, loss how, bool fatal) {
    lose_number_ = number;
    lose_how_ = how;
    lose_is_fatal_ = fatal;
}

void mortal_transport::release_streams() {
    held_part_.clear();
    const auto streams = streams_;
    for (stream* s : streams) {
        s->release();
    }
}

void mortal_transport::release_answers() {
    held_answers_.clear();
    for (const auto& held : std::exchange(held_, {})) {
        held->notify();
    }
}

void mortal_transport::die() {
    dead_ = true;
    release_answers();
    const auto streams = streams_;
    for (stream* s : streams) {
        s->close();
    }
}

asio::awaitable<k8sio::result<k8sio::http_response>> mortal_transport::exchange(
    const k8sio::http_request& asked, k8sio::steady_time deadline
) {
    k8sio::http_request request = asked;
    bool hit = false;
    if (dead_) {
        co_return error_of(k8sio::errc::cancelled, request);
    }
    if (before) {
        before(request);
    }
    if (admit) {
        admit(request);
    }
    const bool writing = request.method != "GET";
    if (writing) {
        writes_.push_back({request.method, request.target, request.body});
        hit = writes_.size() == lose_number_;
    }
    if (hit && lose_how_ == loss::request) {
        if (lose_is_fatal_) {
            die();
        }
        co_return error_of(k8sio::errc::connection_lost, request);
    }
    in_flight_ += writing ? 1 : 0;
    most_in_flight_ = std::max(most_in_flight_, in_flight_);
    auto answer = co_await inner_->exchange(request, deadline);
    const std::string line = request.method + " " + request.target;
    if (!held_answers_.empty() && line.find(held_answers_) != std::string::npos) {
        const asio::any_io_executor executor = co_await asio::this_coro::executor;
        const auto held = std::make_shared<k8sio::notification>(executor);
        held_.push_back(held);
        co_await held->wait();
    }
    in_flight_ -= writing ? 1 : 0;
    if (on_answer && answer.has_value()) {
        on_answer(*answer);
    }
    if (hit && lose_is_fatal_) {
        die();
    }
    if (dead_) {
        co_return error_of(k8sio::errc::cancelled, request);
    }
    if (hit) {
        co_return error_of(k8sio::errc::connection_lost, request);
    }
    co_return answer;
}

asio::awaitable<k8sio::result<std::unique_ptr<k8sio::response_stream>>>
mortal_transport::open_stream(const k8sio::http_request& request, std::chrono::nanoseconds idle) {
    std::unique_ptr<k8sio::response_stream> opened;
    if (before) {
        before(request);
    }
    if (dead_) {
        co_return error_of(k8sio::errc::cancelled, request);
    }
    if (streams_refused_) {
        co_return error_of(k8sio::errc::connect, request);
    }
    auto answer = co_await inner_->open_stream(request, idle);
    if (answer.has_error()) {
        co_return std::move(answer).error();
    }
    if (dead_) {
        co_return error_of(k8sio::errc::cancelled, request);
    }
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    opened = std::make_unique<stream>(*this, std::move(*answer), request.target, executor);
    co_return opened;
}

}  // namespace signalbox::test
