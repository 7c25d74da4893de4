// SPDX-License-Identifier: Apache-2.0
#include "monitoring/metrics.hpp"

#include "monitoring/process_facts.hpp"

#include <jobcore/schema.hpp>

#include <fmt/format.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <vector>

namespace signalbox::op {

namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using labels = std::vector<ClientMetric::Label>;

/// What client-go's queue and controller-runtime call one controller of many.
constexpr const char* own_name = "signalbox";

const prometheus::Histogram::BucketBoundaries fine_seconds{
    0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60};
const prometheus::Histogram::BucketBoundaries coarse_seconds{
    1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600};

/// Of a job that has no status yet it is `New`.
constexpr std::array shown_phases{
    core::job_phase::none,
    core::job_phase::pending,
    core::job_phase::running,
    core::job_phase::paused,
    core::job_phase::resuming,
    core::job_phase::succeeded,
    core::job_phase::failed,
    core::job_phase::unknown};

constexpr std::array known_methods{"GET", "POST", "PUT", "PATCH", "DELETE"};
/// Counted from 0 on, so that the first of them is an increase to Prometheus; 0 is no answer.
constexpr std::array alarming_codes{0, 500, 503, 504};

/// `restarts.last.cause`, as BEHAVIOUR.md api 5.4 lists them. Others, of a newer version's status,
/// are one.
constexpr std::array<std::string_view, 9> known_causes{
    "PodDisrupted",
    "PodFailed",
    "PodRejected",
    "PodVanished",
    "SecretLost",
    "Stalled",
    "WorkerExited",
    "WorkersUnreachable",
    "WorkersUnreachableAgain"};

double seconds(std::chrono::nanoseconds t) {
    return std::chrono::duration<double>(t).count();
}

std::string kind_label(core::job_kind kind) {
    return std::string(core::to_string(kind));
}

/// Families one after the other.
class families {
public:
    families& begin(const char* name, const char* help, MetricType type) {
        all_.emplace_back();
        all_.back().name = name;
        all_.back().help = help;
        all_.back().type = type;
        return *this;
    }
    families& counter(const char* name, const char* help) {
        return begin(name, help, MetricType::Counter);
    }
    families& gauge(const char* name, const char* help) {
        return begin(name, help, MetricType::Gauge);
    }
    families& add(labels with, double value) {
        ClientMetric& m = all_.back().metric.emplace_back();
        m.label = std::move(with);
        (all_.back().type == MetricType::Counter ? m.counter.value : m.gauge.value) = value;
        return *this;
    }
    void append(std::vector<MetricFamily> more) {
        all_.insert(
            all_.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end())
        );
    }
    /// In order of names, as they are looked up by people.
    std::string text() {
        std::ranges::sort(all_, {}, &MetricFamily::name);
        return prometheus::TextSerializer().Serialize(all_);
    }

private:
    std::vector<MetricFamily> all_;
};

template <class Number>
double as_double(Number n) {
    return static_cast<double>(n);
}

