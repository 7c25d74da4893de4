// SPDX-License-Identifier: Apache-2.0
//
// What the operator counts, under the names of controller-runtime and client-go where they have
// one, and as text for Prometheus. No label has more values than are known here: no names of jobs,
// namespaces or pods, but where series of single jobs were asked for.
#pragma once

#include "controller/run.hpp"
#include "job_metrics/job_metrics.hpp"

#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace signalbox::op {

class metrics final : public k8sio::reconcile_observer {
public:
    /// `host`: the API server, `address:port`; `version`: of this program; `wanted`: of jobs.
    metrics(
        const std::string& host,
        const std::string& version,
        job_metrics::series wanted = job_metrics::series::of_kinds
    );
    /// Before anything is told: whose clock counts.
    void use(k8sio::clock& time) {
        time_ = &time;
        start_ = time.steady_now();
    }

    // What is told.
    void began(std::chrono::nanoseconds waited) override;
    void ended(std::chrono::nanoseconds worked, const k8sio::reconcile_result& result) override;
    /// A request for the Lease is no sign that passes move.
    void exchanged(const k8sio::http_request& sent, int status, std::chrono::nanoseconds took);
    void status_written(
        const core::job_object& before, const core::job_status& after, core::instant now
    ) {
        jobs_.status_written(before, after, now);
    }

    /// When a pass began or ended last, or a request was answered or given up.
    k8sio::steady_time last_sign_of_work() const { return last_sign_; }

    /// All of it in the text format, with what `of` says now.
    std::string text(const running_operator& of) const;

private:
    std::string host_;
    std::string version_;
    prometheus::Registry registry_;
    prometheus::Histogram* queue_wait_ = nullptr;
    prometheus::Histogram* reconcile_time_ = nullptr;
    prometheus::Family<prometheus::Histogram>* request_times_ = nullptr;
    std::map<std::string, std::uint64_t> results_;  // of reconciles
    std::map<std::pair<int, std::string>, std::uint64_t> requests_;
    std::map<std::string, prometheus::Histogram*> request_time_;  // by method
    job_metrics jobs_;
    k8sio::clock* time_ = nullptr;
    k8sio::steady_time start_;
    k8sio::steady_time last_sign_;
    void sign_of_work();
};

}  // namespace signalbox::op
