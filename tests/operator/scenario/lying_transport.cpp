// SPDX-License-Identifier: Apache-2.0
#include "scenario/lying_transport.hpp"

#include "scenario/mortal_transport.hpp"

#include <array>
#include <chrono>
#include <deque>
#include <utility>

namespace signalbox::test {

namespace asio = boost::asio;

namespace {

std::string status_json(int code, const std::string& reason) {
    return R"({"kind":"Status","apiVersion":"v1","status":"Failure","reason":")" + reason +
           R"(","code":)" + std::to_string(code) + "}";
}

k8sio::http_response refusal(int code, const std::string& reason) {
    k8sio::http_response made;
    made.status = code;
    made.headers.emplace_back("Content-Type", "application/json");
    made.body = status_json(code, reason);
    return made;
}

k8sio::http_response web_page() {
    k8sio::http_response made;
    made.status = 200;
    made.headers.emplace_back("Content-Type", "text/html");
    made.body = "<html><body>please wait</body></html>";
    return made;
}

constexpr const char* gone_event =
    R"({"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","code":410,"reason":"Expired"}})"
    "\n";

}  // namespace

/// Deals with one line at a time, as the server writes them.
class lying_transport::stream final : public k8sio::response_stream {
public:
    stream(std::unique_ptr<k8sio::response_stream> inner, std::string target, storm& how)
        : inner_(std::move(inner)), target_(std::move(target)), storm_(&how) {}

    int status() const override { return inner_->status(); }
    std::string_view header(std::string_view name) const override { return inner_->header(name); }
    void close() override { inner_->close(); }
    asio::awaitable<k8sio::result<std::string_view>> read_some() override {
        std::string_view next;
        while (lines_.empty() && !ended_) {
            auto piece = co_await inner_->read_some();
            if (piece.has_error() || piece->empty()) {
                co_return piece;
            }
            take(*piece);
        }
        if (!lines_.empty()) {
            current_ = std::move(lines_.front());
            lines_.pop_front();
            next = current_;
        }
        co_return next;
    }

private:
    void take(std::string_view piece) {
        rest_ += piece;
        for (std::size_t end = rest_.find('\n'); end != std::string::npos && !ended_;
             end = rest_.find('\n')) {
            pass(rest_.substr(0, end + 1));
            rest_.erase(0, end + 1);
        }
    }

    void pass(std::string line) {
        if (storm_->loses && storm_->loses(target_, line)) {
            return;
        }
        if (!storm_->hits()) {
            earlier_ = line;
            lines_.push_back(std::move(line));
            return;
        }
        const std::size_t half = 1 + storm_->below(line.size() - 1);
        switch (storm_->below(8)) {
            case 0:
                storm_->count("line cut");
                lines_.push_back(line.substr(0, half) + "\n");
                break;
            case 1:
                storm_->count("line cut without an end");
                lines_.push_back(line.substr(0, half));
                break;
            case 2:
                storm_->count("front of a line cut");
                lines_.push_back(line.substr(half));
                break;
            case 3:
                storm_->count("line replaced by null");
                lines_.emplace_back("null\n");
                break;
            case 4:
                storm_->count("line repeated");
                lines_.push_back(line);
                lines_.push_back(std::move(line));
                break;
            case 5:
                storm_->count("earlier line repeated");
                lines_.push_back(std::move(line));
                lines_.push_back(earlier_);
                break;
            case 6:
                storm_->count("410");
                lines_.emplace_back(gone_event);
                break;
            default:
                storm_->count("early end");
                ended_ = true;
                break;
        }
    }

    std::unique_ptr<k8sio::response_stream> inner_;
    std::string target_;
    storm* storm_;
    std::string rest_, current_, earlier_;
    std::deque<std::string> lines_;
    bool ended_ = false;
};

asio::awaitable<k8sio::result<k8sio::http_response>> lying_transport::exchange(
    const k8sio::http_request& asked, k8sio::steady_time deadline
) {
    const bool silenced = storm_->silences && storm_->silences(asked);
    if (silenced) {
        auto unheard = co_await inner_->exchange(asked, deadline);
        co_return error_of(k8sio::errc::connection_lost, asked);
    }
    if (!storm_->hits()) {
        auto honest = co_await inner_->exchange(asked, deadline);
        co_return honest;
    }
    const std::uint64_t what = storm_->below(8);
    if (what == 0) {
        storm_->count("request cut before its effect");
        co_return error_of(k8sio::errc::connection_lost, asked);
    }
    if (what == 1) {
        constexpr std::array<std::pair<int, const char*>, 3> refusals{
            {{401, "Unauthorized"}, {429, "TooManyRequests"}, {500, "InternalError"}}};
        const auto& [code, reason] = refusals[storm_->below(refusals.size())];
        storm_->count(reason);
        co_return refusal(code, reason);
    }
    if (what == 2) {
        storm_->count("request late");
        const auto late = std::chrono::milliseconds{storm_->below(3000)};
        co_await k8sio::sleep_for(*time_, late);
    }
    k8sio::http_request request = asked;
    if (what == 3 && asked.on_body) {
        storm_->count("list truncated");
        request.on_body = [&asked](std::string_view piece) {
            asked.on_body(piece.substr(0, piece.size() / 2));
            return false;
        };
    }
    auto answer = co_await inner_->exchange(request, deadline);
    if (what == 4) {
        storm_->count("request cut behind its effect");
        co_return error_of(k8sio::errc::connection_lost, asked);
    }
    if (what == 5) {
        storm_->count("500 behind its effect");
        co_return refusal(500, "InternalError");
    }
    if (what == 6 && !asked.on_body) {
        storm_->count("web page");
        co_return web_page();
    }
    if (what == 7) {
        storm_->count("answer late");
        const auto late = std::chrono::milliseconds{storm_->below(3000)};
        co_await k8sio::sleep_for(*time_, late);
    }
    co_return answer;
}

asio::awaitable<k8sio::result<std::unique_ptr<k8sio::response_stream>>>
lying_transport::open_stream(const k8sio::http_request& request, std::chrono::nanoseconds idle) {
    const bool hit = storm_->hits();
    if (hit) {
        storm_->count("watch cut before it is open");
        co_return error_of(k8sio::errc::connection_lost, request);
    }
    auto opened = co_await inner_->open_stream(request, idle);
    if (opened.has_error()) {
        co_return std::move(opened).error();
    }
    std::unique_ptr<k8sio::response_stream> made =
        std::make_unique<stream>(std::move(*opened), request.target, *storm_);
    co_return made;
}

}  // namespace signalbox::test
