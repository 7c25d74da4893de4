// SPDX-License-Identifier: Apache-2.0
#include "kubelet/life/pod_state.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace signalbox::op::kubelet {

namespace {

using stage = container_place::stage;
using kind = pods::container_state::kind;

pods::container_state waiting_state(std::string reason, std::string message = {}) {
    pods::container_state out;
    out.reason = std::move(reason);
    out.message = std::move(message);
    return out;
}

bool succeeded(const container_place& c) {
    return c.at == stage::ended && c.status.now.what == kind::terminated &&
           c.status.now.exit_code == 0;
}

/// Containers behind an init container wait for this: its end, or, of a sidecar, its start.
bool lets_pass(const container_place& c, const container_spec& spec) {
    return spec.sidecar ? c.started_up : succeeded(c);
}

/// The first init container that keeps the others waiting; those of the pod if there is none.
std::size_t first_hold(const pod_state& state, const pod_spec& pod) {
    std::size_t i = 0;
    while (i < pod.containers.size() && pod.containers[i].init &&
           lets_pass(state.containers[i], pod.containers[i])) {
        ++i;
    }
    return i;
}

bool is_hold(std::size_t i, const pod_spec& pod) {
    return i < pod.containers.size() && pod.containers[i].init;
}

bool mains_ended(const pod_state& state, const pod_spec& pod) {
    for (std::size_t i = 0; i < pod.containers.size(); ++i) {
        if (!pod.containers[i].init && state.containers[i].at != stage::ended) {
            return false;
        }
    }
    return true;
}

/// An init container has failed for good.
bool init_failed(const pod_state& state, const pod_spec& pod) {
    for (std::size_t i = 0; i < pod.containers.size(); ++i) {
        const container_place& c = state.containers[i];
        if (pod.containers[i].init && !pod.containers[i].sidecar && c.at == stage::ended &&
            !succeeded(c)) {
            return true;
        }
    }
    return false;
}

bool any_active(const pod_state& state) {
    return std::ranges::any_of(state.containers, &container_place::active);
}

void wake_at(next_steps& steps, k8sio::steady_time at) {
    steps.wake = steps.wake ? std::min(*steps.wake, at) : at;
}

void consider_start(
    const pod_state& state, std::size_t i, k8sio::steady_time now, next_steps& steps
) {
    const container_place& c = state.containers[i];
    if (c.at != stage::waiting) {
        return;
    }
    if (c.due <= now) {
        steps.start.push_back(i);
    } else {
        wake_at(steps, c.due);
    }
}

/// Main containers first; sidecars when no main one is left, the last of them first.
void stop_all(const pod_state& state, const pod_spec& pod, next_steps& steps) {
    bool mains = false;
    for (std::size_t i = 0; i < pod.containers.size(); ++i) {
        const container_place& c = state.containers[i];
        if (pod.containers[i].sidecar || !c.active()) {
            continue;
        }
        mains = true;
        if (c.at == stage::running) {
            steps.stop.push_back(i);
        }
    }
    for (std::size_t i = pod.containers.size(); !mains && i-- > 0;) {
        const container_place& c = state.containers[i];
        if (!pod.containers[i].sidecar || !c.active()) {
            continue;
        }
        if (c.at == stage::running) {
            steps.stop.push_back(i);
        }
        break;
    }
}

std::string phase_of(const pod_state& state, const pod_spec& pod) {
    if (state.node_lost) {
        return "Unknown";
    }
    const bool over = !any_active(state);
    if (over && !state.reason.empty()) {
        return "Failed";
    }
    if (init_failed(state, pod)) {
        return over ? "Failed" : "Pending";
    }
    bool started = true, good = true;
    for (std::size_t i = 0; i < pod.containers.size(); ++i) {
        if (pod.containers[i].init) {
            continue;
        }
        const container_place& c = state.containers[i];
        started = started && (c.status.now.what != kind::waiting || c.status.last.has_value());
        good = good && succeeded(c);
    }
    if (over && (state.stopping || mains_ended(state, pod))) {
        return good ? "Succeeded" : "Failed";
    }
    return started ? "Running" : "Pending";
}

/// As Go writes a duration: `40s`, `1m20s`.
std::string duration_text(std::chrono::seconds d) {
    const auto minutes = std::chrono::floor<std::chrono::minutes>(d);
    return minutes.count() == 0 ? fmt::format("{}s", d.count())
                                : fmt::format("{}m{}s", minutes.count(), (d - minutes).count());
}

std::string names_text(const std::vector<std::string>& names) {
    return fmt::format("[{}]", fmt::join(names, " "));
}

void conditions_of(
    const pod_state& state, const pod_spec& pod, pods::pod_status& out, core::instant now
) {
    std::vector<std::string> incomplete, unready;
    for (std::size_t i = 0; i < pod.containers.size(); ++i) {
        const container_place& c = state.containers[i];
        if (pod.containers[i].init && !lets_pass(c, pod.containers[i])) {
            incomplete.push_back(pod.containers[i].name);
        }
        if (!pod.containers[i].init && !c.status.ready) {
            unready.push_back(pod.containers[i].name);
        }
    }
    out.set_condition("PodScheduled", true, {}, {}, now);
    const bool over = out.phase == "Succeeded" || out.phase == "Failed";
    if (incomplete.empty() || out.phase == "Succeeded") {
        const char* why = out.phase == "Succeeded" ? "PodCompleted" : "";
        out.set_condition("Initialized", true, why, {}, now);
    } else {
        out.set_condition(
            "Initialized",
            false,
            "ContainersNotInitialized",
            "containers with incomplete status: " + names_text(incomplete),
            now
        );
    }
    const bool ready = unready.empty() && !over && !state.node_lost;
    const std::string why = ready                      ? ""
                            : out.phase == "Succeeded" ? "PodCompleted"
                            : out.phase == "Failed"    ? "PodFailed"
                            : state.node_lost          ? "NodeStatusUnknown"
                                                       : "ContainersNotReady";
    const std::string words = ready || over || state.node_lost
                                  ? ""
                                  : "containers with unready status: " + names_text(unready);
    out.set_condition("ContainersReady", ready, why, words, now);
    out.set_condition("Ready", ready, why, words, now);
    if (!state.disruption.empty()) {
        out.set_condition("DisruptionTarget", true, state.disruption, state.message, now);
    }
}

/// A container that was running when its kubelet was lost, in the kubelet's words.
pods::container_state lost_container(core::instant now) {
    pods::container_state out;
    out.what = kind::terminated;
    out.exit_code = 137;
    out.reason = "ContainerStatusUnknown";
    out.message = "The container could not be located when the pod was terminated";
    out.finished = now;
    return out;
}

}  // namespace

