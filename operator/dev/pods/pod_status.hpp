// SPDX-License-Identifier: Apache-2.0
//
// The status of a pod as a kubelet reports it.
#pragma once

#include <jobcore/time.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::op::pods {

struct container_state {
    enum class kind { waiting, running, terminated };
    kind what = kind::waiting;
    std::string reason;  ///< not of a running one
    std::string message;
    int exit_code = 0, signal = 0;  ///< terminated
    std::optional<core::instant> started, finished;
    friend bool operator==(const container_state&, const container_state&) = default;
};

struct container_status {
    std::string name, image;
    int restarts = 0;
    bool ready = false, started = false;
    container_state now;
    std::optional<container_state> last;  ///< how the run before ended
    friend bool operator==(const container_status&, const container_status&) = default;
};

struct pod_condition {
    std::string type;
    bool holds = false;
    std::string reason, message;
    core::instant since{};
    friend bool operator==(const pod_condition&, const pod_condition&) = default;
};

struct pod_status {
    std::string phase = "Pending";
    std::string reason, message;
    std::string host_ip, pod_ip;
    std::optional<core::instant> accepted;  ///< by the kubelet
    std::vector<pod_condition> conditions;
    std::vector<container_status> init_containers, containers;
    friend bool operator==(const pod_status&, const pod_status&) = default;

    /// Sets or adds it; its time is `now` only if what it says has changed.
    void set_condition(
        std::string_view type,
        bool holds,
        std::string_view why,
        std::string_view words,
        core::instant now
    );
};

/// The merge patch of `pods/status` that says so, with the UID as precondition. Lists are written
/// whole: a merge patch replaces them.
std::string status_patch(const pod_status& status, std::string_view uid);

}  // namespace signalbox::op::pods
