// SPDX-License-Identifier: Apache-2.0
//
// How records change the status.
#include "engine/rules/record.hpp"

#include "engine/facts/avoided.hpp"
#include "engine/facts/chosen_scheduler.hpp"
#include "engine/facts/ledger.hpp"
#include "engine/rules/verdict.hpp"
#include "engine/view/children.hpp"
#include "engine/view/ended.hpp"
#include "jobcore/strings.hpp"
#include "status/bounds.hpp"
#include "status/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace signalbox::core::engine {
namespace {

/// Bytes of a message in the history of attempts.
constexpr std::size_t most_attempt_message = 256;

/// `1h2m3s`, as kubectl prints durations.
std::string format_duration(seconds s) {
    const auto total = std::max<std::int64_t>(s.count(), 0);
    const auto hours = total / 3600;
    const auto minutes = total / 60 % 60;
    if (hours > 0) {
        return fmt::format("{}h{}m{}s", hours, minutes, total % 60);
    }
    return minutes > 0 ? fmt::format("{}m{}s", minutes, total % 60) : fmt::format("{}s", total);
}

void count_failed_types(const inputs& in, const incident& r, job_status& status) {
    for (task_status& task : status.tasks) {
        const bool failed = std::ranges::any_of(r.failed_types, [&](std::size_t type) {
            return in.plan.types[type].name == task.type;
        });
        if (failed) {
            raise_count(task.restart_count);
        }
    }
}

void rename(const inputs& in, const replica& which, job_status& status) {
    restart_ledger& ledger = status.restarts;
    const std::string& type = in.plan.types[which.type].name;
    const auto entry = std::ranges::find_if(ledger.renamed, [&](const renamed_index& r) {
        return r.type == type && r.index == which.index;
    });
    ledger.renames = next_number(ledger.renames);
    const std::int32_t k = ledger.renames;
    if (entry == ledger.renamed.end()) {
        ledger.renamed.push_back({type, which.index, k});
    } else {
        entry->k = k;
    }
}

bool deciding_pod_started(const context& c) {
    const replica_view* deciding = c.deciding();
    return deciding != nullptr && deciding->current != nullptr &&
           has_started(c.in, *deciding->current);
}

/// Of a job that has stopped: the pod goes, or has gone. All that a paused job has in view are
/// deleted, by UID (1.9).
bool is_accounted_for(const context& c, const replica& r, const replica_view& s) {
    if (s.current != nullptr) {
        return c.in.was_paused() || s.current->deletion || has_ended(c.in, *s.current);
    }
    return s.blocked || s.damaged ||
           is_confirmed_absent(c.in, object_kind::pod, c.name_of(r.type, r.index));
}

/// Why an attempt ended.
struct attempt_end {
    std::string_view reason;
    std::string_view message{};
    failed_pod whose{};
};

/// The present attempt is over at that time. Of one that a pause ended, and whose deciding pod ends
/// the job, the end is told.
void note_end_of_attempt(
    const inputs& in, const attempt_end& why, instant end, job_status& status
) {
    if (status.attempt == 0) {
        return;
    }
    status.attempt_history = in.job.status.attempt_history;
    auto& all = status.attempt_history;
    attempt_record entry;
    entry.attempt = status.attempt;
    entry.start = status.attempt_start;
    if (!all.empty() && all.back().attempt == status.attempt) {
        entry.start = all.back().start;
        all.pop_back();
    }
    entry.end = round_down_to_second(end);
    entry.reason = why.reason;
    entry.message = cut_message(in_one_line(why.message), most_attempt_message);
    entry.pod = why.whose.pod;
    entry.node = why.whose.node;
    entry.rank = why.whose.rank;
    if (status.progress && status.progress->attempt == status.attempt) {
        entry.step = status.progress->current_step;
    }
    all.push_back(std::move(entry));
    const auto most = static_cast<std::size_t>(std::max(in.policy.attempts_in_status, 1));
    if (all.size() > most) {
        all.erase(all.begin(), all.end() - static_cast<std::ptrdiff_t>(most));
    }
    status.attempt_start.reset();
}

struct applier {
    const inputs& in;
    job_status& status;

