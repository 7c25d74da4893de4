// SPDX-License-Identifier: Apache-2.0
#include "engine/repair/repair.hpp"

#include "engine/facts/ledger.hpp"
#include "engine/facts/plan_of_attempt.hpp"
#include "engine/facts/pod_facts.hpp"
#include "engine/facts/reasons.hpp"
#include "engine/repair/choice.hpp"
#include "engine/repair/ending.hpp"
#include "engine/repair/sizes.hpp"
#include "engine/repair/times.hpp"
#include "engine/repair/witness.hpp"
#include "engine/view/view.hpp"
#include "status/bounds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace signalbox::core::engine {
namespace {

// By what they say the specification is compiled (12.16).
constexpr std::string_view recompiled_queue = "queue";
constexpr std::string_view recompiled_scheduler = "scheduler";

/// Clocks go back by less: what lies further ahead was not written by us.
constexpr milliseconds far_ahead = std::chrono::hours(1);

/// The status is copied when the first thing is found to be wrong: most never are.
class repairer {
public:
    explicit repairer(const inputs& in) : in_(in) {}

    std::optional<repair> run() {
        repair_attempt();
        repair_end();
        repair_pause();
        repair_start();
        repair_seen();
        repair_tasks();
        repair_incident();
        repair_counts();
        repair_done(&restart_ledger::completed, "restarts.completed");
        repair_done(&restart_ledger::given_up, "restarts.givenUp");
        repair_settling();
        repair_time();
        repair_avoided();
        repair_progress();
        repair_choice();
        return std::move(out_);
    }

private:
    const job_status& now() const { return out_ ? out_->status : in_.job.status; }

    job_status& edit(std::string_view field) {
        if (!out_) {
            out_ = repair{in_.job.status, {}};
        }
        if (std::ranges::find(out_->fields, field) == out_->fields.end()) {
            out_->fields.push_back(field);
        }
        return out_->status;
    }

    bool lies_ahead(instant t) const { return t > in_.now + far_ahead; }
    bool is_before_job(instant t) const {
        return in_.job.meta.creation_time && t < *in_.job.meta.creation_time - far_ahead;
    }

    bool has_pod_of(std::int32_t attempt) const { return find_pod_of(in_, attempt) != nullptr; }

    /// A choice may have been made with the present attempt (8.15).
    bool was_resumed() const {
        const auto& ended = now().attempt_history;
        return ended.empty() || says(ended.back().reason, reason::paused);
    }

    std::int32_t latest_attempt_of_pods() const {
        std::int32_t latest = 0;
        for (const pod_record* p : in_.seen.pods) {
            if (is_sound(in_, *p) && p->attempt < most_counted) {
                latest = std::max(latest, p->attempt);
            }
        }
        return latest;
    }

    /// Pods are made after their attempt is on record: they tell which it was.
    void repair_attempt() {
        const auto& before = in_.job.status.restarts.last;
        const std::int32_t of_last = before && before->attempt < most_counted ? before->attempt : 0;
        const bool endless = now().attempt >= most_counted;
        if (endless || now().attempt == 0) {
            const std::int32_t latest = std::max(latest_attempt_of_pods(), of_last);
            if (endless || latest > 0) {
                edit("attempt").attempt = std::max(latest, 1);
            }
        } else if (of_last > now().attempt && has_pod_of(of_last) && !has_pod_of(now().attempt)) {
            edit("attempt").attempt = of_last;
        }
        if (before && before->attempt > now().attempt) {
            edit("restarts.last.attempt").restarts.last->attempt = now().attempt;
        }
        const restart_ledger& r = now().restarts;
        const bool begun = !r.seen.empty() || !r.replaced.empty() || !r.renamed.empty() ||
                           !r.completed.empty() || !r.given_up.empty();
        if (now().attempt == 0 && begun) {
            restart_ledger& empty = edit("restarts").restarts;
            empty.seen.clear();
            empty.replaced.clear();
            empty.renamed.clear();
            empty.completed.clear();
            empty.given_up.clear();
        }
    }

