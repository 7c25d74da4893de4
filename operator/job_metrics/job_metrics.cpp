// SPDX-License-Identifier: Apache-2.0
#include "job_metrics/job_metrics.hpp"

#include <jobcore/account.hpp>
#include <jobcore/cause.hpp>
#include <jobcore/strings.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace signalbox::op {

namespace {

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

/// Why a pod was taken away: reasons of the condition `DisruptionTarget`, and of pods that a node
/// has ended. Others are one.
constexpr std::array<std::string_view, 8> known_disruptions{
    "DeletionByPodGC",
    "DeletionByTaintManager",
    "Evicted",
    "EvictionByEvictionAPI",
    "NodeShutdown",
    "Preempting",
    "PreemptionByScheduler",
    "TerminationByKubelet"};

/// Why Kueue takes quota away: reasons of its condition `Evicted`. Others, and quota that went in
/// another way, are one.
constexpr std::array<std::string_view, 10> known_evictions{
    "AdmissionCheck",
    "ClusterQueueStopped",
    "Deactivated",
    "DeactivatedDueToAdmissionCheck",
    "DeactivatedDueToMaximumExecutionTimeExceeded",
    "DeactivatedDueToRequeuingLimitExceeded",
    "LocalQueueStopped",
    "NodeFailures",
    "PodsReadyTimeout",
    "Preempted"};

double seconds(std::chrono::nanoseconds t) {
    return std::chrono::duration<double>(t).count();
}

std::string kind_label(core::job_kind kind) {
    return std::string(core::to_string(kind));
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

/// What is counted under a name that is known, else as `Other`.
void count(std::map<std::string, std::uint64_t>& under, const std::string& name) {
    const auto known = under.find(name);
    ++(known != under.end() ? known->second : under["Other"]);
}

/// The attempt that has ended with this status by an eviction, in the words of who evicted it:
/// `Preempted: ...`. Null: none has.
const core::attempt_record* evicted_attempt(
    const core::job_status& was, const core::job_status& after
) {
    const bool over = after.attempt > was.attempt && !after.attempt_history.empty();
    const auto* last = over ? &after.attempt_history.back() : nullptr;
    return last != nullptr && last->attempt == was.attempt && last->reason == "Evicted" ? last
                                                                                        : nullptr;
}

bool stands_still(const core::job_status& status) {
    return status.time.in == core::time_kind::stalled;
}

/// Of a job that runs and whose present attempt has reported: since when it has no progress.
std::optional<core::instant> last_progress(const core::job_status& status) {
    const bool runs = status.time.in == core::time_kind::running || stands_still(status);
    const auto& p = status.progress;
    return runs && p && p->attempt == status.attempt ? p->advanced : std::nullopt;
}

/// 0 to 1.
std::optional<double> progress_ratio(const core::job_status& status) {
    const auto& p = status.progress;
    return p && p->percentage ? std::optional(as_double(*p->percentage) / 100) : std::nullopt;
}

/// Of the metric that is called `loss`, if that is a number.
std::optional<double> loss(const core::job_status& status) {
    return status.progress ? core::read_number(core::loss_of(*status.progress)) : std::nullopt;
}

/// What the jobs of a kind are now.
struct kind_now {
    std::map<core::job_phase, std::size_t> phases;
    core::time_account time;
    std::size_t reporting = 0;
    std::size_t stalled = 0;
    double progress_age = 0;  ///< of the one that has been without progress for longest
};

/// What there are series of for a single job.
struct job_now {
    core::job_kind kind;
    std::string ns;
    std::string name;
    std::optional<double> progress;
    std::optional<double> step;
    std::optional<double> age;
    std::optional<double> loss;
    std::optional<double> goodput;
};

job_now look_at(const core::job_object& job, core::instant now) {
    const core::job_status& s = job.status;
    const auto since = last_progress(s);
    const bool has_step = s.progress && s.progress->current_step;
    return {
        job.meta.kind,
        job.meta.ns,
        job.meta.name,
        progress_ratio(s),
        has_step ? std::optional(as_double(*s.progress->current_step)) : std::nullopt,
        since ? std::optional(std::max(seconds(now - *since), 0.0)) : std::nullopt,
        loss(s),
        core::account_of(s.time, now).goodput()};
}

void add_single_jobs(families& to, std::vector<job_now> jobs) {
    struct one_series {
        const char* name;
        const char* help;
        std::optional<double> job_now::*value;
    };
    constexpr std::array all{
        one_series{
            "signalbox_single_job_progress_ratio",
            "How far the training of a job is, from 0 to 1.",
            &job_now::progress},
        one_series{
            "signalbox_single_job_step", "The step that a job reported last.", &job_now::step},
        one_series{
            "signalbox_single_job_progress_age_seconds",
            "Time since a job that runs came further.",
            &job_now::age},
        one_series{
            "signalbox_single_job_loss", "The loss that a job reported last.", &job_now::loss},
        one_series{
            "signalbox_single_job_goodput_ratio",
            "What of the time with a place a job used.",
            &job_now::goodput},
    };
    std::ranges::sort(jobs, {}, [](const job_now& j) { return std::tie(j.ns, j.name, j.kind); });
    const std::size_t shown = std::min(jobs.size(), most_jobs_with_series);
    to.gauge("signalbox_single_jobs_left_out", "Jobs without series of their own: too many.")
        .add({}, as_double(jobs.size() - shown));
    jobs.resize(shown);
    for (const one_series& s : all) {
        to.gauge(s.name, s.help);
        for (const job_now& job : jobs) {
            if (const std::optional<double>& value = job.*s.value) {
                to.add(
                    {{"kind", kind_label(job.kind)}, {"name", job.name}, {"namespace", job.ns}},
                    *value
                );
            }
        }
    }
}

}  // namespace

job_metrics::job_metrics(prometheus::Registry& registry, series wanted) : wanted_(wanted) {
    auto& to_running = prometheus::BuildHistogram()
                           .Name("signalbox_job_time_to_running_seconds")
                           .Help("From the creation of a job until all its replicas first ran.")
                           .Register(registry);
    auto& in_queue = prometheus::BuildHistogram()
                         .Name("signalbox_job_time_in_queue_seconds")
                         .Help("How long jobs waited for others to give them their place.")
                         .Register(registry);
    for (const core::job_kind kind : core::all_job_kinds) {
        kinds_[kind].time_in_queue = &in_queue.Add({{"kind", kind_label(kind)}}, coarse_seconds);
        kinds_[kind].time_to_running =
            &to_running.Add({{"kind", kind_label(kind)}}, coarse_seconds);
        // Others, of a newer version's status, are one.
        for (const std::string_view cause : core::incident_causes()) {
            kinds_[kind].restarts[std::string(cause)] = 0;
        }
        for (const std::string_view reason : known_disruptions) {
            kinds_[kind].disruptions[std::string(reason)] = 0;
        }
        for (const std::string_view reason : known_evictions) {
            kinds_[kind].evictions[std::string(reason)] = 0;
        }
    }
}

void job_metrics::count_incident(per_kind& kind, const core::incident_record& incident) {
    count(kind.restarts, incident.cause);
    if (incident.cause == "PodDisrupted") {
        count(kind.disruptions, incident.reason);
    }
}

void job_metrics::status_written(
    const core::job_object& before, const core::job_status& after, core::instant now
) {
    per_kind& kind = kinds_[before.meta.kind];
    const core::job_status& was = before.status;
    const bool incident = after.backoff_count > was.backoff_count ||
                          after.restarts.disruptions > was.restarts.disruptions;
    if (incident && after.restarts.last) {
        count_incident(kind, *after.restarts.last);
    }
    if (const core::attempt_record* evicted = evicted_attempt(was, after)) {
        count(kind.evictions, evicted->message.substr(0, evicted->message.find(':')));
    }
    kind.stalls += !stands_still(was) && stands_still(after) ? 1U : 0U;
    if (was.time.in == core::time_kind::queued && after.time.in != core::time_kind::queued) {
        kind.time_in_queue->Observe(as_double(after.time.queued - was.time.queued));
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

void job_metrics::add_to(families& to, const all_jobs& jobs) const {
    std::map<core::job_kind, kind_now> now;
    std::vector<job_now> single;
    jobs([&](const core::job_object& job, core::instant at) {
        const core::job_status& status = job.status;
        kind_now& kind = now[job.meta.kind];
        ++kind.phases[status.phase];
        kind.time += core::account_of(status.time, at);
        kind.stalled += stands_still(status) ? 1U : 0U;
        if (const auto since = last_progress(status)) {
            ++kind.reporting;
            kind.progress_age = std::max(kind.progress_age, seconds(at - *since));
        }
        if (wanted_ == series::of_jobs_too && !core::is_final(status.phase)) {
            single.push_back(look_at(job, at));
        }
    });
    // Each family has a line for each kind, jobs or none.
    const auto each_kind = [&](auto add) {
        for (const auto& [kind, told] : kinds_) {
            add(kind_label(kind), now[kind], told);
        }
    };
    to.gauge("signalbox_jobs", "Jobs in view, by kind and phase.");
    each_kind([&](const std::string& kind, const kind_now& is, const per_kind&) {
        for (const core::job_phase phase : shown_phases) {
            const auto found = is.phases.find(phase);
            const std::string_view name =
                phase == core::job_phase::none ? "New" : core::to_string(phase);
            to.add(
                {{"kind", kind}, {"phase", std::string(name)}},
                found == is.phases.end() ? 0 : as_double(found->second)
            );
        }
    });
    to.gauge("signalbox_jobs_reporting", "Jobs that run and have reported progress.");
    each_kind([&](const std::string& kind, const kind_now& is, const per_kind&) {
        to.add({{"kind", kind}}, as_double(is.reporting));
    });
    to.gauge("signalbox_jobs_stalled", "Jobs that run and make no progress.");
    each_kind([&](const std::string& kind, const kind_now& is, const per_kind&) {
        to.add({{"kind", kind}}, as_double(is.stalled));
    });
    to.gauge(
        "signalbox_job_progress_age_seconds",
        "Time since progress, of the job that runs, has reported and waits for longest."
    );
    each_kind([&](const std::string& kind, const kind_now& is, const per_kind&) {
        to.add({{"kind", kind}}, is.progress_age);
    });
    to.gauge("signalbox_job_time_seconds", "Where the time of the jobs in view went.");
    each_kind([&](const std::string& kind, const kind_now& is, const per_kind&) {
        for (const core::time_share& share : is.time.shares) {
            to.add({{"kind", kind}, {"state", std::string(share.name)}}, as_double(share.seconds));
        }
    });
    to.gauge("signalbox_job_goodput_ratio", "What of their time with a place jobs in view used.");
    each_kind([&](const std::string& kind, const kind_now& is, const per_kind&) {
        if (const auto ratio = is.time.goodput()) {
            to.add({{"kind", kind}}, *ratio);
        }
    });
    to.counter("signalbox_job_stalls_total", "How often jobs came to stand still.");
    each_kind([&](const std::string& kind, const kind_now&, const per_kind& told) {
        to.add({{"kind", kind}}, as_double(told.stalls));
    });
    to.counter("signalbox_job_restarts_total", "Incidents of jobs, by kind and cause.");
    each_kind([&](const std::string& kind, const kind_now&, const per_kind& told) {
        for (const auto& [cause, count] : told.restarts) {
            to.add({{"kind", kind}, {"reason", cause}}, as_double(count));
        }
    });
    to.counter(
        "signalbox_job_disruptions_total", "Of these, by what took the pod away: PodDisrupted."
    );
    each_kind([&](const std::string& kind, const kind_now&, const per_kind& told) {
        for (const auto& [reason, count] : told.disruptions) {
            to.add({{"kind", kind}, {"reason", reason}}, as_double(count));
        }
    });
    to.counter(
        "signalbox_job_evictions_total", "Attempts that ended because their quota was taken."
    );
    each_kind([&](const std::string& kind, const kind_now&, const per_kind& told) {
        for (const auto& [reason, count] : told.evictions) {
            to.add({{"kind", kind}, {"reason", reason}}, as_double(count));
        }
    });
    to.counter(
        "signalbox_job_time_lost_to_restarts_seconds_total",
        "Time from leaving Running by an incident until jobs ran again."
    );
    each_kind([&](const std::string& kind, const kind_now&, const per_kind& told) {
        to.add({{"kind", kind}}, told.time_lost);
    });
    if (wanted_ == series::of_jobs_too) {
        add_single_jobs(to, std::move(single));
    }
}

}  // namespace signalbox::op
