// SPDX-License-Identifier: Apache-2.0
//
// Why the pods of a job failed, for people who ask now (BEHAVIOUR.md 3.13): what decide() would
// name, also of a job that has ended. And what may make an incident at all.
//
// All is plain values; the functions depend on their arguments alone and may be called from any
// thread.
#pragma once

#include "jobcore/decide.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::core {

/// A log that may say why.
struct log_of_failure {
    std::string pod;
    std::string pod_uid;
    std::string container;
};

/// The logs that count of the pods in view, the most telling first: of those that failed, then of
/// those that still run; at most `rules.evidence_pods`. Empty if none failed.
std::vector<log_of_failure> logs_of_failures(
    const job_object& job, const observed& seen, const policy& rules, instant now
);

/// The failure that is named.
struct named_failure {
    std::string pod_uid;
    std::string message;       ///< in one line
    bool consequence = false;  ///< it tells only what follows from the end of another process
};

/// Among the pods in view, by their messages and `seen.logs`; nothing if none of them failed.
std::optional<named_failure> find_cause(
    const job_object& job, const observed& seen, const policy& rules, instant now
);

/// Every word that decide() writes as `restarts.last.cause`, each once (BEHAVIOUR.md api 5.4).
/// Constants.
std::vector<std::string_view> incident_causes();

}  // namespace signalbox::core