    /// A final phase stays, and one that somebody wrote is none (4.1).
    void repair_end() {
        const job_phase phase = phase_by_witnesses(now());
        if (phase != now().phase) {
            edit("phase").phase = phase;
        }
        if (!is_final(now().phase)) {
            if (now().completion_time) {
                edit("completionTime").completion_time.reset();
            }
            if (has_condition_of_end(now())) {
                remove_conditions_of_end(edit("conditions"));
            }
            return;
        }
        const auto& end = now().completion_time;
        if (!end || is_before_job(*end)) {
            job_status& s = edit("completionTime");
            s.completion_time = time_of_end(s).value_or(round_down_to_second(in_.now));
            if (is_before_job(*s.completion_time)) {
                s.completion_time = round_down_to_second(in_.now);
            }
        }
        if (now().reason.empty()) {
            job_status& s = edit("reason");
            s.reason = reason_of_end(s);
        }
        if (!tells_of_end(now())) {
            job_status& s = edit("conditions");
            s.conditions = conditions_of_end(in_, s);
        }
    }

    void repair_pause() {
        const job_phase phase = phase_of_pause(now());
        if (phase != now().phase) {
            edit("phase").phase = phase;
        }
    }

    /// Pods are asked for after the start is on record.
    void repair_seen() {
        const bool active = !is_final(now().phase) && now().phase != job_phase::paused;
        if (active && !now().start_time && !now().restarts.seen.empty()) {
            edit("restarts.seen").restarts.seen.clear();
        }
    }

    void repair_start() {
        const auto& start = now().start_time;
        if (is_final(now().phase)) {
            return;
        }
        if (now().phase == job_phase::paused || now().attempt == 0) {
            if (start) {
                edit("startTime").start_time.reset();
            }
            return;
        }
        if ((start && !lies_ahead(*start) && !is_before_job(*start)) ||
            (!start && !has_pod_of(now().attempt))) {
            return;
        }
        instant first = in_.now;
        for (const pod_record* p : in_.seen.pods) {
            if (in_.owns(*p) && p->creation) {
                first = std::min(first, *p->creation);
            }
        }
        edit("startTime").start_time = round_up_to_second(first);
    }

    /// What attempt the others are of has to be known first: by its types and by which pod decides
    /// (10.4).
    void repair_tasks() {
        if (now().attempt > 0) {
            if (auto found = find_true_tasks(in_, now())) {
                edit("tasks").tasks = std::move(*found);
            }
        }
        began_ = in_.invalid ? std::nullopt : plan_of_attempt(in_.plan, now());
    }

    void repair_incident() {
        if (!now().restarts.last || is_final(now().phase)) {
            return;  // an end leaves it as it was
        }
        constexpr std::string_view whole = "restarts.last";
        const auto changed = [&]() -> incident_record& { return *edit(whole).restarts.last; };
        const auto last = [&]() -> const incident_record& { return *now().restarts.last; };
        const milliseconds longest =
            std::max(in_.policy.restart_delay_max, in_.policy.free_delay_max);
        if (last().time && lies_ahead(*last().time)) {
            changed().time = round_down_to_second(in_.now);
        }
        if (last().not_before && lies_ahead(*last().not_before - longest)) {
            changed().not_before = round_up_to_second(in_.now + longest);
        }
    }

    void repair_settling() {
        const auto& settling = now().restarts.settling;
        if (!settling || is_final(now().phase)) {
            return;  // an end leaves it as it was
        }
        constexpr std::string_view whole = "restarts.settling";
        if (!can_settle(*settling)) {
            edit(whole).restarts.settling.reset();
        } else if (!settling->time || lies_ahead(*settling->time)) {
            edit(whole).restarts.settling->time = round_down_to_second(in_.now);
        }
    }

    void repair_progress() {
        const auto& progress = now().progress;
        if (!progress || is_final(now().phase)) {
            return;
        }
        const auto ahead = [&](const std::optional<instant>& t) { return t && lies_ahead(*t); };
        const bool late = progress->attempt > now().attempt;
        if (late || ahead(progress->advanced) || ahead(progress->last_updated) ||
            ahead(progress->checkpoint_time)) {
            edit("progress").progress.reset();
        }
    }

    /// What is on record of who schedules the job counts for its pods (8.10, 8.15).
    void repair_choice() {
        if (now().attempt == 0 || is_final(now().phase) || now().phase == job_phase::paused) {
            return;
        }
        if (auto queue = find_true_queue(in_, now()); queue != now().queue) {
            edit(recompiled_queue).queue = std::move(queue);
        }
        const bool tell = now().attempt == 1 || was_resumed() || has_pod_of(now().attempt);
        auto name = find_true_scheduler(in_, now(), now().attempt - (tell ? 0 : 1));
        if (name != now().scheduler) {
            edit(recompiled_scheduler).scheduler = std::move(name);
        }
        if (now().admission && !can_have_admission(in_, now())) {
            edit("admission").admission.reset();
        }
    }

