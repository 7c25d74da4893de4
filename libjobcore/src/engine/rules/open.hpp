// SPDX-License-Identifier: Apache-2.0
//
// What is not certain yet, so that losses have no consequence before it is.
#pragma once

#include "engine/health/health.hpp"

#include <optional>
#include <string>
#include <vector>

namespace signalbox::core::engine {

/// The end of a log that may name a cause.
struct log_wanted {
    std::string pod;
    std::string pod_uid;
    std::string container;
    instant until{};  ///< the job waits no longer
};

struct open_questions {
    /// Replicas are missing whose absence no live read has confirmed: it may make the incident free
    /// (BEHAVIOUR.md 5.3).
    bool absences = false;
    /// An exit is given this time for its peers to follow (BEHAVIOUR.md 5.6).
    std::optional<instant> settles_until{};
    /// No restart is allowed by what ended so far, and what ends until then may allow one
    /// (BEHAVIOUR.md 5.5).
    std::optional<instant> refused_until{};

    /// Failures have logs that may say why, and the caller reads logs (BEHAVIOUR.md 3.13).
    bool about_logs = false;
    /// Before they are read, other pods may end until then.
    std::optional<instant> ends_until{};
    /// Those that are to be read now.
    std::vector<log_wanted> logs{};

    bool waits_for_cause() const { return ends_until || !logs.empty(); }
    bool any() const { return absences || settles_until || refused_until || waits_for_cause(); }
    /// When those that time answers are answered; nothing if there are none.
    std::optional<instant> until() const;
};

/// The logs that may tell of these failures, at most `rounds` times `policy.evidence_pods`: of pods
/// that failed, those first whose messages do not say that they follow from others, in the order of
/// their ends; then of pods that still run: an agent may end long after the rank that failed. The
/// same ones whatever was read.
std::vector<log_wanted> logs_that_tell(const context& c, const health& h, std::size_t rounds = 1);

open_questions find_open_questions(const context& c, const health& h);

}  // namespace signalbox::core::engine
