// SPDX-License-Identifier: Apache-2.0
//
// What simulated pods report of a training that no one does (BEHAVIOUR.md 13.10). Pure: by the time
// since their containers started.
#pragma once

#include "pods/behaviour.hpp"
#include "pods/pod_facts.hpp"

#include <jobcore/progress.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

namespace signalbox::op::pods {

/// Of all jobs; their ranks train in step, so that all stand still behind one that does.
class training_reports {
public:
    /// What the pod says at that time; nothing if it does not train, or cannot report. An attempt
    /// begins behind the last checkpoint of its job. `since`: its start, in its own time.
    std::optional<core::progress_message> report_of(
        const pod_facts& pod, const behaviour& does, duration since
    );
    /// How long a pod waits from one report to the next.
    static duration interval(const behaviour& does);

private:
    struct job {
        std::int32_t attempt = 0;
        std::int64_t first = 0;               ///< step that the attempt began with
        std::int64_t checkpoint = 0;          ///< step of the last one
        std::optional<std::int64_t> barrier;  ///< no rank comes further
    };
    std::unordered_map<std::string, job> jobs_;  ///< by UID
};

}  // namespace signalbox::op::pods
