// SPDX-License-Identifier: Apache-2.0
//
// What of the present attempt is lost, done or not certain (BEHAVIOUR.md 5.2-5.4).
#include "engine/facts/sameness.hpp"
#include "engine/facts/signals.hpp"
#include "engine/facts/termination.hpp"
#include "engine/health/health.hpp"
#include "engine/view/children.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace signalbox::core::engine {
namespace {

/// Our bootstrap's exit code when it gave up waiting for the workers' sshd.
constexpr std::int32_t unreachable_code = 75;

/// Between the error of a rank and what its peers on the pod suffer by it, as long as torchrun
/// takes to look at them. Who goes on for longer had overcome the error.
constexpr seconds most_unwinding{10};
/// And until it ends itself: torchrun waits 30 s for ranks that do not end.
constexpr seconds most_ending{40};

/// A program of Python that ends by an exception may crash as it ends, in threads of native code.
bool is_end_of_raised(const termination_note& said, const loss& l) {
    return said.raised && !said.error_code && is_code_of_raised(*l.exit_code);
}

/// Twice in a row it does not count (5.4). The record of that is the cause of the last incident.
cause cause_of_unreachable(const context& c) {
    const auto& last = c.status.restarts.last;
    const auto before = last ? parse<cause>(last->cause) : std::nullopt;
    if (before == cause::workers_unreachable) {
        return cause::workers_unreachable_again;
    }
    return before == cause::workers_unreachable_again ? cause::pod_failed
                                                      : cause::workers_unreachable;
}

/// The pod broke a limit of its own: not disrupted (5.4).
bool own_limit(const pod_record& pod) {
    const auto why = parse<kubelet_reason>(pod.reason);
    const bool limited = why == kubelet_reason::evicted || why == kubelet_reason::deadline_exceeded;
    return !pod.disruption_target && (limited || init_failed(pod));
}

class examiner {
public:
    examiner(const context& c, health& out) : c_(c), out_(out) {
        for (const confirmed_absence& a : c.in.seen.absences) {
            if (a.kind == object_kind::pod) {
                absent_.push_back(a.name);
            }
        }
        std::ranges::sort(absent_);
    }

    void examine() {
        for_each_replica(c_.view, [&](std::size_t type, std::int32_t index, const replica_view& s) {
            visit(type, index, s);
        });
        // The pods of a paused job are deleted by us: none of them is lost.
        if (!c_.in.was_paused()) {
            add_rejected();
            recall_settling();
            hear_witnesses(c_, out_);
        }
    }

private:
    void visit(std::size_t type, std::int32_t index, const replica_view& s) {
        const bool stopped = c_.in.was_paused() || is_final(c_.status.phase);
        if (stopped && s.seen && s.current == nullptr && !s.blocked && !s.damaged &&
            !std::ranges::binary_search(absent_, std::string_view(c_.name_of(type, index)))) {
            out_.unaccounted.push_back({type, index});
        }
        if (s.done()) {
            return;
        }
        if (s.current != nullptr) {
            visit_pod(type, index, s);
        } else if (s.seen && !c_.in.was_paused()) {
            visit_missing(type, index, s);
        }
    }

    void visit_pod(std::size_t type, std::int32_t index, const replica_view& s) {
        const pod_record& pod = *s.current;
        const type_plan& plan = *c_.view.types[type].plan;
        const auto end = end_of(pod, s.training, c_.in.now);
        const bool own_end = end && end->before_deletion && end->exit_code;
        if (own_end && c_.is_deciding(type, index)) {
            out_.deciding_end = end;
        }
        if (own_end && end->success()) {
            visit_success(type, index, s, plan, *end);
        } else if (own_end) {
            add_exit(type, index, pod, plan, *end, cause::pod_failed);
        } else if (end && end->before_deletion && own_limit(pod)) {
            add_failure(type, index, pod, plan, *end);
        } else if ((end || pod.deletion) && !c_.in.was_paused()) {
            add_disruption(type, index, pod, end);
        }
    }

    void visit_success(
        std::size_t type,
        std::int32_t index,
        const replica_view& s,
        const type_plan& plan,
        const pod_end& end
    ) {
        if (c_.is_deciding(type, index) || c_.in.invalid || c_.in.was_paused()) {
            return;
        }
        if (plan.serves(index)) {
            add_exit(type, index, *s.current, plan, end, cause::worker_exited);
        } else if (plan.restart == restart_policy::always) {
            out_.repeated.push_back({{type, index}, repeat_time(*s.current, plan)});
        } else {
            out_.completed.push_back({type, index});
        }
    }

    /// Not earlier than some time after the start of the run before (5.9).
    instant repeat_time(const pod_record& pod, const type_plan& plan) const {
        const container_record* c = training_container(pod, plan.training_container);
        return start_of(pod, c, c_.in.now) + c_.in.policy.always_delay;
    }

