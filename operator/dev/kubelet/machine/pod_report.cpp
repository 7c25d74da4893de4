// SPDX-License-Identifier: Apache-2.0
#include "kubelet/machine/pod_report.hpp"

#include <fmt/format.h>

namespace signalbox::op::kubelet {

namespace {

using kind = pods::container_state::kind;

std::string phase_of(
    const pod_report& report, const container_lives& containers, const pod_spec& pod
) {
    if (report.node_lost) {
        return "Unknown";
    }
    const bool over = !any_active(containers);
    if (over && !report.reason.empty()) {
        return "Failed";
    }
    if (init_failed(containers, pod)) {
        return over ? "Failed" : "Pending";
    }
    bool started = true, good = true;
    for (std::size_t i = 0; i < pod.containers.size(); ++i) {
        if (pod.containers[i].init) {
            continue;
        }
        const pods::container_status& status = containers[i].status();
        started = started && (status.now.what != kind::waiting || status.last.has_value());
        good = good && containers[i].succeeded();
    }
    if (over && (report.stopped || mains_ended(containers, pod))) {
        return good ? "Succeeded" : "Failed";
    }
    return started ? "Running" : "Pending";
}

std::string names_text(const std::vector<std::string>& names) {
    return fmt::format("[{}]", fmt::join(names, " "));
}

void set_initialized(
    const container_lives& containers, const pod_spec& pod, pods::pod_status& out, core::instant now
) {
    std::vector<std::string> incomplete;
    for (std::size_t i = 0; i < pod.containers.size(); ++i) {
        if (pod.containers[i].init && !containers[i].lets_pass(pod.containers[i])) {
            incomplete.push_back(pod.containers[i].name);
        }
    }
    const bool succeeded = out.phase == "Succeeded";
    if (incomplete.empty() || succeeded) {
        out.set_condition("Initialized", true, succeeded ? "PodCompleted" : "", {}, now);
    } else {
        out.set_condition(
            "Initialized",
            false,
            "ContainersNotInitialized",
            "containers with incomplete status: " + names_text(incomplete),
            now
        );
    }
}

void set_ready(
    const pod_report& report,
    const container_lives& containers,
    const pod_spec& pod,
    pods::pod_status& out,
    core::instant now
) {
    std::vector<std::string> unready;
    for (std::size_t i = 0; i < pod.containers.size(); ++i) {
        if (!pod.containers[i].init && !containers[i].status().ready) {
            unready.push_back(pod.containers[i].name);
        }
    }
    const bool over = out.phase == "Succeeded" || out.phase == "Failed";
    const bool ready = unready.empty() && !over && !report.node_lost;
    const std::string why = ready                      ? ""
                            : out.phase == "Succeeded" ? "PodCompleted"
                            : out.phase == "Failed"    ? "PodFailed"
                            : report.node_lost         ? "NodeStatusUnknown"
                                                       : "ContainersNotReady";
    const std::string words = ready || over || report.node_lost
                                  ? ""
                                  : "containers with unready status: " + names_text(unready);
    out.set_condition("ContainersReady", ready, why, words, now);
    out.set_condition("Ready", ready, why, words, now);
}

}  // namespace

pods::pod_status status_of(
    const pod_report& report,
    const container_lives& containers,
    const pod_spec& pod,
    const pods::pod_status& before,
    core::instant now
) {
    pods::pod_status out;
    out.conditions = before.conditions;
    out.phase = phase_of(report, containers, pod);
    const bool over = out.phase == "Failed" || out.phase == "Succeeded";
    out.reason = report.node_lost ? "NodeLost" : over ? report.reason : "";
    out.message = over || report.node_lost ? report.message : "";
    out.host_ip = report.host_address;
    out.pod_ip = report.address;
    out.accepted = report.accepted;
    const std::size_t hold = first_hold(containers, pod);
    const bool held = hold < pod.containers.size() && pod.containers[hold].init;
    for (std::size_t i = 0; i < pod.containers.size(); ++i) {
        pods::container_status status = containers[i].status();
        if (status.now.what == kind::waiting && status.now.reason.empty()) {
            const bool waits = pod.containers[i].init ? i != hold : held;
            const bool unmounted = !waits && !report.unmounted.empty();
            status.now.reason = waits       ? "PodInitializing"
                                : unmounted ? "CreateContainerConfigError"
                                            : "ContainerCreating";
            status.now.message = unmounted ? report.unmounted : "";
        }
        if (report.node_lost) {
            status.ready = false;
        }
        (pod.containers[i].init ? out.init_containers : out.containers).push_back(status);
    }
    out.set_condition("PodScheduled", true, {}, {}, now);
    set_initialized(containers, pod, out, now);
    set_ready(report, containers, pod, out, now);
    if (!report.disruption.empty()) {
        out.set_condition("DisruptionTarget", true, report.disruption, report.message, now);
    }
    return out;
}

}  // namespace signalbox::op::kubelet
