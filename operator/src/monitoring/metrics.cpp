// SPDX-License-Identifier: Apache-2.0
#include "monitoring/metrics.hpp"

#include "monitoring/process_facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

namespace signalbox::op {

namespace {

/// What client-go's queue and controller-runtime call one controller of many.
constexpr const char* own_name = "signalbox";

const prometheus::Histogram::BucketBoundaries fine_seconds{
    0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60};
constexpr std::array known_methods{"GET", "POST", "PUT", "PATCH", "DELETE"};
/// Counted from 0 on, so that the first of them is an increase to Prometheus; 0 is no answer.
constexpr std::array alarming_codes{0, 500, 503, 504};

double seconds(std::chrono::nanoseconds t) {
    return std::chrono::duration<double>(t).count();
}

void add_work(families& to, const running_operator& of) {
    const controller& work = *of.work;
    const metric_labels name{{"name", own_name}};
    // A replica that does not lead keeps keys for later: no one waits for them.
    to.gauge("workqueue_depth", "Jobs that wait for their turn now.")
        .add(name, of.leads() ? as_double(work.queue_depth()) : 0);
    to.counter("workqueue_adds_total", "How often a job was ready for a pass.")
        .add(name, as_double(work.keys_queued()));
    to.gauge("controller_runtime_active_workers", "Passes under way.")
        .add({{"controller", own_name}}, as_double(work.active_passes()));
    to.gauge(
          "signalbox_request_limit",
          "Requests of passes that may be in flight; fewer to a slow server."
    )
        .add({}, as_double(work.request_limit()));

    const controller_counters c = work.counters();
    to.counter("signalbox_actions_total", "Requests about objects of jobs, whatever came of them.")
        .add({{"verb", "create"}}, as_double(c.creates))
        .add({{"verb", "patch"}}, as_double(c.patches))
        .add({{"verb", "delete"}}, as_double(c.removes))
        .add({{"verb", "confirm"}}, as_double(c.confirms));
    to.counter("signalbox_status_writes_total", "Writes of statuses.")
        .add({}, as_double(c.status_writes));
    to.counter("signalbox_status_conflicts_total", "Of these, refused as stale.")
        .add({}, as_double(c.status_conflicts));
    to.counter("signalbox_refused_writes_total", "Creations refused for a reason that repeats.")
        .add({}, as_double(c.refusals));
    to.counter("signalbox_failed_requests_total", "Requests of passes without a usable answer.")
        .add({}, as_double(c.errors));
    to.counter("signalbox_stale_passes_total", "Passes put off because a view was behind.")
        .add({}, as_double(c.stale_skips));
    to.counter("signalbox_events_total", "Events that were to be written.")
        .add({}, as_double(c.events));
    to.counter("signalbox_events_dropped_total", "Of these, not written.")
        .add({}, as_double(work.dropped_events()));
    to.gauge("signalbox_pods", "Pods of jobs in view.").add({}, as_double(work.pod_count()));
}

void add_views(families& to, const running_operator& of, k8sio::steady_time start) {
    const k8sio::steady_time now = of.time->steady_now();
    const std::vector<k8sio::view_state> views = of.work->views();
    to.gauge(
        "signalbox_view_age_seconds",
        "Time since the server last said something about it, or since the start."
    );
    for (const k8sio::view_state& view : views) {
        to.add({{"resource", view.resource}}, seconds(now - std::max(view.heard_at, start)));
    }
    to.gauge("signalbox_view_synced", "1 if there was a complete list.");
    for (const k8sio::view_state& view : views) {
        to.add({{"resource", view.resource}}, view.synced ? 1 : 0);
    }
    to.gauge("signalbox_view_failing", "1 if the last list or watch of it failed.");
    for (const k8sio::view_state& view : views) {
        to.add({{"resource", view.resource}}, view.error.empty() ? 0 : 1);
    }
}

void add_process(families& to) {
    const process_facts facts = read_process_facts();
    to.counter("process_cpu_seconds_total", "User and system time of this process.")
        .add({}, facts.cpu_seconds);
    to.gauge("process_resident_memory_bytes", "Memory of this process that is in use.")
        .add({}, facts.resident_bytes);
    to.gauge("process_virtual_memory_bytes", "Address space of this process.")
        .add({}, facts.virtual_bytes);
    to.gauge("process_open_fds", "Open file descriptors.").add({}, facts.open_files);
    to.gauge("process_max_fds", "How many there may be.").add({}, facts.most_files);
    to.gauge("process_start_time_seconds", "When this process started, in Unix time.")
        .add({}, facts.start_time);
}

}  // namespace

metrics::metrics(const std::string& host, const std::string& version, job_metrics::series wanted)
    : host_(host), version_(version), jobs_(registry_, wanted) {
    queue_wait_ = &prometheus::BuildHistogram()
                       .Name("workqueue_queue_duration_seconds")
                       .Help("How long jobs waited for their turn.")
                       .Register(registry_)
                       .Add({{"name", own_name}}, fine_seconds);
    reconcile_time_ = &prometheus::BuildHistogram()
                           .Name("controller_runtime_reconcile_time_seconds")
                           .Help("How long passes took, requests included.")
                           .Register(registry_)
                           .Add({{"controller", own_name}}, fine_seconds);
    request_times_ = &prometheus::BuildHistogram()
                          .Name("rest_client_request_duration_seconds")
                          .Help("How long the API server took to answer.")
                          .Register(registry_);
    for (const char* method : known_methods) {
        for (const int code : alarming_codes) {
            requests_[{code, method}] = 0;
        }
    }
    for (const char* result : {"success", "error", "requeue", "requeue_after"}) {
        results_[result] = 0;
    }
}

void metrics::sign_of_work() {
    last_sign_ = time_ != nullptr ? time_->steady_now() : last_sign_;
}

void metrics::began(std::chrono::nanoseconds waited) {
    sign_of_work();
    queue_wait_->Observe(seconds(waited));
}

void metrics::ended(std::chrono::nanoseconds worked, const k8sio::reconcile_result& result) {
    sign_of_work();
    reconcile_time_->Observe(seconds(worked));
    const char* name = result.failed                     ? "error"
                       : result.requeue || result.behind ? "requeue"
                       : result.requeue_at               ? "requeue_after"
                                                         : "success";
    ++results_[name];
}

void metrics::exchanged(
    const k8sio::http_request& sent, int status, std::chrono::nanoseconds took
) {
    const std::string& method = sent.method;
    if (sent.target.find("/leases/") == sent.target.npos) {
        sign_of_work();
    }
    const bool known = std::ranges::find(known_methods, method) != known_methods.end();
    const std::string verb = known ? method : "other";
    ++requests_[{status, verb}];
    prometheus::Histogram*& times = request_time_[verb];
    if (times == nullptr) {
        times = &request_times_->Add({{"host", host_}, {"verb", verb}}, fine_seconds);
    }
    times->Observe(seconds(took));
}

std::string metrics::text(const running_operator& of) const {
    families out;
    out.append(registry_.Collect());
    out.counter("controller_runtime_reconcile_total", "Passes that ended, by their result.");
    for (const auto& [result, count] : results_) {
        out.add({{"controller", own_name}, {"result", result}}, as_double(count));
    }
    out.counter("rest_client_requests_total", "Requests to the API server, but for watches.");
    for (const auto& [what, count] : requests_) {
        const std::string code = what.first == 0 ? "<error>" : fmt::to_string(what.first);
        out.add({{"code", code}, {"host", host_}, {"method", what.second}}, as_double(count));
    }
    out.gauge("signalbox_build_info", "1; the version is in the label.")
        .add({{"version", version_}}, 1);
    if (!of.lease.empty()) {
        out.gauge("leader_election_master_status", "1 if this process is the leader.")
            .add({{"name", of.lease}}, of.leads() ? 1 : 0);
    }
    add_work(out, of);
    const controller& work = *of.work;
    out.gauge("signalbox_jobs_without_room", "Jobs that wait for others of their namespace to end.")
        .add({}, as_double(work.jobs_without_room()));
    jobs_.add_to(out, [&](const auto& visit) { work.for_each_job(visit); });
    add_views(out, of, start_);
    add_process(out);
    return out.text();
}

}  // namespace signalbox::op