    void visit_missing(std::size_t type, std::int32_t index, const replica_view& s) {
        std::string name = c_.name_of(type, index);
        if (!s.damaged && !std::ranges::binary_search(absent_, std::string_view(name))) {
            out_.unconfirmed.push_back({type, index});
            return;
        }
        loss l = make(type, index, nullptr);
        l.name = std::move(name);
        l.disrupted = true;
        l.cause = cause::pod_vanished;
        l.end = c_.in.now;
        l.short_lived = is_soon_after_incident(c_);
        l.message = s.damaged ? fmt::format("pod {} lost its labels", l.name)
                              : fmt::format("pod {} vanished", l.name);
        out_.losses.push_back(std::move(l));
    }

    static loss make(std::size_t type, std::int32_t index, const pod_record* pod) {
        loss l;
        l.type = type;
        l.index = index;
        l.pod = pod;
        if (pod != nullptr) {
            l.name = pod->name;
        }
        return l;
    }

    /// Of one that names no error: how it ended, by a crash or by a code that is not how victims
    /// end, and its last words. Of those that SIGKILL ended the first counts.
    static void note_way(const termination_note& said, loss& l) {
        if (l.signal != 0 && l.signal != sigkill) {
            l.way = 128 + l.signal;
        } else if (l.signal == 0 && !is_victims_code(*l.exit_code)) {
            l.way = *l.exit_code;
            l.sameness = said.last_line.empty() ? 0 : sameness_of(said.last_line, {});
        }
    }

    /// How much what it said counts. Who was killed or crashed says nothing of that: the end of its
    /// log is of its peers.
    static void weigh_words(const pod_end& end, termination_note& said, loss& l) {
        l.signal = std::max(
            {crash_signal(*l.exit_code),
             crash_signal(end.exit_code.value_or(0)),
             crash_signal(said.error_code.value_or(0))}
        );
        const bool crashed = l.signal != 0;
        if (crashed && l.overcome) {  // what it said so long before is no part of it
            said.raised = said.names_error = l.overcome = false;
            l.said_at.reset();
        }
        const bool raised = crashed && is_end_of_raised(said, l);
        const bool alone = l.out_of_memory || (crashed && !raised);
        l.secondary_by_message = l.secondary_by_message && !l.out_of_memory && !crashed;
        l.secondary = said.secondary && !alone;
        l.sameness = alone ? 0 : said.sameness;
        if (alone || !said.names_error) {
            note_way(said, l);
        }
        l.suffered = said.suffered_at.has_value();
        l.says_nothing =
            !said.names_error && !said.silent && !alone && is_victims_code(*l.exit_code);
        l.signal = raised && !said.secondary ? 0 : l.signal;
        // Without the times of a log it is not known whether the exception was overcome.
        said.raised = said.raised && (!crashed || (l.signal == 0 && l.said_at));
    }

    void add_exit(
        std::size_t type,
        std::int32_t index,
        const pod_record& pod,
        const type_plan& plan,
        const pod_end& end,
        cause why
    ) {
        loss l = make(type, index, &pod);
        const container_record* c = training_container(pod, plan.training_container);
        const std::string_view note = c == nullptr ? std::string_view{} : c->message;
        termination_note said = read_termination_message(note, pod.name);
        l.end = end.time;
        l.at_unknown_time = end.at_unknown_time;
        l.exit_code = said.error_code.value_or(end.exit_code.value_or(0));
        l.reason = c == nullptr ? "" : c->reason;
        l.container = c == nullptr ? "" : c->name;
        l.out_of_memory = says(l.reason, kubelet_reason::out_of_memory);
        l.secondary_by_message = said.secondary;
        if (const log_evidence* log = log_of(pod.uid); log != nullptr && tells_more(*log, said)) {
            take(*log, pod, said, l);
        }
        weigh_words(end, said, l);
        if (l.out_of_memory && !plan.memory_limit.empty()) {
            said.text = fmt::format(
                "out of memory: limit {} of container {}", plan.memory_limit, l.container
            );
            said.names_error = true;
        }
        const bool unreachable =
            end.exit_code == unreachable_code && said.from_bootstrap && c_.is_deciding(type, index);
        l.cause = unreachable ? cause_of_unreachable(c_) : why;
        l.message = describe_failure(pod, plan.training_container, &said);
        l.rank = said.rank;
        out_.losses.push_back(std::move(l));
    }

    /// What was read of the pod's log and says something; null if nothing was.
    const log_evidence* log_of(std::string_view uid) const {
        const auto& logs = c_.in.seen.logs;
        const auto it = std::ranges::find_if(logs, [&](const log_evidence& e) {
            return (e.names_error || e.silent) && e.pod_uid == uid;
        });
        return it == logs.end() ? nullptr : &*it;
    }

    /// Mostly the message is the end of the log at most. Our bootstrap writes one that knows more
    /// than the end of the log, and so may a program.
    static bool tells_more(const log_evidence& log, const termination_note& message) {
        // A report of torchrun's that names no error is the end of a log too.
        const bool is_end_of_log =
            message.silent || (message.sameness != 0 && message.sameness == log.end_sameness);
        const int by_message = message.secondary ? 3 : message.names_error ? 0 : 2;
        const int by_log = log.secondary ? 3 : log.names_error ? 0 : 1;
        return is_end_of_log || by_log <= by_message;
    }

