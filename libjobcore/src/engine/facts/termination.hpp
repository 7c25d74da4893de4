// SPDX-License-Identifier: Apache-2.0
//
// What a terminated container left as its message, made fit for people (BEHAVIOUR.md 3.9).
#pragma once

#include "jobcore/evidence.hpp"
#include "jobcore/time.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace signalbox::core::engine {

struct termination_note {
    std::string text;                        ///< printable, at most 1,024 bytes
    std::optional<std::int32_t> error_code;  ///< the failing rank's own code
    bool secondary = false;                  ///< it follows from the end of another process
    bool from_bootstrap = false;             ///< our own bootstrap wrote it
    bool names_error = false;                ///< else `text` is the end of what was written
    /// It does not name the error, but a rank that ended in a way of its own, and its code.
    bool silent = false;
    /// An exception of Python's, and no words of a program that was aborted: the code of such an
    /// end says no more.
    bool raised = false;
    std::uint64_t sameness = 0;       ///< equal for errors that all ranks run into; 0: of no error
    std::optional<std::size_t> at{};  ///< where in the message the error stands
    std::optional<std::size_t> suffered_at{};  ///< and where what follows from another's end
    std::string last_line{};                   ///< of a message that names no error
    std::optional<std::int32_t> rank{};        ///< that the text names
};

/// Takes the message apart: an error file of torchrun's as JSON, which a user's own program may
/// have copied there; the last report with which torchrun ends, which names the rank that failed
/// first and its exit code; the line that names an error (error_lines.hpp). Of anything else the
/// end is taken. `pod`: whose message it is; another one is named. Rank, pod, text and place are
/// always of one error. Any text is safe.
termination_note read_termination_message(std::string_view message, std::string_view pod = {});

/// What the end of a log says, as a message does.
struct log_note {
    termination_note said;
    std::optional<instant> time;  ///< of the line of the error, by the node's clock
    /// Of what follows from another's end and was said behind it, in the same pod.
    std::optional<instant> suffered{};
    /// Of the error that a kubelet's tail of it names, as termination_note::sameness.
    std::uint64_t end_sameness = 0;
};
/// Lines may begin with the times that the API server puts there (`timestamps=true`).
log_note read_log_end(std::string_view log, std::string_view pod = {});

/// Puts what was read of a log in place of what a message says.
void take_words(const log_evidence& log, termination_note& said);

/// The last 1,024 bytes, begun at a character and with control characters made blanks.
std::string printable_tail(std::string_view text);

}  // namespace signalbox::core::engine
