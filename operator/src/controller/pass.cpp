// SPDX-License-Identifier: Apache-2.0
#include "controller/pass.hpp"

#include "controller/decision_log.hpp"
#include "controller/key_reads.hpp"
#include "controller/log_line.hpp"
#include "controller/object_text.hpp"
#include "controller/resource_table.hpp"
#include "controller/stage_runner.hpp"
#include "k8sio/object.hpp"

#include <jobcore/event_rank.hpp>

#include <algorithm>
#include <functional>
#include <iterator>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

namespace signalbox::op {

namespace asio = boost::asio;

namespace {

using job_ptr = std::shared_ptr<const core::job_object>;

/// Of a job's text: what a pass computes grows with it.
constexpr std::size_t usual_bytes = 4096;

enum class write_result {
    written,
    superseded,  ///< there is a newer object: decide on that
    failed,
    refused,  ///< and would be refused again
};

/// Drops absences of objects that are in view again.
void forget_disproved(context& shared, job_entry& entry) {
    if (entry.absences.empty()) {
        return;
    }
    const std::string& uid = entry.object->meta.uid;
    // A set: all pods of a large job may vanish at once.
    std::unordered_set<std::string_view> pods;
    for (const core::pod_record* pod : shared.pods.find<by_owner>(uid)) {
        pods.insert(pod->name);
    }
    std::erase_if(entry.absences, [&](const core::confirmed_absence& absence) {
        if (absence.kind == core::object_kind::pod) {
            return pods.count(absence.name) != 0;
        }
        return std::any_of(
            shared.children.begin(),
            shared.children.end(),
            [&](const std::unique_ptr<child_view>& view) {
                const auto records = view->store.find<by_owner>(uid);
                return view->kind == absence.kind &&
                       std::any_of(
                           records.begin(),
                           records.end(),
                           [&](const core::child_record* r) { return r->name == absence.name; }
                       );
            }
        );
    });
}

/// What is in view of a job, with the lists that `seen` refers to. Stays in place.
class job_view {
public:
    job_view(const context& shared, const job_entry& entry);
    job_view(const job_view&) = delete;
    job_view& operator=(const job_view&) = delete;