    void take(const log_evidence& log, const pod_record& pod, termination_note& said, loss& l) {
        take_words(log, said);
        if (log.time) {
            l.said_at = told_by_node(*log.time, pod, c_.in.now);
            const instant suffered = log.suffered.value_or(*log.time);
            l.overcome = suffered - *log.time > most_unwinding || l.end - *l.said_at > most_ending;
        }
    }

    void add_failure(
        std::size_t type,
        std::int32_t index,
        const pod_record& pod,
        const type_plan& plan,
        const pod_end& end
    ) {
        loss l = make(type, index, &pod);
        l.reason = pod.reason;
        l.end = end.time;
        l.at_unknown_time = end.at_unknown_time;
        l.cause = cause::pod_failed;
        l.never_ran = init_failed(pod);
        l.message = describe_failure(pod, plan.training_container);
        out_.losses.push_back(std::move(l));
    }

    void add_disruption(
        std::size_t type,
        std::int32_t index,
        const pod_record& pod,
        const std::optional<pod_end>& end
    ) {
        loss l = make(type, index, &pod);
        const type_plan& plan = *c_.view.types[type].plan;
        const container_record* c = training_container(pod, plan.training_container);
        l.disrupted = true;
        l.cause = cause::pod_disrupted;
        l.reason = pod.reason;
        if (c != nullptr && c->state == container_state::terminated) {
            l.exit_code = c->exit_code;
        }
        l.end = end ? end->time : std::min(deletion_asked(pod).value_or(c_.in.now), c_.in.now);
        l.short_lived = pod.creation && l.end - *pod.creation < c_.in.policy.short_life;
        l.message = describe_failure(pod, plan.training_container);
        out_.losses.push_back(std::move(l));
    }

    /// A pod that the server refuses for good is a failure of its replica (2.8).
    void add_rejected() {
        for (const refusal& r : c_.in.seen.refusals) {
            if (r.kind != object_kind::pod || classify(r) != refusal_class::final ||
                r.attempt != c_.status.attempt) {
                continue;
            }
            const pod_identity id = identity_from_name(c_.in.plan, r.name);
            const replica_view* s = c_.find_replica(id.type, id.index);
            if (s == nullptr || s->current != nullptr || s->done() || s->round != r.round) {
                continue;
            }
            loss l = make(id.type, id.index, nullptr);
            l.name = r.name;
            l.cause = cause::pod_rejected;
            l.never_ran = true;
            l.reason = r.reason;
            l.end = r.first;
            l.message = fmt::format("pod {} was refused: {}", r.name, r.message);
            out_.losses.push_back(std::move(l));
        }
        std::ranges::sort(out_.losses, {}, [](const loss& l) {
            return std::pair(l.type, l.index);
        });
    }

    /// The message of an incident begins with the name of the pod whose failure it tells.
    static bool is_about(const incident_record& settled, const incident_pod& pod) {
        const std::string head = "pod " + pod.name;
        const std::string_view said = settled.message;
        const bool named =
            said.starts_with(head) && said.substr(head.size()).find_first_of(" ,") == 0;
        return !said.empty() && (named || settled.pods.size() == 1);
    }

    /// What a settling pod ended with is on record: a later deletion does not make it free (5.6).
    void recall_settling() {
        const auto& settling = c_.status.restarts.settling;
        if (!settling) {
            return;
        }
        for (const incident_pod& pod : settling->pods) {
            const pod_identity id = identity_from_name(c_.in.plan, pod.name);
            const replica_view* s = c_.find_replica(id.type, id.index);
            if (s == nullptr || s->done()) {
                continue;
            }
            std::erase(out_.unconfirmed, replica{id.type, id.index});
            auto l = std::ranges::find_if(out_.losses, [&](const loss& x) {
                return x.type == id.type && x.index == id.index;
            });
            if (l == out_.losses.end()) {
                l = out_.losses.insert(l, make(id.type, id.index, nullptr));
                l->name = pod.name;
                // Of several that settled the message tells of one: that of the others is lost.
                const bool told = is_about(*settling, pod);
                l->message = told ? settling->message : fmt::format("pod {} failed", pod.name);
                l->secondary = !told || settling->consequence;
            }
            l->disrupted = false;
            l->short_lived = false;
            l->exit_code = pod.exit_code;
            l->reason = pod.reason;
            l->cause = cause::pod_failed;
            l->end = settling->time.value_or(c_.in.now);
        }
        std::ranges::sort(out_.losses, {}, [](const loss& x) {
            return std::pair(x.type, x.index);
        });
    }

    const context& c_;
    health& out_;
    std::vector<std::string_view> absent_;  ///< names, sorted: all pods may vanish at once
};

}  // namespace

void examine_replicas(const context& c, health& out) {
    examiner(c, out).examine();
}

}  // namespace signalbox::core::engine