    void begin_attempt() const {
        raise_attempt(status, in.next_plan());
        status.attempt_start = round_down_to_second(in.now);
    }

    void raise_rounds(const std::vector<replica>& replicas) const {
        for (const replica& r : replicas) {
            raise_round(status, in.plan.types[r.type].name, r.index);
        }
    }

    void operator()(const job_end& r) const {
        status.phase = r.phase;
        status.reason = to_string(r.reason);
        // The start is rounded up: a job of less than a second must not end before it.
        status.completion_time =
            std::max(round_down_to_second(in.now), status.start_time.value_or(instant::min()));
        if (status.start_time) {
            status.duration = format_duration(
                std::chrono::floor<seconds>(*status.completion_time - *status.start_time)
            );
        }
        note_end_of_attempt(
            in, {status.reason, r.message, r.whose}, *status.completion_time, status
        );
        status.admission.reset();
    }
    void operator()(const pause_begin& r) const {
        note_end_of_attempt(in, {to_string(reason::paused)}, in.now, status);
        if (r.attempt_is_over) {
            leave_attempt(status);
        }
        status.phase = job_phase::paused;
        status.admission.reset();
        status.start_time.reset();
        status.restarts.settling.reset();
        if (status.restarts.last) {
            status.restarts.last->not_before.reset();
        }
    }
    /// The first attempt of a job that was created paused is one like any other first (3.11).
    void operator()(const pause_end&) const {
        const bool trained =
            status.training == training_state::started || is_resumed(in.job.status);
        status.training = trained ? training_state::resumed : training_state::not_started;
        begin_attempt();
        status.phase = job_phase::resuming;
        status.queue = in.job.meta.queue;
        status.scheduler = scheduler_at_begin(in);
    }
    void operator()(const first_attempt&) const {
        status.training = training_state::not_started;
        begin_attempt();
        status.queue = in.job.meta.queue;
        status.scheduler = scheduler_at_begin(in);
    }
    void operator()(const exit_settles& r) const { status.restarts.settling = r.entry; }
    void operator()(const incident& r) const {
        status.restarts.settling.reset();
        status.restarts.streak = r.streak;
        status.restarts.free_streak = r.free_streak;
        note_bad_node(in, r.avoid, r.entry.rule, status);
        if (r.idle) {
            status.restarts.idle = std::min(*r.idle, most_counted);
            status.restarts.furthest_step = furthest_step({in, status, pod_view{}});
        }
        if (r.entry.counted && !r.joins_last) {
            status.restarts.forgiven = r.forgiven;
        }
        if (!r.joins_last) {
            raise_count(r.entry.counted ? status.backoff_count : status.restarts.disruptions);
        }
        count_failed_types(in, r, status);
        if (r.entry.scope == restart_scope::job) {
            const instant end = std::min(r.entry.time.value_or(in.now), in.now);
            note_end_of_attempt(in, {r.entry.cause, r.failure, r.whose}, end, status);
            begin_attempt();
        } else {
            raise_rounds(r.lost);
        }
        status.restarts.last = r.entry;
        status.restarts.last->attempt = status.attempt;
    }
    void operator()(const replicas_given_up& r) const {
        status.restarts.settling.reset();  // the exit that settled has its consequence
        for (const auto& entry : r.entries) {
            const std::string& type = in.plan.types[entry.which.type].name;
            insert_index(status.restarts.given_up, type, entry.which.index);
        }
    }
    void operator()(const replicas_repeated& r) const { raise_rounds(r.which); }
    void operator()(const size_change& r) const {
        if (r.new_attempt) {
            note_end_of_attempt(in, {to_string(reason::scaled)}, in.now, status);
            begin_attempt();
            return;
        }
        // What leaves is old by record: a later size waits until it is gone (7.2).
        raise_rounds(r.leaving);
        for (const replica& left : r.leaving) {
            const std::string& type = in.plan.types[left.type].name;
            erase_index(status.restarts.completed, type, left.index);
            erase_index(status.restarts.given_up, type, left.index);
        }
        for (const type_plan& type : in.plan.types) {
            const auto task = std::ranges::find(status.tasks, type.name, &task_status::type);
            if (task != status.tasks.end()) {
                task->wanted = type.wanted;
            }
        }
    }
    void operator()(const types_change&) const {
        note_end_of_attempt(in, {to_string(reason::spec_changed)}, in.now, status);
        begin_attempt();
    }
    void operator()(const names_changed& r) const {
        for (const replica& which : r.which) {
            rename(in, which, status);
        }
    }
    void operator()(const quota_taken& r) const { status.admission = r.admission; }
    /// As after a pause its time begins anew: it may stand in its queue for long.
    void operator()(const quota_lost& r) const {
        status.admission.reset();
        status.start_time.reset();
        if (r.ends_attempt) {
            note_end_of_attempt(in, {to_string(reason::evicted), r.why}, in.now, status);
            raise_attempt(status, *in.job.compiled->plan);  // whatever was admitted of it
            status.attempt_start = round_down_to_second(in.now);
        }
    }
    void operator()(const scheduler_chosen& r) const { status.scheduler = r.name; }
};

}  // namespace

