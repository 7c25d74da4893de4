// SPDX-License-Identifier: Apache-2.0
//
// Cells of pods, after kubernetes/pkg/printers/internalversion.
#include "server/built_in/built_in_rules.hpp"
#include "server/built_in/cell_parts.hpp"
#include "server/values/times.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::k8sio::server::rules::cells {
namespace {

/// What the columns of a pod tell of its containers.
struct pod_summary {
    std::string status;
    std::size_t ready = 0;
    std::size_t all = 0;
    std::int64_t restarts = 0;
    std::string last_restart;  ///< empty: not known

    void count_restarts(const value& container) {
        restarts += json::int_at(container, {"restartCount"}).value_or(0);
        const std::string_view at =
            json::string_at(container, {"lastState", "terminated", "finishedAt"});
        last_restart = std::max(last_restart, std::string(at));
    }
};

/// Init containers that run beside the others.
std::vector<std::string_view> sidecars(const value& pod) {
    std::vector<std::string_view> out;
    each(pod, {"spec", "initContainers"}, [&out](const value& c) {
        if (json::string_at(c, {"restartPolicy"}) == "Always") {
            out.push_back(json::string_at(c, {"name"}));
        }
    });
    return out;
}

std::string end_of(const value& terminated) {
    const std::string_view reason = json::string_at(terminated, {"reason"});
    const auto signal = json::int_at(terminated, {"signal"}).value_or(0);
    return !reason.empty() ? std::string(reason)
           : signal != 0
               ? fmt::format("Signal:{}", signal)
               : fmt::format("ExitCode:{}", json::int_at(terminated, {"exitCode"}).value_or(0));
}

/// True if an init container keeps the others from running.
bool summarize_initialization(const value& pod, pod_summary& out) {
    const std::vector<std::string_view> beside = sidecars(pod);
    out.all += beside.size();
    pod_summary of_sidecars;
    std::size_t index = 0;
    bool initializing = false;
    each(pod, {"status", "initContainerStatuses"}, [&](const value& s) {
        const std::size_t at = index++;
        if (initializing) {
            return;
        }
        const bool is_sidecar =
            std::find(beside.begin(), beside.end(), json::string_at(s, {"name"})) != beside.end();
        out.count_restarts(s);
        if (is_sidecar) {
            of_sidecars.count_restarts(s);
        }
        const value* ended = json::find_path(s, {"state", "terminated"});
        if (ended != nullptr && json::int_at(*ended, {"exitCode"}).value_or(0) == 0) {
            return;
        }
        if (is_sidecar && json::bool_at(s, {"started"})) {
            out.ready += json::bool_at(s, {"ready"}) ? 1U : 0U;
            return;
        }
        initializing = true;
        const std::string_view waits = json::string_at(s, {"state", "waiting", "reason"});
        if (ended != nullptr) {
            out.status = "Init:" + end_of(*ended);
        } else if (!waits.empty() && waits != "PodInitializing") {
            out.status = fmt::format("Init:{}", waits);
        } else {
            out.status = fmt::format("Init:{}/{}", at, size_at(pod, {"spec", "initContainers"}));
        }
    });
    // Once it has been initialized, an init container that runs again keeps nothing from running.
    initializing = initializing && !condition_is_true(pod, "Initialized");
    if (!initializing) {
        out.restarts = of_sidecars.restarts;
        out.last_restart = of_sidecars.last_restart;
    }
    return initializing;
}

/// The first container that does not run says how the pod is.
void summarize_containers(const value& pod, pod_summary& out) {
    std::string reason;
    bool running = false;
    each(pod, {"status", "containerStatuses"}, [&](const value& s) {
        out.count_restarts(s);
        const std::string_view waits = json::string_at(s, {"state", "waiting", "reason"});
        const value* ended = json::find_path(s, {"state", "terminated"});
        if (reason.empty() && (!waits.empty() || ended != nullptr)) {
            reason = waits.empty() ? end_of(*ended) : std::string(waits);
        }
        if (waits.empty() && ended == nullptr && json::bool_at(s, {"ready"}) &&
            json::find_path(s, {"state", "running"}) != nullptr) {
            running = true;
            ++out.ready;
        }
    });
    if (!reason.empty()) {
        out.status = reason;
    }
    if (out.status == "Completed" && running) {
        out.status = condition_is_true(pod, "Ready") ? "Running" : "NotReady";
    }
}

pod_summary summarize(const value& pod) {
    const std::string_view phase = json::string_at(pod, {"status", "phase"});
    const std::string_view own = json::string_at(pod, {"status", "reason"});
    pod_summary out;
    out.all = size_at(pod, {"spec", "containers"});
    out.status = first_text(own, phase);
    if (size_at(pod, {"spec", "schedulingGates"}) > 0) {
        out.status = "SchedulingGated";
    }
    if (!summarize_initialization(pod, out)) {
        summarize_containers(pod, out);
    }
    if (json::find_path(pod, {"metadata", "deletionTimestamp"}) != nullptr) {
        if (own == "NodeLost") {
            out.status = "Unknown";
        } else if (phase != "Succeeded" && phase != "Failed") {
            out.status = "Terminating";
        }
    }
    return out;
}

}  // namespace

std::string pod_ready(const value& pod, wall_time) {
    const pod_summary found = summarize(pod);
    return fmt::format("{}/{}", found.ready, found.all);
}

std::string pod_status(const value& pod, wall_time) {
    return summarize(pod).status;
}

std::string pod_restarts(const value& pod, wall_time now) {
    const pod_summary found = summarize(pod);
    return found.restarts > 0 && !found.last_restart.empty()
               ? fmt::format("{} ({} ago)", found.restarts, age(found.last_restart, now))
               : std::to_string(found.restarts);
}

std::string pod_readiness_gates(const value& pod, wall_time) {
    const std::size_t all = size_at(pod, {"spec", "readinessGates"});
    if (all == 0) {
        return std::string(none_text);
    }
    int ready = 0;
    each(pod, {"spec", "readinessGates"}, [&](const value& gate) {
        ready += condition_is_true(pod, json::string_at(gate, {"conditionType"})) ? 1 : 0;
    });
    return fmt::format("{}/{}", ready, all);
}

}  // namespace signalbox::k8sio::server::rules::cells
