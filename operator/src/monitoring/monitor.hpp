// SPDX-License-Identifier: Apache-2.0
//
// What a running operator shows of itself over HTTP: health, metrics, explanations.
#pragma once

#include "controller/run.hpp"
#include "http/http_server.hpp"
#include "monitoring/health.hpp"
#include "monitoring/metrics.hpp"
#include "monitoring/probes.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace signalbox::op {

struct monitor_options {
    /// `/metrics`, `/debug/...` and the health endpoints; an empty address: none of it.
    http_server_options metrics;
    /// The health endpoints alone, for probes, without TLS and token; empty: none.
    std::string health_address;
    std::string version;
    std::function<std::string()> more_metrics;  ///< in the text format; may be empty
    job_metrics::series series = job_metrics::series::of_kinds;
};

/// Nothing here waits: answers are made at once from what is in memory.
class monitor final : public attachment {
public:
    explicit monitor(monitor_options options) : options_(std::move(options)) {}

    /// Sets the hooks of `options`, whose cluster must be known, if there is anything to show.
    void attach_to(run_options& options);

    std::string begin(const running_operator& of) override;
    void stopping() override;
    void end() override;

    /// The answer of the server that has metrics.
    http_answer answer(const http_question& question);

private:
    void look();
    http_answer answer_debug(const http_question& question) const;
    http_answer answer_log_level(const http_question& question) const;
    http_answer explain(std::string_view ns, std::string_view name) const;

    monitor_options options_;
    std::optional<metrics> metrics_;
    std::optional<health> health_;
    running_operator of_;
    std::unique_ptr<http_server> metrics_server_;
    std::unique_ptr<probe_server> probes_;
    k8sio::clock::timer_id timer_ = 0;
};

}  // namespace signalbox::op