job_status note_seen(const inputs& in, const pod_view& view) {
    job_status status = recorded_part(in.job.status);
    const bool stopped = in.was_paused() || is_final(status.phase);
    for_each_replica(view, [&](std::size_t type, std::int32_t index, const replica_view& s) {
        const std::string& name = in.plan.types[type].name;
        if (stopped && s.seen && is_accounted_for({in, status, view}, {type, index}, s)) {
            erase_index(status.restarts.seen, name, index);
        } else if (!stopped && s.current != nullptr && !s.seen) {
            insert_index(status.restarts.seen, name, index);
        }
    });
    if (status.training == training_state::not_started &&
        deciding_pod_started({in, status, view})) {
        status.training = training_state::started;
    }
    return status;
}

void note_completed(const inputs& in, job_status& status, const health& h) {
    for (const replica& r : h.completed) {
        insert_index(status.restarts.completed, in.plan.types[r.type].name, r.index);
    }
}

namespace {

/// What a pod of the attempt before says that has ended meanwhile; nothing if that is no better.
std::optional<std::string> said_since(const inputs& in, const left_over& left) {
    const pod_record& pod = *left.pod;
    const pod_identity id = identity_from_name(in.plan, pod.name);
    if (id.type == no_type || pod.attempt != in.job.status.attempt - 1) {
        return std::nullopt;
    }
    const std::string& name = in.plan.types[id.type].training_container;
    const container_record* c = training_container(pod, name);
    if (c == nullptr || c->state != container_state::terminated || c->exit_code == 0) {
        return std::nullopt;
    }
    const termination_note note = read_termination_message(c->message, pod.name);
    return note.names_error && !note.secondary
               ? std::optional(cut_in_front(in_one_line(describe_failure(pod, name, &note))))
               : std::nullopt;
}

}  // namespace

void note_better_message(
    const inputs& in, const pod_view& view, job_status& status, const health& h
) {
    auto& settling = status.restarts.settling;
    if (settling && settling->consequence) {
        const loss* first = first_failure(h.losses);
        if (first != nullptr && !first->secondary) {
            settling->message = cut_in_front(in_one_line(first->message));
            settling->consequence = false;
        }
    }
    auto& last = status.restarts.last;
    if (last && last->consequence && last->attempt == status.attempt) {
        for (const left_over& left : view.left_overs) {
            if (auto better = said_since(in, left)) {
                last->message = *std::move(better);
                last->consequence = false;
                break;
            }
        }
    }
}

void apply(const inputs& in, job_status& status, const record& r) {
    std::visit(applier{in, status}, r);
}

}  // namespace signalbox::core::engine
