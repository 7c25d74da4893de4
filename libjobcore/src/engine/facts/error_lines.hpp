// SPDX-License-Identifier: Apache-2.0
//
// The line of a log that names an error (BEHAVIOUR.md 3.9).
#pragma once

#include "engine/facts/code_place.hpp"
#include "engine/facts/consequences.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace signalbox::core::engine {

/// The line of a log that names an error: the last of a Python traceback, what a program says that
/// cannot start, or what one says that is aborted. Views into the log, or static.
struct error_line {
    std::string_view pod;              ///< whom pdsh named; empty: none
    std::optional<std::int32_t> rank;  ///< by torch's prefix `[rank3]: `
    std::string_view text;             ///< `ValueError: loss is nan`
    code_place place = {};             ///< where it was raised
    bool secondary = false;
    /// Of exceptions that were raised one after the other the first; empty: it is the only one.
    std::string_view root = {};
    code_place root_place = {};
    bool several = false;         ///< others without a rank were said beside it
    bool of_asked = false;        ///< the rank that was asked for says it, perhaps others too
    bool while_handling = false;  ///< the root was being handled; else it is named as the cause
    std::string_view first_line = {};  ///< of its traceback, with prefixes; its own if it has none
    std::string_view last_line = {};
    std::string_view prefix = {};  ///< of each of its lines
    std::string_view detail = {};  ///< of an error of NCCL its own last words
    /// An exception of Python's, and no line of the log says why it was aborted.
    bool raised = false;
    bool of_thread = false;  ///< raised in a thread, or in a process of its own
    /// The end of its line is missing, and with it what it follows from perhaps.
    bool torn = false;
    /// What follows from another's end and was said behind it by the same pod; empty: nothing.
    std::string_view suffered = {};
};

/// `ValueError: x (train.py:57, in step), caused by KeyError: 'y' (train.py:3)`.
std::string to_text(const error_line& line);

/// Both say the same, but for numbers, of the same place: what all ranks run into.
bool is_same(const error_line& a, const error_line& b);

/// The line that says most: the first of a rank before the last without one, of the given rank
/// before others, primary errors before secondary ones, errors of Python before what a program says
/// that cannot start or is aborted. Of several ranks, or pods, that say the same, the lowest,
/// whichever was asked for.
/// torchrun's own error is none.
std::optional<error_line> find_error_line(
    std::string_view log, std::optional<std::int32_t> rank = {}
);
/// Who says in a log that it failed.
struct heard_errors {
    std::set<std::int32_t> ranks;  ///< empty where torch puts no rank before its lines
    std::size_t tracebacks = 0;    ///< those that were raised one after the other are one
};
heard_errors find_heard_errors(std::string_view log);

}  // namespace signalbox::core::engine