    void repair_avoided() {
        const auto ahead = [&](const avoided_node& n) { return n.time && lies_ahead(*n.time); };
        if (!is_final(now().phase) && std::ranges::any_of(now().avoided, ahead)) {
            for (avoided_node& n : edit("avoidedNodes").avoided) {
                n.time = ahead(n) ? std::optional(round_down_to_second(in_.now)) : n.time;
            }
        }
    }

    void repair_time() {
        if (auto found = find_true_time(in_, now())) {
            edit("timeSeconds").time = *found;
        }
        const auto& start = now().attempt_start;
        if (start && !is_final(now().phase) && (lies_ahead(*start) || is_before_job(*start))) {
            edit("attemptStartTime").attempt_start = round_down_to_second(in_.now);
        }
    }

    /// The exit that settles is that of a pod of this attempt, which nothing has replaced yet
    /// (5.6).
    bool can_settle(const incident_record& settling) const {
        if (settling.pods.empty() || now().phase == job_phase::paused || now().attempt == 0) {
            return false;
        }
        const bool settles = in_.plan.scope == scope_rule::c10d ||
                             in_.plan.scope == scope_rule::external || in_.invalid ||
                             may_be_of_other_policies();
        return settles &&
               std::ranges::any_of(
                   settling.pods,
                   [&](const incident_pod& known) {
                       return is_awaited(identity_from_name(plan(), known.name));
                   }
               ) &&
               std::ranges::none_of(settling.pods, [&](const incident_pod& known) {
                   return std::ranges::any_of(in_.seen.pods, [&](const pod_record* p) {
                       return in_.owns(*p) && p->name == known.name && p->uid != known.uid &&
                              p->attempt == now().attempt;
                   });
               });
    }

    /// A replica of the attempt of which something is expected.
    bool is_awaited(const pod_identity& id) const {
        if (id.type == no_type || id.index >= wanted_in_force(now(), plan().types[id.type])) {
            return false;
        }
        const std::string& type = plan().types[id.type].name;
        const auto holds = [&](const std::vector<typed_indexes>& list) {
            const index_set* set = find_indexes(list, type);
            return set != nullptr && set->contains(id.index);
        };
        return !holds(now().restarts.completed) && !holds(now().restarts.given_up);
    }

    /// Counts that nothing can be added to, so that the next one would be taken for this one.
    void repair_counts() {
        const restart_ledger& r = now().restarts;
        if (std::ranges::any_of(r.replaced, [](const auto& i) {
                return i.round >= most_counted;
            })) {
            for (replaced_index& i : edit("restarts.replaced").restarts.replaced) {
                i.round = i.round < most_counted ? i.round : round_of_pod(i);
            }
        }
        if (std::ranges::any_of(r.renamed, [](const auto& i) { return i.k >= most_counted; })) {
            std::erase_if(edit("restarts.renamed").restarts.renamed, [](const auto& i) {
                return i.k >= most_counted;
            });
        }
        if (r.forgiven > now().backoff_count) {
            edit("restarts.forgiven").restarts.forgiven = now().backoff_count;
        }
        if (r.idle > now().backoff_count + r.disruptions) {
            edit("restarts.withoutProgress").restarts.idle =
                std::min(now().backoff_count + r.disruptions, most_counted);
        }
        if (r.renames >= most_counted) {
            edit("restarts.renames").restarts.renames = 0;
        }
    }

    std::int32_t round_of_pod(const replaced_index& i) const {
        std::int32_t round = 1;
        for (const pod_record* p : in_.seen.pods) {
            if (is_sound(in_, *p) && p->type == i.type && p->index == i.index &&
                p->attempt == now().attempt && p->round < most_counted) {
                round = std::max(round, p->round);
            }
        }
        return round;
    }