void add_work(families& to, const running_operator& of) {
    const controller& work = *of.work;
    const labels name{{"name", own_name}};
    // A replica that does not lead keeps keys for later: no one waits for them.
    to.gauge("workqueue_depth", "Jobs that wait for their turn now.")
        .add(name, of.leads() ? as_double(work.queue_depth()) : 0);
    to.counter("workqueue_adds_total", "How often a job was ready for a pass.")
        .add(name, as_double(work.keys_queued()));
    to.gauge("controller_runtime_active_workers", "Passes under way.")
        .add({{"controller", own_name}}, as_double(work.active_passes()));

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

void add_jobs(families& to, const controller& work) {
    const auto jobs = work.jobs_by_phase();
    to.gauge("signalbox_jobs_without_room", "Jobs that wait for others of their namespace to end.")
        .add({}, as_double(work.jobs_without_room()));
    to.gauge("signalbox_jobs", "Jobs in view, by kind and phase.");
    for (const core::job_kind kind : core::all_job_kinds) {
        for (const core::job_phase phase : shown_phases) {
            const auto found = jobs.find({kind, phase});
            const std::string_view name =
                phase == core::job_phase::none ? "New" : core::to_string(phase);
            to.add(
                {{"kind", kind_label(kind)}, {"phase", std::string(name)}},
                found == jobs.end() ? 0 : as_double(found->second)
            );
        }
    }
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

/// Both conditions are False from the first status on, and Completed stays so: Running has moved if
/// the job has run. Times are whole seconds: a run that ended in the second of the first status is
/// not seen.
bool has_run(const core::job_status& status) {
    const core::condition* running = core::find_condition(status, "Running");
    const core::condition* completed = core::find_condition(status, "Completed");
    return running != nullptr && completed != nullptr &&
           running->last_transition != completed->last_transition;
}

/// What was lost since the job left Running, or since its last incident if it was never seen to
/// run; nothing after a pause, which is no loss.
core::milliseconds lost_time(const core::job_status& before, core::instant now) {
    const core::condition* running = core::find_condition(before, "Running");
    if (before.phase == core::job_phase::paused || before.phase == core::job_phase::resuming ||
        running == nullptr || running->status) {
        return core::milliseconds{0};
    }
    const std::optional<core::instant> since = has_run(before)        ? running->last_transition
                                               : before.restarts.last ? before.restarts.last->time
                                                                      : std::nullopt;
    // A node's clock may be ahead, and a counter must not fall.
    return since ? std::max(now - *since, core::milliseconds{0}) : core::milliseconds{0};
}

}  // namespace

metrics::metrics(const std::string& host, const std::string& version)
    : host_(host), version_(version) {
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
    auto& to_running = prometheus::BuildHistogram()
                           .Name("signalbox_job_time_to_running_seconds")
                           .Help("From the creation of a job until all its replicas first ran.")
                           .Register(registry_);
    for (const core::job_kind kind : core::all_job_kinds) {
        kinds_[kind].time_to_running =
            &to_running.Add({{"kind", kind_label(kind)}}, coarse_seconds);
        for (const std::string_view cause : known_causes) {
            kinds_[kind].restarts[std::string(cause)] = 0;
        }
    }
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

void metrics::status_written(
    const core::job_object& before, const core::job_status& after, core::instant now
) {
    per_kind& kind = kinds_[before.meta.kind];
    const core::job_status& was = before.status;
    const bool incident = after.backoff_count > was.backoff_count ||
                          after.restarts.disruptions > was.restarts.disruptions;
    if (incident && after.restarts.last) {
        const auto known = kind.restarts.find(after.restarts.last->cause);
        ++(known != kind.restarts.end() ? known->second : kind.restarts["Other"]);
    }
    const bool runs_now =
        after.phase == core::job_phase::running && was.phase != core::job_phase::running;
    if (!runs_now) {
        return;
    }
    if (!has_run(was) && before.meta.creation_time) {
        kind.time_to_running->Observe(seconds(now - *before.meta.creation_time));
    }
    kind.time_lost += seconds(lost_time(was, now));
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
    out.counter("signalbox_job_restarts_total", "Incidents of jobs, by kind and cause.");
    for (const auto& [kind, told] : kinds_) {
        for (const auto& [cause, count] : told.restarts) {
            out.add({{"kind", kind_label(kind)}, {"reason", cause}}, as_double(count));
        }
    }
    out.counter(
        "signalbox_job_time_lost_to_restarts_seconds_total",
        "Time from leaving Running by an incident until jobs ran again."
    );
    for (const auto& [kind, told] : kinds_) {
        out.add({{"kind", kind_label(kind)}}, told.time_lost);
    }
    out.gauge("signalbox_build_info", "1; the version is in the label.")
        .add({{"version", version_}}, 1);
    if (!of.lease.empty()) {
        out.gauge("leader_election_master_status", "1 if this process is the leader.")
            .add({{"name", of.lease}}, of.leads() ? 1 : 0);
    }
    add_work(out, of);
    add_jobs(out, *of.work);
    add_views(out, of, start_);
    add_process(out);
    return out.text();
}

}  // namespace signalbox::op
