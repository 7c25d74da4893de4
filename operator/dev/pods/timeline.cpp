// SPDX-License-Identifier: Apache-2.0
#include "pods/timeline.hpp"

#include <algorithm>

namespace signalbox::op::pods {

namespace {

constexpr duration default_run = std::chrono::seconds{3};

duration after(duration start, duration length) {
    return length == never || start == never ? never : start + length;
}

bool ends_life(step s) {
    return s == step::end || s == step::end_oom || s == step::evict || s == step::vanish ||
           s == step::fail_init;
}

step step_of(fault f) {
    switch (f) {
        case fault::out_of_memory:
            return step::end_oom;
        case fault::evict:
            return step::evict;
        case fault::preempt:
            return step::preempt;
        case fault::remove:
            return step::remove;
        case fault::vanish:
            return step::vanish;
        case fault::lose_node:
            return step::lose_node;
        case fault::kill:
            break;
    }
    return step::end;
}

/// From the start of the containers on.
void add_run(
    std::vector<timed_step>& out, const pod_facts& pod, const behaviour& does, duration start
) {
    const auto add = [&](const std::optional<duration>& when, step what) {
        if (when && after(start, *when) != never) {
            out.push_back({after(start, *when), what});
        }
    };
    if (does.ready_after > duration::zero()) {
        add(does.ready_after, step::become_ready);
    }
    for (const fault_setting& f : fault_settings) {
        add(does.*f.at, step_of(f.what));
    }
    if (!does.fail_at) {
        add(does.run_for.value_or(pod.idles ? never : default_run), step::end);
    }
}

/// Up to the start of the containers. Gives when they start; never if they do not.
duration add_start(std::vector<timed_step>& out, const pod_facts& pod, const behaviour& does) {
    duration t{0};
    if (pod.node.empty()) {
        if (does.unschedulable_for) {
            out.push_back({t, step::no_node});
            t = after(t, *does.unschedulable_for);
        }
        t = after(t, does.schedule_after);
        if (t == never) {
            return never;
        }
        out.push_back({t, step::bind});
    }
    t = after(t, does.start_after);
    if (does.image_error_for && t != never) {
        out.push_back({t, step::image_error});
        t = after(t, *does.image_error_for);
    }
    if (t == never) {
        return never;
    }
    if (!pod.init_containers.empty()) {
        out.push_back({t, step::start_init});
        t = after(t, does.init_duration);
        if (does.init_exit_code != 0 && t != never) {
            out.push_back({t, step::fail_init});
            return never;
        }
    }
    if (t != never) {
        out.push_back({t, does.ready_after > duration::zero() ? step::start_unready : step::start});
    }
    return t;
}

}  // namespace

std::vector<timed_step> plan_life(
    const pod_facts& pod, const behaviour& does, std::chrono::system_clock::time_point now
) {
    std::vector<timed_step> out;
    if (pod.phase == "Succeeded" || pod.phase == "Failed") {
        return out;
    }
    duration start{0};
    if (pod.phase == "Running") {
        start = pod.started ? std::min(duration(*pod.started - now), duration{0}) : duration{0};
    } else {
        start = add_start(out, pod, does);
    }
    if (start != never) {
        add_run(out, pod, does, start);
    }
    std::ranges::stable_sort(out, {}, &timed_step::at);
    const auto last = std::ranges::find_if(out, ends_life, &timed_step::what);
    if (last != out.end()) {
        out.erase(last + 1, out.end());
    }
    return out;
}

std::vector<timed_step> plan_deletion(const pod_facts& pod, const behaviour& does, bool running) {
    if (!running) {
        return {{duration{0}, step::finish_deletion}};
    }
    if (does.stop_after == never) {
        return {};  // a kubelet that hangs, or a node that is gone
    }
    return {{std::min<duration>(does.stop_after, pod.grace), step::finish_deletion}};
}

}  // namespace signalbox::op::pods
