// SPDX-License-Identifier: Apache-2.0
#include "engine/losses.hpp"

#include "engine/ledger.hpp"
#include "engine/objects.hpp"
#include "engine/termination.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace signalbox::core::engine {
namespace {

/// Our bootstrap's exit code and message when it gave up waiting for the workers' sshd.
constexpr std::int32_t unreachable_code = 75;
constexpr std::string_view bootstrap_prefix = "signalbox: ";

/// Twice in a row it does not count (5.4). The record of that is the cause of the last incident.
std::string_view cause_of_unreachable(const pass& p) {
    const auto& last = p.next.restarts.last;
    if (!last || (last->cause != cause::workers_unreachable &&
                  last->cause != cause::workers_unreachable_again)) {
        return cause::workers_unreachable;
    }
    return last->cause == cause::workers_unreachable ? cause::workers_unreachable_again
                                                     : cause::pod_failed;
}

/// The pod broke a limit of its own: not disrupted (5.4).
bool own_limit(const pod_record& pod) {
    return !pod.disruption_target &&
           (pod.reason == "Evicted" || pod.reason == "DeadlineExceeded" || init_failed(pod));
}

class looker {
public:
    looker(pass& p, bool while_paused) : p_(p), while_paused_(while_paused) {
        for (const confirmed_absence& a : p.seen.absences) {
            if (a.kind == object_kind::pod) {
                absent_.push_back(a.name);
            }
        }
        std::ranges::sort(absent_);
    }

    look take() {
        for_each_slot(p_, [&](std::size_t role, std::int32_t index, slot& s) {
            visit(role, index, s);
        });
        if (!while_paused_) {
            add_rejected();
            recall_settling();
        }
        return std::move(out_);
    }

private:
    void visit(std::size_t role, std::int32_t index, slot& s) {
        if (s.settled()) {
            return;
        }
        if (s.current != nullptr) {
            visit_pod(role, index, s);
        } else if (s.seen && !while_paused_) {
            visit_missing(role, index, s);
        }
    }

    void visit_pod(std::size_t role, std::int32_t index, slot& s) {
        const pod_record& pod = *s.current;
        const role_plan& plan = *p_.view.roles[role].plan;
        const auto end = end_of(pod, plan.training_container, p_.now);
        const bool own_end = end && end->before_deletion && end->exit_code;
        if (own_end && p_.is_master(role, index)) {
            out_.master_end = end;
        }
        if (own_end && end->success()) {
            visit_success(role, index, s, plan, *end);
        } else if (own_end) {
            add_exit(role, index, pod, plan, *end, cause::pod_failed);
        } else if (end && end->before_deletion && own_limit(pod)) {
            add_failure(role, index, pod, plan, *end, /*disrupted=*/false);
        } else if ((end || pod.deletion) && !while_paused_) {
            add_disruption(role, index, pod, end);
        }
    }

    void visit_success(
        std::size_t role, std::int32_t index, slot& s, const role_plan& plan, const pod_end& end
    ) {
        if (p_.is_master(role, index) || p_.frozen) {
            return;
        }
        if (index >= plan.sshd_from_index) {
            add_exit(role, index, *s.current, plan, end, cause::worker_exited);
        } else if (plan.restart == restart_policy::always) {
            out_.always.emplace_back(role, index);
        } else {
            insert_index(p_.next.restarts.completed, plan.type, index);
            s.completed = true;
        }
    }

    void visit_missing(std::size_t role, std::int32_t index, const slot& s) {
        std::string name = p_.name_of(role, index);
        if (!s.damaged && !std::ranges::binary_search(absent_, std::string_view(name))) {
            out_.unconfirmed.emplace_back(role, index);
            return;
        }
        loss l = make(role, index, nullptr);
        l.name = std::move(name);
        l.disrupted = true;
        l.cause = cause::pod_vanished;
        l.end = p_.now;
        l.short_lived = is_soon_after_incident(p_);
        l.message = s.damaged ? fmt::format("pod {} lost its labels", l.name)
                              : fmt::format("pod {} vanished", l.name);
        out_.losses.push_back(std::move(l));
    }

    static loss make(std::size_t role, std::int32_t index, const pod_record* pod) {
        loss l;
        l.role = role;
        l.index = index;
        l.pod = pod;
        if (pod != nullptr) {
            l.name = pod->name;
        }
        return l;
    }

    void add_exit(
        std::size_t role,
        std::int32_t index,
        const pod_record& pod,
        const role_plan& plan,
        const pod_end& end,
        std::string_view why
    ) {
        loss l = make(role, index, &pod);
        const container_record* c = training_container(pod, plan.training_container);
        const std::string_view note = c == nullptr ? std::string_view{} : c->message;
        l.exit_code = read_termination_message(note).error_code.value_or(end.exit_code.value_or(0));
        l.reason = c == nullptr ? "" : c->reason;
        l.out_of_memory = l.reason == "OOMKilled";
        l.end = end.time;
        const bool unreachable = end.exit_code == unreachable_code &&
                                 note.starts_with(bootstrap_prefix) && p_.is_master(role, index);
        l.cause = unreachable ? cause_of_unreachable(p_) : why;
        l.message = describe_failure(pod, plan.training_container);
        out_.losses.push_back(std::move(l));
    }