    const core::observed& seen() const { return seen_; }

private:
    std::vector<const core::pod_record*> pods_;
    std::vector<const core::child_record*> children_;
    core::capabilities served_;
    core::observed seen_;
};

job_view::job_view(const context& shared, const job_entry& entry) {
    const std::string& uid = entry.object->meta.uid;
    const auto add = [&job = entry.object->meta](const auto& records, auto& to) {
        std::ranges::copy_if(records, std::back_inserter(to), [&job](const auto* record) {
            return core::is_child_of(*record, job.uid, job.ns);
        });
    };
    add(shared.pods.find<by_owner>(uid), pods_);
    for (const core::pod_record& hidden : entry.hidden_pods) {
        const bool shown = std::any_of(pods_.begin(), pods_.end(), [&](const core::pod_record* p) {
            return p->uid == hidden.uid;
        });
        if (!shown) {
            pods_.push_back(&hidden);
        }
    }
    for (const auto& view : shared.children) {
        if (view->in_use()) {
            add(view->store.find<by_owner>(uid), children_);
        }
    }
    served_ = shared.capabilities();
    seen_.pods = pods_;
    seen_.children = children_;
    seen_.refusals = entry.refusals.all();
    seen_.absences = entry.absences;
    seen_.served_kinds = served_;
}

core::decision decide(context& shared, job_entry& entry, core::instant now) {
    forget_disproved(shared, entry);
    const job_view in_view(shared, entry);
    ++shared.counters.reconciles;
    core::decision decision =
        shared.options.decide(*entry.object, in_view.seen(), shared.rules, now);
    entry.hidden_pods.clear();
    return decision;
}

bool asks(const core::decision& decision, core::verb what) {
    for (const core::stage& stage : decision.stages) {
        for (const core::action& a : stage) {
            if (a.what() == what) {
                return true;
            }
        }
    }
    return false;
}

bool wants_nothing(const core::decision& d) {
    return !d.status && d.stages.empty() && !d.wake_up && d.events.empty();
}

/// The job as the server has it, after `why`. Tells of a failure.
asio::awaitable<k8sio::result<std::string>> read_live(
    context& shared, const core::job_meta& meta, std::string_view why
) {
    auto live = co_await shared.api->get(type_of(meta.kind), meta.ns, meta.name);
    if (live.has_error() && live.error().http_status == 404 && live.error().reason == "NotFound") {
        shared.note_job_gone(meta);  // the watch says so too, unless that event is lost
    }
    const bool telling = live.has_error() && live.error().http_status != 404 &&
                         k8sio::classify(live.error()) != k8sio::retry_class::cancelled;
    if (telling) {
        ++shared.counters.errors;
        log_line line("job not read");
        line.job(meta).field("why", why).field("error", live.error().text());
        line.write(*shared.log, spdlog::level::warn);
    }
    co_return live;
}

/// The object that a status write of unknown outcome, or one refused as stale, left on the server.
asio::awaitable<write_result> read_back(
    context& shared, job_entry& entry, const core::job_object& decided, std::string wanted
) {
    const core::job_meta& meta = decided.meta;
    const k8sio::view_mark asked = shared.mark(core::object_kind::job, meta.kind);
    const auto live = co_await read_live(shared, meta, "is the status written");
    if (live.has_error()) {
        co_return write_result::failed;
    }
    // One that was made again in its place leaves `entry` as it was.
    shared.note_job(*live, asked);
    const core::job_object& now = *entry.object;
    const bool newer = now.meta.resource_version != meta.resource_version;
    const bool as_wanted = core::format_status(now.status, meta.kind) == wanted;
    if (newer && as_wanted) {
        co_return write_result::written;
    }
    co_return newer ? write_result::superseded : write_result::failed;
}

asio::awaitable<write_result> write_status(
    context& shared,
    job_entry& entry,
    const core::job_object& decided,
    const core::job_status& status
) {
    const core::job_meta& meta = decided.meta;
    const k8sio::resource_type& type = type_of(meta.kind);
    std::string body = status_body(decided, status, entry.kept_status);
    ++shared.counters.status_writes;
    entry.last_status_write = shared.steady_now();
    const k8sio::view_mark asked = shared.mark(core::object_kind::job, meta.kind);
    const auto answer =
        co_await shared.api->update_status(type, meta.ns, meta.name, std::move(body));
    if (answer.has_value() && shared.note_job(*answer, asked)) {
        co_return write_result::written;
    }
    if (answer.has_value()) {
        co_return write_result::superseded;  // deleted while the answer was under way
    }
    const k8sio::api_error& error = answer.error();
    const k8sio::retry_class kind = k8sio::classify(error);
    if (kind == k8sio::retry_class::recompute) {
        ++shared.counters.status_conflicts;
        entry.conflicted_version = meta.resource_version;
        co_return write_result::superseded;
    }
    if (kind != k8sio::retry_class::cancelled) {
        ++shared.counters.errors;
        log_line line("status write failed");
        line.job(meta).field("error", error.text());
        line.write(*shared.log, spdlog::level::warn);
    }
    if (kind == k8sio::retry_class::unknown_outcome && !shared.stopping()) {
        co_return co_await read_back(
            shared, entry, decided, core::format_status(status, meta.kind)
        );
    }
    co_return kind == k8sio::retry_class::give_up ? write_result::refused : write_result::failed;
}

/// Brings a job back whose object was let go, or of which there must be a newer one than we hold.
/// False if that did not work.
asio::awaitable<bool> read_again(context& shared, job_entry& entry) {
    const job_ptr held = entry.object;
    const core::job_meta& meta = held->meta;
    const k8sio::view_mark asked = shared.mark(core::object_kind::job, meta.kind);
    const auto live = co_await read_live(shared, meta, "there may be a newer one");
    if (live.has_error()) {
        co_return false;
    }
    const auto identity = k8sio::read_object_meta(*live);
    const bool went_back =
        identity && identity->uid == meta.uid && !entry.doubtful &&
        k8sio::compare_versions(identity->resource_version, meta.resource_version) ==
            k8sio::version_order::older;
    if (went_back) {
        shared.runtime->doubt_views();
        co_return false;
    }
    const job_entry_ptr read = shared.note_job(*live, asked);
    // If the newest is what we hold after all, the conflict was no conflict.
    entry.conflicted_version.clear();
    co_return read.get() == &entry;
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
    pass(context& shared, k8sio::event_recorder& events, job_entry_ptr entry)
        : shared_(&shared), recorder_(&events), entry_(std::move(entry)) {}

    /// False: the job is gone, and nothing is to be done.
    bool has_job() const { return entry_ != nullptr; }
    asio::awaitable<k8sio::reconcile_result> run();

private:
    asio::awaitable<bool> choose();
    void look();
    asio::awaitable<bool> record();
    asio::awaitable<void> act();
    bool may_defer() const;
    bool is_unkept(const core::job_status& status);
    void send_events();
    void settle();

    context* shared_;
    k8sio::event_recorder* recorder_;
    job_entry_ptr entry_;
    job_ptr decided_;
    core::decision decision_;
    std::vector<std::string> views_;
    k8sio::reconcile_result result_;
};

asio::awaitable<k8sio::reconcile_result> pass::run() {
    job_entry& entry = *entry_;
    shared_->jobs.read_newest(entry);
    const bool conflicted = !entry.conflicted_version.empty() &&
                            entry.conflicted_version == entry.object->meta.resource_version;
    if (conflicted || entry.parked || entry.doubtful) {
        const bool read = co_await read_again(*shared_, entry);
        if (!read) {
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
        result_.requeue_at = shared_->steady_of(*decision_.wake_up);
    }
    if (const auto at = keys_due(*shared_, entry)) {
        result_.requeue_at = result_.requeue_at ? std::min(*result_.requeue_at, *at) : at;
    }
    const bool recorded = co_await record();
    if (recorded) {
        co_await act();
        settle();
    }
    co_return result_;
}

void pass::look() {
    shared_->jobs.read_newest(*entry_);
    decided_ = entry_->object;
    views_ = shared_->view_versions();
    decision_ = decide(*shared_, *entry_, shared_->now());
}

/// Decides, on keys that were looked at as lately as BEHAVIOUR.md 2.10 says. False if this pass
/// decides nothing.
asio::awaitable<bool> pass::choose() {
    job_entry& entry = *entry_;
    const auto due = keys_due(*shared_, entry);
    if (due && *due <= shared_->steady_now()) {
        const key_news news = co_await read_keys(*shared_, entry);
        if (news == key_news::failed || entry.gone) {
            result_.failed = result_.transient = !entry.gone;
            co_return false;
        }
    }
    if (!shared_->runtime->is_fresh(entry.object->meta.uid)) {
        result_.behind = true;
        co_return false;
    }
    look();
    if (!creates_pods(decision_, shared_->now()) || !keys_may_be_old(*shared_, entry)) {
        co_return true;
    }
    const key_news news = co_await read_keys(*shared_, entry);
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
           shared_->steady_now() < *last + decision_.defer;
}

/// True if this very status was written before and the server did not keep it, e.g. because its CRD
/// is older than we are: writing it again at once would go on for ever (REQUIREMENTS.md X7).
bool pass::is_unkept(const core::job_status& status) {
    // Its text would be a large part of what the job takes. Two texts of one hash cost a delay.
    const auto hash = std::hash<std::string>()(core::format_status(status, decided_->meta.kind));
    const bool repeated = hash == entry_->last_status;
    entry_->last_status = hash;
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
        ++shared_->counters.status_deferred;
        const auto due = *entry.last_status_write + decision_.defer;
        result_.requeue_at = result_.requeue_at ? std::min(*result_.requeue_at, due) : due;
        decided_ = std::make_shared<const core::job_object>(std::move(with_status));
        co_return true;
    }
    const auto written = co_await write_status(*shared_, entry, *decided_, with_status.status);
    if (written != write_result::written) {
        result_.failed = !entry.gone;
        result_.transient = written != write_result::refused;
        co_return false;
    }
    log_status(*shared_->log, *decided_, with_status.status);
    if (shared_->options.status_written) {
        shared_->options.status_written(*decided_, with_status.status, shared_->now());
    }
    if (!entry.gone) {
        shared_->require_views(decided_->meta.uid, views_);
    }
    result_.failed = is_unkept(with_status.status);
    result_.requeue = true;
    send_events();
    decided_ = std::make_shared<const core::job_object>(std::move(with_status));
    co_return true;
}

asio::awaitable<void> pass::act() {
    job_entry& entry = *entry_;
    entry.refusals.prune(decision_);
    result_.transient = !result_.failed;
    log_work(*shared_, entry, decided_->meta, decision_);
    for (const core::stage& actions : decision_.stages) {
        const stage_report done =
            co_await run_stage(*shared_, entry, *decided_, decision_, actions);
        result_.requeue = result_.requeue || done.acted;
        result_.failed = result_.failed || done.troubled;
        result_.transient = result_.transient && (!done.troubled || done.transient);
        if (done.at) {
            result_.requeue_at =
                result_.requeue_at ? std::min(*result_.requeue_at, *done.at) : done.at;
        }
        if (!done.complete) {
            break;
        }
    }
}

/// What the job's memory keeps after a decision that was carried out.
void pass::settle() {
    job_entry& entry = *entry_;
    if (!asks(decision_, core::verb::confirm)) {
        entry.absences.clear();
    }
    // A job that decisions leave alone is finished, or another controller's.
    const core::job_phase phase = decided_->status.phase;
    const bool idle_job = core::is_final(phase) || phase == core::job_phase::none;
    const bool unchanged = entry.object == decided_ && !entry.unread;
    if (idle_job && unchanged && wants_nothing(decision_) && !entry.gone) {
        job_table::park(entry);
    }
}

void pass::send_events() {
    if (shared_->options.without.count(feature::events) != 0) {
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
        ++shared_->counters.events;
        recorder_->record(std::move(note));
    }
}

}  // namespace

asio::awaitable<k8sio::reconcile_result> run_pass(
    context& shared, k8sio::event_recorder& events, job_entry_ptr entry
) {
    pass work(shared, events, entry);
    k8sio::reconcile_result result;
    if (work.has_job()) {
        result = co_await work.run();
        result.cost += entry->bytes / usual_bytes;
    }
    co_return result;
}

explained_job explain_entry(const context& shared, const job_entry& entry) {
    explained_job out;
    out.meta = entry.object->meta;
    out.at = shared.now();
    if (!entry.parked) {
        const job_view in_view(shared, entry);
        out.lines = core::explain(*entry.object, in_view.seen(), shared.rules, out.at);
    }
    return out;
}

}  // namespace signalbox::op
