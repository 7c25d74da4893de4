// SPDX-License-Identifier: Apache-2.0
//
// What is read and written where pods need quota (BEHAVIOUR.md 8.11-8.14).
#include "engine/view/quota.hpp"

#include "engine/facts/ledger.hpp"
#include "engine/view/children.hpp"
#include "engine/work/parts.hpp"
#include "jobcore/strings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace signalbox::core::engine {
namespace {

using change = gang::quota_change;

/// Held as long as the server has refused it. What it said is told.
action hold_refused(const context& c, action a, work& out) {
    const auto& refusals = c.in.seen.refusals;
    const auto it =
        std::ranges::find_if(refusals, [&](const refusal& r) { return is_refusal_of(r, a); });
    if (it != refusals.end()) {
        hold(a, next_try(c.in.policy, *it), c.in.now);
        wait_for_refused(*it, out);
    }
    return a;
}

/// On the very version that it was decided on.
action write(
    const gang::quota_scheme& scheme,
    const child_record& child,
    const change& what,
    std::string why,
    std::string_view rule
) {
    std::string body = fmt::format(
        R"({{"metadata":{{"uid":{},"resourceVersion":{}}},"status":{}}})",
        json_string(child.uid),
        json_string(child.resource_version),
        scheme.status(*child.gang->quota, what)
    );
    return {
        child.kind,
        child.name,
        patch_object{child.uid, std::move(body), std::nullopt, "status"},
        {},
        std::move(why),
        rule};
}

action read(const gang::named_object& of, std::string why) {
    return {of.kind, of.name, read_object{}, {}, std::move(why), "behaviour 8.12"};
}

/// Of kinds that ask for quota; null: of others.
const gang::quota_scheme* scheme_of(object_kind kind) {
    const gang::scheduler* by = kind->use == kind_use::gang ? gang::scheduler_of(kind) : nullptr;
    return by == nullptr ? nullptr : by->quota;
}

/// Of all types, those of which nothing is given back left out; nothing: as it was.
std::vector<std::pair<std::string_view, std::int32_t>> reclaimable(
    const context& c, const quota_answer& says
) {
    std::vector<std::pair<std::string_view, std::int32_t>> out;
    bool more = false;
    for (const quota_answer::pod_set& set : says.sets) {
        const task_status* task = find_task(c.status, set.type);
        const std::int32_t needed =
            task == nullptr ? set.count : task->wanted - replicas_ended(c.status, set.type);
        const std::int32_t back =
            std::clamp(set.count - needed, set.reclaimed, std::max(set.count, set.reclaimed));
        more = more || back > set.reclaimed;
        if (back > 0) {
            out.emplace_back(set.type, back);
        }
    }
    return more ? out : decltype(out)();
}

/// Pods that a smaller size leaves out, or that are replaced, still take what they had.
bool has_left_overs(const context& c) {
    return std::ranges::any_of(c.view.left_overs, [](const left_over& l) {
        return !l.stuck && l.pod->phase != pod_phase::succeeded &&
               l.pod->phase != pod_phase::failed;
    });
}

void report(const context& c, const quota_view& q, work& out) {
    change what{.now = c.in.now};
    std::string why;
    what.reclaimed = has_left_overs(c) ? decltype(what.reclaimed)() : reclaimable(c, *q.says);
    const bool complete = is_complete(c);
    if (!what.reclaimed.empty()) {
        what.is = change::what::reclaim;
        why = "pods have ended, and their quota is given back";
    } else if (complete != q.says->ready) {
        what.is = complete ? change::what::ready : change::what::unready;
        why = complete ? "all pods are ready" : "not all pods are ready any more";
    } else {
        return;
    }
    out.add(
        {hold_refused(c, write(*q.scheme, *q.child, what, std::move(why), "behaviour 8.14"), out)}
    );
}

/// Once its pods have stopped. What asks for too little is made anew: Kueue might admit it again
/// before it could be changed.
void release(const context& c, const quota_view& q, work& out) {
    const quota_holders pods = find_quota_holders(c);
    if (pods.until) {
        out.wake_ups.push_back({*pods.until, awaited::stuck_pod});
    }
    if (!pods.any && !asks_for_all(c.in, *q.says)) {
        out.add({remove_child(*q.child, "it asks for less than the job wants", "behaviour 8.13")});
    } else if (!pods.any) {
        out.add({hold_refused(
            c,
            write(
                *q.scheme,
                *q.child,
                {change::what::release, c.in.now},
                "its pods have stopped, and it is asked for anew",
                "behaviour 8.13"
            ),
            out
        )});
    }
}

void read_flavors(const context& c, const quota_view& q, work& out) {
    stage reads;
    for (const gang::named_object& flavor : unread_flavors(c.in, q)) {
        reads.push_back(
            hold_refused(c, read(flavor, "it says on which nodes the admitted pods may run"), out)
        );
    }
    out.add(std::move(reads));
}

/// Before what asks for quota is made: it says how important the job is.
bool is_priority_known(const context& c, const quota_view& q, work& out) {
    const auto of = q.scheme->priority_class(c.in.plan.gang->asked);
    if (!of || find_reading(c.in, *of) != nullptr) {
        return true;
    }
    out.add({hold_refused(c, read(*of, "its value is the priority of the job"), out)});
    return false;
}

}  // namespace

