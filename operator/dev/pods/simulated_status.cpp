// SPDX-License-Identifier: Apache-2.0
#include "pods/simulated_status.hpp"

namespace signalbox::op::pods {

namespace {

constexpr int sigterm_code = 143;
constexpr int sigkill_code = 137;

void end(pod_report& r, const pod_facts& pod, const behaviour& does, int code, core::instant now) {
    r.state = containers_state::ended;
    r.ready = false;
    r.exit_code = code;
    r.finished = now;
    r.sidecars_run = pod.containers.size() > 1 && !does.sidecars_end;
    if (!r.sidecars_run) {
        r.phase = code == 0 ? "Succeeded" : "Failed";
    }
}

void add_conditions(const pod_report& r, core::instant now, pod_status& out) {
    if (!r.scheduled) {
        out.set_condition(
            "PodScheduled",
            false,
            "Unschedulable",
            "0/4 nodes are available: 4 Insufficient nvidia.com/gpu. (simulated)",
            now
        );
    } else {
        out.set_condition("PodScheduled", true, {}, {}, now);
        out.set_condition("Initialized", r.initialized, {}, {}, now);
        const char* why = r.ready                              ? ""
                          : r.state == containers_state::ended ? "PodCompleted"
                                                               : "ContainersNotReady";
        out.set_condition("ContainersReady", r.ready, why, {}, now);
        out.set_condition("Ready", r.ready, why, {}, now);
    }
    if (!r.disruption.empty()) {
        out.set_condition("DisruptionTarget", true, r.disruption, r.message, now);
    }
}

container_state waiting(std::string_view reason, std::string_view message = {}) {
    container_state out;
    out.reason = reason;
    out.message = message;
    return out;
}

container_state running(const pod_report& r) {
    container_state out;
    out.what = container_state::kind::running;
    out.started = r.started.value_or(core::instant{});
    return out;
}

container_state terminated(
    const pod_report& r,
    core::instant now,
    int code,
    std::string_view reason = {},
    std::string_view message = {}
) {
    container_state out;
    out.what = container_state::kind::terminated;
    out.exit_code = code;
    out.reason = !reason.empty() ? reason : code == 0 ? "Completed" : "Error";
    out.message = message;
    out.started = r.started;
    out.finished = r.finished.value_or(now);
    return out;
}

container_state regular_state(const pod_report& r, bool training, core::instant now) {
    switch (r.state) {
        case containers_state::waiting:
            return waiting("ContainerCreating");
        case containers_state::image_error:
            return training ? waiting(r.exit_reason, r.exit_message)
                            : waiting("ContainerCreating", r.exit_message);
        case containers_state::init:
            return waiting("PodInitializing");
        case containers_state::running:
            return running(r);
        case containers_state::ended:
            break;
    }
    if (r.init_failed) {
        return waiting("PodInitializing");
    }
    if (!training) {
        return r.sidecars_run ? running(r) : terminated(r, now, 0);
    }
    return terminated(r, now, r.exit_code, r.exit_reason, r.exit_message);
}

container_state init_state(const pod_report& r, bool keeps_running, core::instant now) {
    switch (r.state) {
        case containers_state::waiting:
        case containers_state::image_error:
            return waiting("PodInitializing");
        case containers_state::init:
            return running(r);
        case containers_state::running:
            return keeps_running ? running(r) : terminated(r, now, 0);
        case containers_state::ended:
            break;
    }
    return r.init_failed ? terminated(r, now, r.exit_code, r.exit_reason, r.exit_message)
                         : terminated(r, now, 0);
}

container_status container_with(const container_facts& c, container_state state, bool ready) {
    container_status out;
    out.name = c.name;
    out.image = c.image;
    out.started = state.what == container_state::kind::running;
    out.ready = out.started && ready;
    out.now = std::move(state);
    return out;
}

}  // namespace

void apply(
    pod_report& r, step what, const pod_facts& pod, const behaviour& does, core::instant now
) {
    if (r.scheduled && !r.accepted) {
        r.accepted = now;
    }
    switch (what) {
        case step::bind:
            r.scheduled = true;
            break;
        case step::no_node:
            r.scheduled = false;
            break;
        case step::image_error:
            r.state = containers_state::image_error;
            r.exit_reason = does.image_error;
            r.exit_message = "the image cannot be pulled (simulated)";
            break;
        case step::start_init:
            r.state = containers_state::init;
            r.started = now;
            break;
        case step::fail_init:
            r.init_failed = true;
            r.exit_reason.clear();
            r.exit_message = does.message;
            end(r, pod, does, does.init_exit_code, now);
            r.phase = "Failed";
            r.sidecars_run = false;
            break;
        case step::start:
        case step::start_unready:
            r.state = containers_state::running;
            r.phase = "Running";
            r.initialized = true;
            r.ready = what == step::start;
            r.started = now;
            r.exit_reason.clear();
            r.exit_message.clear();
            break;
        case step::become_ready:
            r.ready = true;
            break;
        case step::end:
            r.exit_reason = does.reason;
            r.exit_message = does.message;
            end(r, pod, does, does.exit_code, now);
            break;
        case step::end_oom:
            r.exit_reason = "OOMKilled";
            r.exit_message = does.message;
            end(r, pod, does, sigkill_code, now);
            break;
        case step::evict:
            r.reason = "Evicted";
            r.message = "The node was low on resource: memory. (simulated)";
            r.disruption = "TerminationByKubelet";
            end(r, pod, does, sigkill_code, now);
            r.phase = "Failed";
            r.sidecars_run = false;
            break;
        case step::preempt:
            r.disruption = "PreemptionByScheduler";
            r.message = "preempted by a pod of higher priority (simulated)";
            break;
        case step::lose_node:
            r.phase = "Unknown";
            r.reason = "NodeLost";
            r.ready = false;
            break;
        case step::finish_deletion:
            if (r.state == containers_state::running) {
                end(r, pod, does, sigterm_code, now);
            }
            r.sidecars_run = false;
            r.phase =
                r.state == containers_state::ended && r.exit_code == 0 ? "Succeeded" : "Failed";
            break;
        case step::remove:
        case step::vanish:
            break;
    }
}

pod_status status_of(const pod_report& r, const pod_facts& pod, core::instant now) {
    pod_status out;
    out.phase = r.phase;
    out.reason = r.reason;
    out.message = r.message;
    if (!r.ip.empty()) {
        out.host_ip = "192.0.2.1";
        out.pod_ip = r.ip;
    }
    add_conditions(r, now, out);
    if (!r.scheduled) {
        return out;
    }
    out.accepted = r.accepted.value_or(core::instant{});
    for (const container_facts& c : pod.init_containers) {
        out.init_containers.push_back(container_with(c, init_state(r, c.keeps_running, now), true));
    }
    for (std::size_t i = 0; i < pod.containers.size(); ++i) {
        container_state state = regular_state(r, i == pod.training, now);
        out.containers.push_back(container_with(pod.containers[i], std::move(state), r.ready));
    }
    return out;
}

}  // namespace signalbox::op::pods
