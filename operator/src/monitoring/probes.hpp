// SPDX-License-Identifier: Apache-2.0
//
// `/livez` and `/readyz`, also while the thread that decides computes (REQUIREMENTS.md B9).
#pragma once

#include "http/http_server.hpp"
#include "k8sio/loop_thread.hpp"
#include "monitoring/health.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace signalbox::op {

/// What is checked, for `/readyz` or for the others.
using health_checks = std::function<std::vector<health_check>(bool ready)>;

/// The answer to a request for `/livez`, `/readyz`, `/healthz` or what is below them.
std::optional<http_answer> answer_probe(const http_question& question, const health_checks& checks);

/// What health last said. Any thread may call it.
class health_board {
public:
    /// The thread that decides hangs if it gives no sign of life for so long.
    static constexpr std::chrono::nanoseconds patience = std::chrono::minutes{1};

    void show(const health& now);
    /// With one check more, `loop`. `silence`: how long ago the last sign of life was.
    std::vector<health_check> checks(bool ready, std::chrono::nanoseconds silence) const;

private:
    mutable std::mutex mutex_;
    std::vector<health_check> liveness_;
    std::vector<health_check> readiness_;
};

/// Answers probes on a loop of another thread.
class probe_server {
public:
    /// `loop` must be run by another thread until this object is destroyed.
    probe_server(boost::asio::any_io_executor loop, const k8sio::heartbeat& beat);
    /// Waits for the other thread.
    ~probe_server();
    probe_server(const probe_server&) = delete;
    probe_server& operator=(const probe_server&) = delete;

    /// Begins to listen; gives why it cannot, or an empty text. Waits for the other thread.
    std::string start(const std::string& address);
    /// Where it listens, after start().
    std::string address() const;
    void show(const health& now) { board_.show(now); }

private:
    http_answer answer(const http_question& question) const;

    boost::asio::any_io_executor loop_;
    const k8sio::heartbeat* beat_;
    health_board board_;
    std::unique_ptr<k8sio::clock> time_;
    std::unique_ptr<http_server> server_;
};

}  // namespace signalbox::op
