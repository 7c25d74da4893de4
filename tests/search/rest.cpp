// SPDX-License-Identifier: Apache-2.0
//
// A world in which nothing more happens by itself.
#include "checks.hpp"
#include "configurations.hpp"
#include "engine/facts/inputs.hpp"
#include "engine/facts/ledger.hpp"
#include "engine/facts/pod_facts.hpp"
#include "engine/facts/reasons.hpp"
#include "events.hpp"
#include "gang.hpp"
#include "process.hpp"
#include "property/rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace signalbox::search {

using namespace core;

namespace {

/// What keeps a job from running as long as it lasts, and how its status names that.
struct hindrance {
    engine::reason reason;
    std::string_view text;  ///< of the condition Running, where a stronger reason stands
    bool tried_again;       ///< by the clock: its end may not be seen
    bool (*holds)(const world& w);
};

bool any_pod(const world& w, bool (*test)(const world&, const pod_record&)) {
    return std::ranges::any_of(w.pods, [&](const pod_ptr& p) { return test(w, *p); });
}

bool cannot_start(const world&, const pod_record& p) {
    return engine::hopeless_container(p) != nullptr;
}

bool never_stuck(const world& w) {
    return stuck_after_of(w) == milliseconds(0);
}

constexpr hindrance hindrances[] = {
    {engine::reason::name_conflict,
     "belongs to another owner",
     true,
     [](const world& w) { return !w.foreign.empty(); }},
    {engine::reason::quota_exceeded,
     "exceeded quota",
     true,
     [](const world& w) { return w.server == mood::quota; }},
    {engine::reason::waiting_for_pod_group,
     "does not serve",
     true,
     [](const world& w) { return w.served.of(gang_kind(w)) != served::yes; }},
    {engine::reason::waiting_for_quota,
     "in queue q",
     false,
     [](const world& w) {
         const quota_answer* says = quota_of(w);
         return says != nullptr && !says->reserved && !says->finished;
     }},
    {engine::reason::waiting_for_quota,
     "its pods are being stopped",
     false,
     [](const world& w) {
         return never_stuck(w) &&
                any_pod(w, [](const world& x, const pod_record& p) { return x.on_dead_node(p); });
     }},
    {engine::reason::invalid_spec,
     "specification is invalid",
     false,
     [](const world& w) { return !w.has_plan(); }},
    {engine::reason::unschedulable,
     "cannot be scheduled",
     false,
     [](const world& w) {
         return any_pod(w, [](const world&, const pod_record& p) { return p.unschedulable; });
     }},
    {engine::reason::master_unknown,
     "is Unknown",
     false,
     [](const world& w) {
         return any_pod(w, [](const world&, const pod_record& p) {
             return p.phase == pod_phase::unknown;
         });
     }},
    {engine::reason::waiting_for_names,
     "being deleted",
     false,
     [](const world& w) {
         return never_stuck(w) &&
                any_pod(w, [](const world& x, const pod_record& p) { return x.on_dead_node(p); });
     }},
};

bool is_named(const job_status& s, engine::reason why, std::string_view text) {
    return engine::says(s.reason, why) ||
           std::ranges::any_of(s.conditions, [&](const condition& c) {
               return engine::says(c.reason, why) || c.message.find(text) != c.message.npos;
           });
}

bool is_hindered(const world& w) {
    const job_status& s = w.job->status;
    const bool image = any_pod(w, cannot_start);
    const condition* failure = find_condition(s, "ReplicaFailure");
    if (image && failure != nullptr && failure->status) {
        return true;
    }
    return std::ranges::any_of(hindrances, [&](const hindrance& h) {
        return h.holds(w) && is_named(s, h.reason, h.text);
    });
}

bool lists(const std::vector<typed_indexes>& sets, std::string_view type, std::int32_t index) {
    const index_set* set = engine::find_indexes(sets, type);
    return set != nullptr && set->contains(index);
}

/// Every wanted replica has a pod of the recorded attempt, or needs none. What a pod that is there
/// waits for shows in the status as its own state.
std::string first_without_pod(const world& w) {
    const job_status& s = w.job->status;
    for (const type_plan& type : w.plan().types) {
        for (std::int32_t i = 0; i < engine::wanted_in_force(s, type); ++i) {
            const bool none = lists(s.restarts.completed, type.name, i) ||
                              lists(s.restarts.given_up, type.name, i);
            const bool there = std::ranges::any_of(w.pods, [&](const pod_ptr& p) {
                return p->type == type.name && p->index == i && p->attempt == s.attempt &&
                       !w.on_dead_node(*p);
            });
            if (!none && !there) {
                return fmt::format("{}-{}", type.name, i);
            }
        }
    }
    return {};
}

/// The name of a wanted pod is held forever by a stuck pod that was labelled `gone`.
bool waits_for_dead_name(const world& w) {
    if (!w.has_plan()) {
        return false;
    }
    const job_status& s = w.job->status;
    const auto held = [&](const std::string& name) {
        return std::ranges::any_of(w.pods, [&](const pod_ptr& p) {
            return p->name == name && p->attempt == gone_attempt && w.on_dead_node(*p);
        });
    };
    const job_plan& plan = w.plan();
    for (std::size_t r = 0; r < plan.types.size(); ++r) {
        const std::string& type = plan.types[r].name;
        for (std::int32_t i = 0; i < engine::wanted_in_force(s, plan.types[r]); ++i) {
            const auto renamed =
                std::ranges::find_if(s.restarts.renamed, [&](const renamed_index& n) {
                    return n.type == type && n.index == i;
                });
            const std::int32_t k = renamed == s.restarts.renamed.end() ? 0 : renamed->k;
            if (held(pod_name(plan, {r, i, s.attempt, 0, k}))) {
                return true;
            }
        }
    }
    return false;
}

/// What may end unseen is tried again at some time (1.8, 2.8, 8.4).
void check_tried_again(const world& w, violations& out) {
    const decision& d = decision_of(w);
    if (d.wake_up || test::acts(d, w.now)) {
        return;
    }
    for (const hindrance& h : hindrances) {
        if (h.tried_again && h.holds(w) && is_named(w.job->status, h.reason, h.text)) {
            out.push_back(fmt::format("I23 no one tries again: {}", to_string(h.reason)));
        }
    }
}

/// The attempt began with the types and sizes that the specification has (10.4).
bool has_size_of_spec(const world& w) {
    using sizes = std::vector<std::pair<std::string, std::int32_t>>;
    sizes recorded;
    for (const task_status& task : w.job->status.tasks) {
        recorded.emplace_back(task.type, task.wanted);
    }
    sizes wanted;
    for (const type_plan& type : w.plan().types) {
        wanted.emplace_back(type.name, type.wanted);
    }
    // The deciding pod's type comes first in the status.
    const auto deciding = wanted.begin() + static_cast<std::ptrdiff_t>(w.plan().deciding_type);
    std::rotate(wanted.begin(), deciding, deciding + 1);
    const auto has_none = [](const auto& type) { return type.second == 0; };
    std::erase_if(recorded, has_none);
    std::erase_if(wanted, has_none);
    return recorded == wanted;
}

void check_running(const world& w, violations& out) {
    const std::string missing = first_without_pod(w);
    if (w.plan().size_to_write && w.refusals.empty() && (w.plan().elastic || has_size_of_spec(w))) {
        out.push_back("7.1 the size is not written into the job");
    }
    if (!missing.empty() && !is_hindered(w)) {
        out.push_back("I18 the job is Running, and " + missing + " has no pod");
    }
}

bool is_kept(const world& w, const child_record& c) {
    // What asks for quota stays with the job, and check_quota_at_rest looks at it.
    return is_of_quota(c) || c.name.ends_with("-tensorboard") ||
           c.kind == object_kind::tensorboard || (c.kind == object_kind::secret && !w.pods.empty());
}

void check_ended(const world& w, violations& out) {
    const job_status& s = w.job->status;
    for (const child_ptr& c : w.children) {
        if (!is_kept(w, *c) && w.has_plan()) {
            out.push_back("5.13 an object is left at the end: " + c->name);
        }
    }
    for (const pod_ptr& p : w.pods) {
        const bool older = p->attempt != s.attempt && p->attempt != gone_attempt;
        if (older && test::is_live(*p) && w.has_plan()) {
            out.push_back("5.7 a pod of an older attempt is left at the end: " + p->name);
        }
    }
}

void check_paused(const world& w, violations& out) {
    if (!w.spec.pause) {
        if (w.has_plan()) {
            out.push_back("6.4 the job stays Paused though it is not paused any more");
        } else if (!is_named(w.job->status, engine::reason::invalid_spec, "invalid")) {
            out.push_back(
                "4.2 a job whose invalid specification is not paused stays Paused, and "
                "does not say why"
            );
        }
        return;
    }
    const bool any =
        std::ranges::any_of(w.pods, [&](const pod_ptr& p) { return !w.on_dead_node(*p); });
    if (any) {
        out.push_back("6.1 a paused job has pods");
    }
}

/// What the scheduler of Kubernetes holds, it holds forever.
void check_held(const world& w, violations& out) {
    for (const pod_ptr& p : w.pods) {
        if (is_held(w, *p) && p->phase == pod_phase::pending && !p->deletion && !is_hindered(w)) {
            out.push_back("8.6 " + p->name + " is held forever by its group");
            return;
        }
    }
}

/// Lost writes, crashes, refusals that pass and old views leave no trace (I20).
void check_no_trace(const world& w, violations& out) {
    const job_status& s = w.job->status;
    const bool untouched =
        w.past.failures == 0 && w.past.disruptions == 0 && w.past.edits == 0 && !w.past.lost_quota;
    if (untouched && !is_final(s.phase) && s.phase != job_phase::paused && s.attempt > 1) {
        out.push_back("I20 there is a second attempt, and nothing was lost");
    }
}

/// The pod that decided when the attempt began has ended well: so has the job (4.3).
void check_deciding_end(const world& w, violations& out) {
    const job_status& s = w.job->status;
    const bool goes_on = !is_final(s.phase) && s.phase != job_phase::paused;
    const bool ended = any_pod(w, [](const world& x, const pod_record& p) {
        const container_record* c = training_container(x, p);
        return p.type == x.past.deciding && p.index == 0 && p.attempt == x.job->status.attempt &&
               p.labels_complete && !p.deletion && c != nullptr &&
               c->state == container_state::terminated && c->exit_code == 0;
    });
    // Under torchrun a peer that failed goes first, and waits for a valid specification (4.2, 5.1).
    const bool doubtful =
        !w.has_plan() && valid_plan(w).peers_join && a_peer_failed(w, valid_plan(w));
    if (goes_on && ended && !doubtful) {
        out.push_back("4.3 the deciding pod has ended with 0, and the job goes on");
    }
}

}  // namespace

void check_at_rest(const world& w, violations& out) {
    const job_status& s = w.job->status;
    if (w.deleted) {
        return;
    }
    check_no_trace(w, out);
    check_damaged_at_rest(w, out);
    check_times_at_rest(w, out);
    check_progress_at_rest(w, out);
    check_deciding_end(w, out);
    check_quota_at_rest(w, out);
    check_held(w, out);
    const bool waits = !is_final(s.phase) && s.phase != job_phase::paused;
    if (waits) {
        check_tried_again(w, out);
    }
    if (waits && waits_for_dead_name(w)) {
        out.push_back("1.3 the job waits forever for the name of a stuck pod");
    } else if (is_final(s.phase)) {
        check_ended(w, out);
    } else if (s.phase == job_phase::paused) {
        check_paused(w, out);
    } else if (s.phase == job_phase::running && w.has_plan()) {
        check_running(w, out);
    } else if (!is_hindered(w)) {
        out.push_back(
            fmt::format("I18 nothing will ever wake this job: {} {}", to_string(s.phase), s.reason)
        );
    }
}

}  // namespace signalbox::search
