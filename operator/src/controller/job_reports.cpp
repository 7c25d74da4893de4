// SPDX-License-Identifier: Apache-2.0
#include "controller/job_reports.hpp"

#include "jobcore/schema.hpp"

#include <utility>

namespace signalbox::op {

job_reports::job_reports(
    const settings& config,
    server_clock clock,
    k8sio::clock& timers,
    const cluster_views& views,
    std::function<void(const std::string&)> wake
)
    : config_(&config), clock_(clock), timers_(&timers), views_(&views), wake_(std::move(wake)) {}

report_outcome job_reports::look_at(const report_sender& from) const {
    const auto pod = views_->pods.get(from.pod_uid);
    if (!pod || pod->ns != from.ns) {
        return report_outcome::no_pod;
    }
    if (!pod->reports) {
        return report_outcome::not_asked;
    }
    const job_entry_ptr entry = views_->jobs.find(pod->owner_uid);
    if (!entry) {
        return report_outcome::other_job;
    }
    const core::job_object& job = *entry->object;
    const bool its_own = job.meta.ns == from.ns && job.meta.name == from.job_name &&
                         core::plural(job.meta.kind) == from.plural;
    if (!its_own || core::is_final(job.status.phase)) {
        return report_outcome::other_job;
    }
    const bool is_heard =
        pod->attempt == job.status.attempt || core::may_save_work(job.status, pod->attempt);
    return is_heard ? report_outcome::taken : report_outcome::old_attempt;
}

namespace {

/// What counts of an attempt that is over.
core::progress_message checkpoint_of(const core::progress_message& said) {
    core::progress_message out;
    out.rank = said.rank;
    out.checkpoint_step = said.checkpoint_step;
    out.checkpoint_seconds = said.checkpoint_seconds;
    return out;
}

bool is_done(const core::progress_report& of) {
    return of.percentage == 100 ||
           (of.total_steps.value_or(0) > 0 && of.current_step >= of.total_steps);
}

}  // namespace

report_outcome job_reports::take(const report_sender& from, core::progress_message said) {
    const report_outcome looked = look_at(from);
    if (looked != report_outcome::taken) {
        return looked;
    }
    const auto pod = views_->pods.get(from.pod_uid);
    if (pod->attempt != views_->jobs.find(pod->owner_uid)->object->status.attempt) {
        if (!said.checkpoint_step) {
            return report_outcome::old_attempt;
        }
        said = checkpoint_of(said);
    }
    record& of = records_[pod->owner_uid];
    said.attempt = pod->attempt;
    const bool is_first = of.report.attempt != said.attempt;
    const bool was_done = is_done(of.report);
    if (!core::take_message(of.report, said, clock_.now())) {
        return report_outcome::old_attempt;
    }
    const auto due = of.woken_at + config_->rules.progress_interval;
    if (is_first || (is_done(of.report) && !was_done) || clock_.steady_now() >= due) {
        wake(pod->owner_uid, of);
    } else {
        wake_later(pod->owner_uid, of);
    }
    return report_outcome::taken;
}

void job_reports::wake(const std::string& uid, record& of) {
    timers_->cancel(std::exchange(of.timer, 0));
    of.woken_at = clock_.steady_now();
    wake_(uid);
}

/// Else the status would not show the last report of a job that has stopped to report.
void job_reports::wake_later(const std::string& uid, record& of) {
    if (of.timer != 0) {
        return;
    }
    const auto due = of.woken_at + config_->rules.progress_interval;
    of.timer = timers_->schedule(due, [this, uid] { wake(uid, records_.at(uid)); });
}

void job_reports::listen() {
    if (!since_ && !config_->options.reports_to.url.empty()) {
        since_ = clock_.now();
    }
}

void job_reports::show(const std::string& uid, core::observed& to) const {
    const core::progress_access& access = config_->options.reports_to;
    if (access.url.empty()) {
        return;
    }
    to.reports_to = &access;
    to.progress_since = since_;
    const auto found = records_.find(uid);
    to.progress = found == records_.end() ? nullptr : &found->second.report;
}

void job_reports::forget(const std::string& uid) {
    const auto found = records_.find(uid);
    if (found != records_.end()) {
        timers_->cancel(found->second.timer);
        records_.erase(found);
    }
}

void job_reports::stop() {
    for (auto& [uid, of] : records_) {
        timers_->cancel(std::exchange(of.timer, 0));
    }
}

}  // namespace signalbox::op