    /// Nothing more is expected of these replicas: then the deciding one is not among them (5.2,
    /// 5.10), none has a pod that has not ended, and the job is one in which that can be.
    void repair_done(std::vector<typed_indexes> restart_ledger::*list, std::string_view field) {
        if ((now().restarts.*list).empty() || is_final(now().phase)) {
            return;
        }
        const auto is_of_none = [&](const typed_indexes& t) {
            return std::ranges::none_of(plan().types, [&](const type_plan& type) {
                return type.name == t.type && wanted_in_force(now(), type) > 0;
            });
        };
        if (std::ranges::any_of(now().restarts.*list, is_of_none)) {
            std::erase_if(edit(field).restarts.*list, is_of_none);
        }
        const bool completes = list == &restart_ledger::completed;
        for (std::size_t r = 0; r < plan().types.size(); ++r) {
            const std::string& name = plan().types[r].name;
            const index_set* before = find_indexes(now().restarts.*list, name);
            if (before == nullptr) {
                continue;
            }
            index_set done = truly_done(r, *before, completes);
            if (done != *before) {
                set_indexes(edit(field).restarts.*list, name, std::move(done));
            }
        }
    }

    index_set truly_done(std::size_t r, index_set done, bool completes) {
        const type_plan& type = plan().types[r];
        const std::int32_t wanted = std::max(wanted_in_force(now(), type), 0);
        done.erase_from(wanted);
        const index_set* completed = find_indexes(now().restarts.completed, type.name);
        for (std::int32_t i = 0; i < wanted; ++i) {
            const bool deciding = r == plan().deciding_type && i == 0;
            const bool never = completes ? never_completes(type, i) : never_given_up();
            const bool other_list = !completes && completed != nullptr && completed->contains(i);
            if (deciding || never || other_list) {
                done.erase(i);
            }
        }
        for (const pod_record* p : in_.seen.pods) {
            const bool is_of_it =
                is_sound(in_, *p) && p->type == type.name && p->attempt == now().attempt;
            if (is_of_it && !p->deletion && done.contains(p->index) &&
                !end_of(*p, type.training_container, in_.now) && counts_for(r, *p)) {
                done.erase(p->index);
            }
        }
        return done;
    }

    /// Of several pods of one replica only the newest: the others are about to be deleted (1.4).
    bool counts_for(std::size_t type, const pod_record& pod) {
        if (!view_) {
            view_ =
                make_view(plan(), now(), in_.seen, stuck_after(in_.job.meta, in_.policy), in_.now);
        }
        const auto& replicas = view_->types[type].replicas;
        const auto at = static_cast<std::size_t>(pod.index);
        return at >= replicas.size() || replicas[at].newest == &pod;
    }

    bool never_completes(const type_plan& type, std::int32_t index) const {
        if (in_.invalid) {
            return false;  // the record does not say who runs sshd
        }
        const index_set* seen = find_indexes(now().restarts.seen, type.name);
        const bool unseen =
            now().phase != job_phase::paused && (seen == nullptr || !seen->contains(index));
        return unseen || in_.plan.scope == scope_rule::no_restart ||
               (type.serves(index) && !counts_all_completed());
    }

    bool never_given_up() const {
        const bool goes_on = in_.plan.run.failure == failure_policy::master ||
                             (in_.plan.elastic && in_.plan.elastic->survives_loss) ||
                             may_be_of_other_policies();
        return !in_.invalid && (in_.plan.scope == scope_rule::no_restart || !goes_on);
    }

    /// Beside a replica that is given up, or whose exit settles, we write the condition (4.13):
    /// then the record may be older than the policies in hand (10.3).
    bool may_be_of_other_policies() const {
        const condition* c = find_condition(now(), condition_type::replica_failure);
        return in_.plan.scope != scope_rule::no_restart && c != nullptr && c->status &&
               says(c->reason, reason::replica_failed);
    }

    /// Whatever ran in them then: we count replicas that are completed as succeeded (4.15).
    bool counts_all_completed() const {
        std::int64_t n = 0;
        for (const typed_indexes& t : now().restarts.completed) {
            n += t.indexes.size();
        }
        return now().aggregate && n <= now().aggregate->succeeded;
    }

    const job_plan& plan() const { return began_ ? *began_ : in_.plan; }

    const inputs& in_;
    std::optional<job_plan> began_;
    std::optional<pod_view> view_;
    std::optional<repair> out_;
};

}  // namespace

std::optional<repair> find_repair(const inputs& in) {
    return repairer(in).run();
}

bool changes_plan(const repair& r) {
    return std::ranges::any_of(r.fields, [](std::string_view field) {
        return field == recompiled_queue || field == recompiled_scheduler;
    });
}

event tell_of_repair(const repair& r) {
    return {
        true,
        std::string(to_string(reason::status_repaired)),
        fmt::format(
            "The status was changed by somebody else; put right: {}", fmt::join(r.fields, ", ")
        )};
}

}  // namespace signalbox::core::engine
