// SPDX-License-Identifier: Apache-2.0
//
// What the ends of logs say of why pods failed (BEHAVIOUR.md 3.13). A caller that may read logs
// reads those that decisions ask for, has them judged here, and keeps only what came of it.
//
// All is plain values; the functions depend on their arguments alone and may be called from any
// thread. Any text is safe.
#pragma once

#include "jobcore/time.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::core {

/// What the end of a pod's log says; the default value: nothing.
struct log_evidence {
    std::string pod_uid;
    std::string text;                        ///< the error in one line, at most 1,024 bytes
    std::optional<std::int32_t> error_code;  ///< of the rank that failed, where the log has it
    bool names_error = false;                ///< else the log says nothing, unless `silent`
    bool silent = false;         ///< it says which rank failed, and with which code, but not why
    bool raised = false;         ///< an exception of Python's, and nothing of an abort
    bool secondary = false;      ///< it follows from the end of another process
    std::uint64_t sameness = 0;  ///< equal for errors that all ranks run into
    std::uint64_t end_sameness = 0;  ///< likewise, of what its last 2,048 bytes alone name
    std::optional<instant> time;     ///< when the error was said, by the node's clock
    /// When the same log says what follows from another's end, behind an error that does not.
    std::optional<instant> suffered{};
    friend bool operator==(const log_evidence&, const log_evidence&) = default;
};

/// Judges the end of the log of that pod. Lines may begin with the times that the API server puts
/// there (`timestamps=true`).
log_evidence judge_log(std::string pod_uid, std::string_view pod_name, std::string_view log);

/// The lines of the error that judge_log finds, with what launchers put before them, each without
/// what a terminal obeys: at most 20. Without an error the last ten of the log. They may hold what
/// is secret.
std::vector<std::string> find_error_block(std::string_view log);

}  // namespace signalbox::core
