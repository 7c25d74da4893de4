// SPDX-License-Identifier: Apache-2.0
#include "controller/pass.hpp"

#include "controller/decision_log.hpp"
#include "controller/observed_job.hpp"

#include <jobcore/event_rank.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace signalbox::op {

namespace asio = boost::asio;

namespace {

/// Of a job's text: what a pass computes grows with it.
constexpr std::size_t usual_bytes = 4096;

bool wants_nothing(const core::decision& d) {
    return !d.status && d.stages.empty() && !d.wake_up && d.events.empty();
}

k8sio::event_rank to_note_rank(core::event_rank rank) {
    switch (rank) {
        case core::event_rank::detail:
            return k8sio::event_rank::detail;
        case core::event_rank::state:
            return k8sio::event_rank::state;
        case core::event_rank::end:
            return k8sio::event_rank::end;
    }
    return k8sio::event_rank::state;
}

class pass {
public:
    pass(const pass_parts& with, job_entry& entry) : with_(with), entry_(&entry) {
        with.views.jobs.pin(entry, true);
    }
    ~pass() { with_.views.jobs.pin(*entry_, false); }
    pass(const pass&) = delete;
    pass& operator=(const pass&) = delete;

    asio::awaitable<k8sio::reconcile_result> run();

private:
    asio::awaitable<bool> choose();
    void look();
    asio::awaitable<bool> record();
    asio::awaitable<void> act();
    bool may_defer() const;
    bool waits_unkept(const core::job_status& status);
    bool is_unkept(const core::job_status& status);
    void send_events();
    void park_if_idle();

