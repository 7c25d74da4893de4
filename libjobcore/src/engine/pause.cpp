// SPDX-License-Identifier: Apache-2.0
//
// Pause and resume (BEHAVIOUR.md 6).
#include "engine/ledger.hpp"
#include "engine/objects.hpp"
#include "engine/pass.hpp"

#include <algorithm>

namespace signalbox::core::engine {
namespace {

void enter_pause(pass& p) {
    p.next.phase = job_phase::paused;
    p.next.reason = reason::paused;
    p.next.start_time.reset();
    if (p.next.restarts.last) {
        p.next.restarts.last->not_before.reset();
        p.next.restarts.last->pending = false;
    }
    p.normal(reason::paused, "The job is paused");
}

/// Every pod goes, whatever the clean-up policy; then what lives only as long as pods do.
void delete_for_pause(pass& p) {
    stage pods;
    for (const pod_record* pod : p.seen.pods) {
        if (pod->owner_uid == p.plan.job_uid && !pod->deletion) {
            pods.push_back(remove_pod(*pod, "the job is paused", "behaviour 6.1"));
        }
    }
    std::ranges::sort(pods, {}, &action::name);
    p.add_stage(std::move(pods));

    stage groups;
    for (const child_record* c : p.seen.children) {
        const bool goes = c->kind == object_kind::pod_group ||
                          (c->kind == object_kind::config_map && p.seen.pods.empty());
        if (goes && c->owner_uid == p.plan.job_uid && !c->deleting) {
            groups.push_back(remove_child(*c, "the job is paused", "behaviour 6.1"));
        }
    }
    std::ranges::sort(groups, {}, &action::name);
    p.add_stage(std::move(groups));
}

}  // namespace

bool is_resumed(const job_status& status) {
    return find_condition(status, condition_type::paused) != nullptr;
}

void pause(pass& p) {
    if (p.job.status.phase != job_phase::paused) {
        enter_pause(p);
        return;
    }
    p.next.reason = reason::paused;
    delete_for_pause(p);
}

void resume(pass& p) {
    raise_attempt(p.next, p.plan);
    p.next.phase = job_phase::resuming;
    p.normal(event_reason::resumed, "The job is resumed");
}

}  // namespace signalbox::core::engine