next_steps steps_of(const pod_state& state, const pod_spec& pod, k8sio::steady_time now) {
    next_steps out;
    if (state.stopping || init_failed(state, pod) || mains_ended(state, pod)) {
        stop_all(state, pod, out);
        out.over = !any_active(state);
        return out;
    }
    if (!state.prepared) {
        return out;
    }
    const std::size_t hold = first_hold(state, pod);
    for (std::size_t i = 0; i < pod.containers.size(); ++i) {
        const bool turn = pod.containers[i].init
                              ? i == hold || (pod.containers[i].sidecar && i < hold)
                              : !is_hold(hold, pod);
        if (turn) {
            consider_start(state, i, now, out);
        }
    }
    return out;
}

void note_end(
    pod_state& state,
    std::size_t container,
    const pod_spec& pod,
    pods::container_state how,
    k8sio::steady_time now
) {
    container_place& c = state.containers[container];
    const container_spec& spec = pod.containers[container];
    const bool again = !state.stopping && restarts_after(how.exit_code, spec, pod.restart) &&
                       !(spec.sidecar && mains_ended(state, pod));
    c.started_up = spec.sidecar && c.started_up && again;
    c.ready = c.status.ready = c.status.started = false;
    if (!again) {
        c.at = stage::ended;
        c.status.now = std::move(how);
        return;
    }
    c.at = stage::waiting;
    c.due = c.delay.next(c.started, now);
    ++c.status.restarts;
    c.status.last = how;
    if (c.due > now) {
        c.status.now = waiting_state(
            "CrashLoopBackOff",
            fmt::format(
                "back-off {} restarting failed container={} pod={}_{}({})",
                duration_text(c.delay.current()),
                spec.name,
                pod.name,
                pod.ns,
                pod.uid
            )
        );
    } else {
        c.status.now = std::move(how);
    }
}

pods::pod_status status_of(
    const pod_state& state, const pod_spec& pod, const pods::pod_status& before, core::instant now
) {
    pods::pod_status out;
    out.conditions = before.conditions;
    out.phase = phase_of(state, pod);
    const bool over = out.phase == "Failed" || out.phase == "Succeeded";
    out.reason = state.node_lost ? "NodeLost" : over ? state.reason : "";
    out.message = over || state.node_lost ? state.message : "";
    out.host_ip = state.host_address;
    out.pod_ip = state.address;
    out.accepted = state.accepted;
    const bool held = is_hold(first_hold(state, pod), pod);
    for (std::size_t i = 0; i < pod.containers.size(); ++i) {
        const container_place& c = state.containers[i];
        pods::container_status status = c.status;
        if (status.now.what == kind::waiting && status.now.reason.empty()) {
            const bool waits = pod.containers[i].init ? i != first_hold(state, pod) : held;
            status.now.reason = waits ? "PodInitializing" : "ContainerCreating";
        }
        if (state.node_lost) {
            status.ready = false;
        }
        (pod.containers[i].init ? out.init_containers : out.containers).push_back(status);
    }
    conditions_of(state, pod, out, now);
    return out;
}

pod_state first_state(const pod_spec& pod, core::instant now) {
    pod_state out;
    out.accepted = pod.started.value_or(now);
    out.stopping = pod.deleting;
    for (const container_spec& spec : pod.containers) {
        container_place c;
        c.status.name = spec.name;
        c.status.image = spec.image;
        out.containers.push_back(std::move(c));
    }
    for (std::size_t i = 0; i < pod.containers.size(); ++i) {
        const auto it =
            std::ranges::find(pod.former, pod.containers[i].name, &former_container::name);
        if (it == pod.former.end()) {
            continue;
        }
        out.containers[i].status.restarts = it->restarts;
        if (it->was == former_container::state::waiting) {
            continue;
        }
        pods::container_state how = lost_container(now);
        if (it->was == former_container::state::terminated) {
            how = pods::container_state();
            how.what = kind::terminated;
            how.exit_code = it->exit_code;
            how.reason = it->exit_code == 0 ? "Completed" : "Error";
            how.finished = now;
        }
        note_end(out, i, pod, std::move(how), {});
    }
    return out;
}

}  // namespace signalbox::op::kubelet
