// SPDX-License-Identifier: Apache-2.0
//
// Which work a job has in its present phase, in the order of its stages.
#include "engine/work/work.hpp"

#include "engine/work/parts.hpp"

namespace signalbox::core::engine {
namespace {

void confirm_missing_keys(const context& c, const health& h, work& out) {
    if (h.keys.is == ssh_keys::state::unconfirmed) {
        pod_identity attempt;
        attempt.attempt = c.status.attempt;
        out.add({confirm(
            object_kind::secret, h.keys.name, attempt, "the Secret with the ssh keys is missing"
        )});
    }
}

void confirm_missing_pods(const context& c, const health& h, work& out) {
    stage reads;
    for (const replica& r : h.unconfirmed) {
        reads.push_back(confirm(
            object_kind::pod,
            c.name_of(r.role, r.index),
            {r.role, r.index, c.status.attempt, 0, 0},
            "a pod that was seen is missing"
        ));
    }
    out.add(std::move(reads));
}

void await_repeats(const context& c, const health& h, work& out) {
    for (const repeated_run& run : h.repeated) {
        if (run.due > c.in.now) {
            out.wake_ups.push_back({run.due, awaited::restart_delay});
        }
    }
}

void go_on(const context& c, const health& h, work& out) {
    if (c.in.plan.scope == scope_rule::no_restart && !h.unconfirmed.empty()) {
        confirm_missing_pods(c, h, out);
        return;
    }
    confirm_missing_keys(c, h, out);
    await_repeats(c, h, out);
    remove_left_overs(c, out);
    confirm_missing_pods(c, h, out);
    create_missing(c, h, out);
    keep_tensorboard(c, h, out);
    remove_old_config_maps(c, out);
}

}  // namespace

work plan_work(const context& c, const health& h) {
    work out;
    if (is_final(c.status.phase)) {
        clean_up(c, out);
    } else if (c.in.plan.paused) {
        remove_for_pause(c, out);
    } else if (!c.in.was_paused() && !c.in.invalid && !h.settles_until) {
        go_on(c, h, out);
    }
    return out;
}

}  // namespace signalbox::core::engine
