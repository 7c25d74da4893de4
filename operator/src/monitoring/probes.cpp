// SPDX-License-Identifier: Apache-2.0
#include "monitoring/probes.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/use_future.hpp>

#include <fmt/format.h>

#include <future>
#include <utility>

namespace signalbox::op {

namespace asio = boost::asio;

std::optional<http_answer> answer_probe(
    const http_question& question, const health_checks& checks
) {
    for (const std::string_view endpoint : {"/livez", "/readyz", "/healthz"}) {
        const auto only = below(question.path, endpoint);
        if (!only) {
            continue;
        }
        if (!question.reads()) {
            return plain_answer(405, "GET is expected\n");
        }
        health_answer given =
            answer_health(endpoint.substr(1), *only, question.query, checks(endpoint == "/readyz"));
        return plain_answer(given.status, std::move(given.text));
    }
    return std::nullopt;
}

void health_board::show(const health& now) {
    auto liveness = now.liveness();
    auto readiness = now.readiness();
    const std::lock_guard lock(mutex_);
    liveness_ = std::move(liveness);
    readiness_ = std::move(readiness);
}

std::vector<health_check> health_board::checks(bool ready, std::chrono::nanoseconds silence) const {
    std::unique_lock lock(mutex_);
    std::vector<health_check> out = ready ? readiness_ : liveness_;
    lock.unlock();
    const auto seconds = std::chrono::floor<std::chrono::seconds>(silence).count();
    const bool hangs = silence > patience;
    out.push_back({"loop", hangs ? fmt::format("no sign of life for {} s", seconds) : ""});
    return out;
}

probe_server::probe_server(asio::any_io_executor loop, const k8sio::heartbeat& beat)
    : loop_(std::move(loop)), beat_(&beat) {}

probe_server::~probe_server() {
    const auto end = [this] {
        server_.reset();
        time_.reset();
    };
    asio::post(loop_, asio::use_future(end)).wait();
}

std::string probe_server::start(const std::string& address) {
    const auto begin = [this, &address] {
        http_server_options options;
        options.address = address;
        time_ = k8sio::make_machine_clock(loop_);
        server_ = std::make_unique<http_server>(
            loop_,
            *time_,
            std::move(options),
            [this](const http_question& question) { return answer(question); }
        );
        return server_->start();
    };
    return asio::post(loop_, asio::use_future(begin)).get();
}

std::string probe_server::address() const {
    return server_->address();
}

http_answer probe_server::answer(const http_question& question) const {
    auto answer = answer_probe(question, [this](bool ready) {
        return board_.checks(ready, beat_->age(time_->steady_now()));
    });
    return answer ? std::move(*answer) : plain_answer(404, "/livez and /readyz are here\n");
}

}  // namespace signalbox::op