    void add_failure(
        std::size_t role,
        std::int32_t index,
        const pod_record& pod,
        const role_plan& plan,
        const pod_end& end,
        bool disrupted
    ) {
        loss l = make(role, index, &pod);
        l.disrupted = disrupted;
        l.reason = pod.reason;
        l.end = end.time;
        l.cause = disrupted ? cause::pod_disrupted : cause::pod_failed;
        l.message = describe_failure(pod, plan.training_container);
        out_.losses.push_back(std::move(l));
    }

    void add_disruption(
        std::size_t role,
        std::int32_t index,
        const pod_record& pod,
        const std::optional<pod_end>& end
    ) {
        loss l = make(role, index, &pod);
        const role_plan& plan = *p_.view.roles[role].plan;
        const container_record* c = training_container(pod, plan.training_container);
        l.disrupted = true;
        l.cause = cause::pod_disrupted;
        l.reason = pod.reason;
        if (c != nullptr && c->state == container_state::terminated) {
            l.exit_code = c->exit_code;
        }
        l.end = end ? end->time : std::min(deletion_asked(pod).value_or(p_.now), p_.now);
        l.short_lived = pod.creation && l.end - *pod.creation < p_.rules.short_life;
        l.message = describe_failure(pod, plan.training_container);
        out_.losses.push_back(std::move(l));
    }

    /// A pod that the server refuses for good is a failure of its replica (2.8).
    void add_rejected() {
        for (const refusal& r : p_.seen.refusals) {
            const bool for_good = (r.http_code == 403 || r.http_code == 422) && !is_quota(r);
            if (r.kind != object_kind::pod || !for_good || r.foreign_owner ||
                r.namespace_terminating || r.attempt != p_.next.attempt) {
                continue;
            }
            const pod_identity id = identity_from_name(p_.plan, r.name);
            if (id.role == no_role || id.index >= p_.view.roles[id.role].wanted()) {
                continue;
            }
            const slot& s = p_.view.roles[id.role].slots[static_cast<std::size_t>(id.index)];
            if (s.current != nullptr || s.settled() || s.round != r.round) {
                continue;
            }
            loss l = make(id.role, id.index, nullptr);
            l.name = r.name;
            l.cause = cause::pod_rejected;
            l.reason = r.reason;
            l.end = r.first;
            l.message = fmt::format("pod {} was refused: {}", r.name, r.message);
            out_.losses.push_back(std::move(l));
        }
        std::ranges::sort(out_.losses, {}, [](const loss& l) {
            return std::pair(l.role, l.index);
        });
    }

    /// What a settling pod ended with is on record: a later deletion does not make it free (5.6).
    void recall_settling() {
        const auto& last = p_.next.restarts.last;
        if (!last || !last->pending) {
            return;
        }
        for (const incident_pod& pod : last->pods) {
            const pod_identity id = identity_from_name(p_.plan, pod.name);
            if (id.role == no_role || id.index >= p_.view.roles[id.role].wanted()) {
                continue;
            }
            if (p_.view.roles[id.role].slots[static_cast<std::size_t>(id.index)].settled()) {
                continue;
            }
            std::erase(out_.unconfirmed, std::pair(id.role, id.index));
            auto l = std::ranges::find_if(out_.losses, [&](const loss& x) {
                return x.role == id.role && x.index == id.index;
            });
            if (l == out_.losses.end()) {
                l = out_.losses.insert(l, make(id.role, id.index, nullptr));
                l->name = pod.name;
                l->message = fmt::format("pod {} failed", pod.name);
            }
            l->disrupted = false;
            l->short_lived = false;
            l->exit_code = pod.exit_code;
            l->reason = pod.reason;
            l->cause = cause::pod_failed;
            l->end = last->time.value_or(p_.now);
        }
        std::ranges::sort(out_.losses, {}, [](const loss& x) {
            return std::pair(x.role, x.index);
        });
    }

    pass& p_;
    bool while_paused_;
    std::vector<std::string_view> absent_;  ///< names, sorted: all pods may vanish at once
    look out_;
};

}  // namespace

bool is_soon_after_incident(const pass& p) {
    const auto& last = p.next.restarts.last;
    return last && last->time && p.now - *last->time < p.rules.short_life;
}

look take_look(pass& p, bool while_paused) {
    return looker(p, while_paused).take();
}

}  // namespace signalbox::core::engine