bool asks_for_quota(const context& c, work& out) {
    const auto q = find_quota(c.in);
    if (!q) {
        return true;
    }
    if (q->child == nullptr && c.status.admission) {
        out.add({confirm(q->object->kind, q->object->name, "what was admitted is missing")});
        return false;
    }
    if (q->child == nullptr) {
        return is_priority_known(c, *q, out);
    }
    if (q->says == nullptr || q->child->deleting) {
        return true;
    }
    if (q->says->finished) {
        out.add({remove_child(*q->child, "it will never ask for quota again", "behaviour 8.13")});
        return false;
    }
    if (c.status.admission) {
        report(c, *q, out);
    } else if (can_take(c, *q)) {
        read_flavors(c, *q, out);
    } else if (q->says->reserved && (q->says->evicted || !is_enough(c, *q->says))) {
        release(c, *q, out);
    }
    return true;
}

bool has_quota(const context& c, work& out) {
    const auto q = find_quota(c.in);
    if (!q) {
        return true;
    }
    if (c.status.admission && q->says != nullptr && !why_lost(c, *q)) {
        return true;
    }
    std::string message = fmt::format("{} {}", to_string(q->object->kind), q->object->name);
    if (q->says != nullptr && !q->says->queue.empty()) {
        message += fmt::format(" in queue {}", q->says->queue);
    }
    const std::string_view words = q->child == nullptr || q->child->gang == nullptr
                                       ? std::string_view()
                                       : q->child->gang->words;
    const bool gives_back = q->says != nullptr && q->says->admitted && !q->says->evicted;
    message += !words.empty() ? fmt::format(": {}", words)
               : gives_back   ? " gives its quota back, and asks for more"
                              : " is not admitted";
    if (q->says != nullptr && q->says->reserved && find_quota_holders(c).any) {
        message += "; its pods are being stopped";
    }
    out.wait_for(wait_rank::gang_waits, reason::waiting_for_quota, std::move(message));
    return false;
}

bool keeps_quota(const context& c, const child_record& child, work& out) {
    const quota_holders pods =
        scheme_of(child.kind) == nullptr ? quota_holders() : find_quota_holders(c);
    if (pods.until) {
        out.wake_ups.push_back({*pods.until, std::nullopt});
    }
    return pods.any;
}

bool finish_quota(const context& c, const child_record& child, work& out) {
    const gang::quota_scheme* scheme = scheme_of(child.kind);
    if (scheme == nullptr) {
        return false;
    }
    const quota_holders pods = find_quota_holders(c);
    if (pods.until) {
        out.wake_ups.push_back({*pods.until, std::nullopt});
    }
    const bool said =
        child.gang == nullptr || child.gang->quota == nullptr || child.gang->quota->finished;
    if (!said && out.stages.empty() && !pods.stopping) {
        const bool succeeded = c.status.phase == job_phase::succeeded;
        out.add({hold_refused(
            c,
            write(
                *scheme,
                child,
                {change::what::finish, c.in.now, succeeded},
                "the job has ended",
                "behaviour 8.13"
            ),
            out
        )});
    }
    return true;
}

}  // namespace signalbox::core::engine