    pass_parts with_;
    job_entry* entry_;
    std::shared_ptr<const core::job_object> decided_;  // what the decision was made on
    core::decision decision_;
    std::vector<std::string> views_;
    k8sio::reconcile_result result_;
};

asio::awaitable<k8sio::reconcile_result> pass::run() {
    job_entry& entry = *entry_;
    with_.views.jobs.read_newest(entry);
    const bool conflicted = !entry.conflicted_version.empty() &&
                            entry.conflicted_version == entry.object->meta.resource_version;
    if (conflicted || entry.parked || entry.doubtful) {
        const bool read = co_await with_.requests.read_again(entry);
        if (!read || entry.parked) {
            result_.failed = result_.transient = !entry.gone;
            co_return result_;
        }
    }
    entry.conflicted_version.clear();
    if (entry.gone) {
        co_return result_;
    }
    const bool chosen = co_await choose();
    if (!chosen) {
        co_return result_;
    }
    if (decision_.wake_up) {
        result_.requeue_at = with_.clock.steady_of(*decision_.wake_up);
    }
    if (const auto at = with_.keys.due(entry)) {
        result_.requeue_at = result_.requeue_at ? std::min(*result_.requeue_at, *at) : at;
    }
    const bool recorded = co_await record();
    if (recorded) {
        co_await act();
        park_if_idle();
    }
    co_return result_;
}

void pass::look() {
    job_entry& entry = *entry_;
    with_.views.jobs.read_newest(entry);
    decided_ = entry.object;
    views_ = with_.views.versions();
    forget_disproved(with_.views, entry);
    entry.no_room = !with_.views.jobs.room().may_begin(entry.object->meta.uid);
    const settings& config = with_.config;
    with_.reports.listen();
    const observed_job in_view(with_.views, with_.reports, entry, config.options.reads_logs);
    ++with_.counters.reconciles;
    decision_ =
        config.options.decide(*entry.object, in_view.seen(), config.rules, with_.clock.now());
    entry.hidden_pods.clear();
}

/// Decides, on keys that were looked at as lately as BEHAVIOUR.md 2.10 says. False if this pass
/// decides nothing.
asio::awaitable<bool> pass::choose() {
    job_entry& entry = *entry_;
    const auto due = with_.keys.due(entry);
    if (due && *due <= with_.clock.steady_now()) {
        const key_news news = co_await with_.keys.read(entry);
        if (news == key_news::failed || entry.gone) {
            result_.failed = result_.transient = !entry.gone;
            co_return false;
        }
    }
    if (!with_.runtime.is_fresh(entry.object->meta.uid)) {
        result_.behind = true;
        co_return false;
    }
    look();
    if (!creates_pods(decision_, with_.clock.now()) || !with_.keys.may_be_old(entry)) {
        co_return true;
    }
    const key_news news = co_await with_.keys.read(entry);
    if (news == key_news::none) {
        co_return true;
    }
    result_.failed = result_.transient = news == key_news::failed && !entry.gone;
    result_.requeue = news == key_news::changed;
    co_return false;
}

/// Differences in counts and texts may wait (BEHAVIOUR.md 4.16), unless they come with something to
/// tell.
bool pass::may_defer() const {
    const auto& last = entry_->last_status_write;
    return decision_.deferrable() && decision_.events.empty() && last &&
           with_.clock.steady_now() < *last + decision_.defer;
}

/// A status that the server did not keep, e.g. because its CRD is older than we are, is not written
/// again at once: that would never end (REQUIREMENTS.md X7).
bool pass::waits_unkept(const core::job_status& status) {
    const job_entry& entry = *entry_;
    const bool early = entry.unkept_until && with_.clock.steady_now() < *entry.unkept_until;
    if (!early || core::hash_without_times(status, decided_->meta.kind) != entry.unkept_status) {
        return false;
    }
    const auto at = *entry.unkept_until;
    result_.requeue_at = result_.requeue_at ? std::min(*result_.requeue_at, at) : at;
    return true;
}

/// Whether the status that was written was not kept before, either.
bool pass::is_unkept(const core::job_status& status) {
    job_entry& entry = *entry_;
    const core::job_kind kind = decided_->meta.kind;
    const bool kept =
        decided_->status != status &&
        core::format_status(entry.object->status, kind) == core::format_status(status, kind);
    // Its text would be a large part of what the job takes. Two texts of one hash cost a delay.
    const auto unkept = kept ? std::nullopt : std::optional(core::hash_without_times(status, kind));
    const bool repeated = unkept && unkept == entry.unkept_status;
    const k8sio::backoff_policy& pace = with_.config.options.backoff;
    entry.unkept_status = unkept;
    entry.unkept_delay =
        repeated ? std::clamp(2 * entry.unkept_delay, pace.initial, pace.max) : pace.initial / 2;
    entry.unkept_until.reset();
    if (repeated) {
        entry.unkept_until = with_.clock.steady_now() + entry.unkept_delay;
    }
    return repeated;
}

/// Record first, act after: false if this decision is not to be acted on.
asio::awaitable<bool> pass::record() {
    job_entry& entry = *entry_;
    if (!decision_.status) {
        send_events();
        co_return true;
    }
    core::job_object with_status = *decided_;
    with_status.status = *decision_.status;
    if (may_defer()) {
        ++with_.counters.status_deferred;
        const auto due = *entry.last_status_write + decision_.defer;
        result_.requeue_at = result_.requeue_at ? std::min(*result_.requeue_at, due) : due;
        decided_ = std::make_shared<const core::job_object>(std::move(with_status));
        co_return true;
    }
    if (waits_unkept(with_status.status)) {
        co_return false;
    }
    const auto written = co_await with_.requests.write_status(entry, *decided_, with_status.status);
    if (written != write_result::written) {
        result_.failed = !entry.gone;
        result_.transient = written != write_result::refused;
        co_return false;
    }
    log_status(*with_.config.log, *decided_, with_status.status);
    if (with_.config.options.status_written) {
        with_.config.options.status_written(*decided_, with_status.status, with_.clock.now());
    }
    if (!entry.gone) {
        with_.updates.require(decided_->meta.uid, views_);
    }
    result_.failed = is_unkept(with_status.status);
    result_.requeue = true;
    send_events();
    decided_ = std::make_shared<const core::job_object>(std::move(with_status));
    co_return true;
}

asio::awaitable<void> pass::act() {
    job_entry& entry = *entry_;
    result_.transient = !result_.failed;
    log_work(with_.config, with_.clock, entry, decided_->meta, decision_);
    const work_report done = co_await with_.stages.run(entry, *decided_, decision_);
    result_.requeue = result_.requeue || done.acted;
    result_.failed = result_.failed || done.troubled;
    result_.transient = result_.transient && (!done.troubled || done.transient);
    if (done.at) {
        result_.requeue_at = result_.requeue_at ? std::min(*result_.requeue_at, *done.at) : done.at;
    }
}

/// A job that decisions leave alone is finished, or another controller's: less of it is kept. So it
/// is while the job is paused.
void pass::park_if_idle() {
    job_entry& entry = *entry_;
    const core::job_phase phase = decided_->status.phase;
    const bool idle_job = core::is_final(phase) || phase == core::job_phase::none;
    const bool unchanged = entry.object == decided_ && !entry.unread;
    const bool may_go = idle_job || phase == core::job_phase::paused;
    if (may_go && unchanged && wants_nothing(decision_) && !entry.gone) {
        with_.views.jobs.let_go(entry);
        entry.at_rest = idle_job;
    }
}

void pass::send_events() {
    if (with_.config.options.without.count(feature::events) != 0) {
        return;
    }
    const core::job_meta& meta = decided_->meta;
    for (core::event& e : decision_.events) {
        k8sio::event_note note;
        note.regarding.api_version = core::api_version;
        note.regarding.kind = core::to_string(meta.kind);
        note.regarding.ns = meta.ns;
        note.regarding.name = meta.name;
        note.regarding.uid = meta.uid;
        note.regarding.resource_version = meta.resource_version;
        note.warning = e.warning;
        note.rank = to_note_rank(core::rank_of(e));
        note.reason = std::move(e.reason);
        note.message = std::move(e.message);
        ++with_.counters.events;
        with_.events.record(std::move(note));
    }
}

}  // namespace

asio::awaitable<k8sio::reconcile_result> run_pass(const pass_parts& with, job_entry_ptr entry) {
    k8sio::reconcile_result result;
    if (entry) {
        pass work(with, *entry);
        result = co_await work.run();
        result.cost += entry->bytes / usual_bytes;
    }
    co_return result;
}

explained_job explain_entry(const pass_parts& with, const job_entry& entry) {
    explained_job out;
    out.meta = entry.object->meta;
    out.at = with.clock.now();
    out.ended = core::is_final(entry.object->status.phase);
    if (!entry.parked) {
        const observed_job in_view(with.views, with.reports, entry, /*reads_logs=*/false);
        out.lines = core::explain(*entry.object, in_view.seen(), with.config.rules, out.at);
    }
    return out;
}

}  // namespace signalbox::op
