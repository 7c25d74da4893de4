// SPDX-License-Identifier: Apache-2.0
//
// The line of a log that names an error (BEHAVIOUR.md 3.9).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace signalbox::core::engine {

/// A line of a Python traceback that says where: `File "train.py", line 57, in step`. Views into
/// the text it was read from.
struct code_place {
    std::string_view file;      ///< empty: not known
    std::string_view line;      ///< a number
    std::string_view function;  ///< empty: none, as of a syntax error
};

/// ` (train.py:57, in step)`; empty if it is not known.
std::string to_text(const code_place& place);

/// Where in the user's own files a traceback ends; in others' if it has no own.
code_place find_place(std::string_view traceback);

/// The line of a log that names an error: the last of a Python traceback, or what a program says
/// that cannot start. Views into the log.
struct error_line {
    std::string_view pod;              ///< whom pdsh named; empty: none
    std::optional<std::int32_t> rank;  ///< by torch's prefix `[rank3]: `
    std::string_view text;             ///< `ValueError: loss is nan`
    code_place place = {};             ///< where it was raised
    bool secondary = false;
};

/// True for what follows from the end of another process: a closed connection, a collective that
/// was given up.
bool is_secondary(std::string_view text);

/// The line that says most: the first of a rank before the last without one, of the given rank
/// before others, primary errors before secondary ones, errors of Python before what a program says
/// that cannot start. torchrun's own error is none.
std::optional<error_line> find_error_line(
    std::string_view log, std::optional<std::int32_t> rank = {}
);

}  // namespace signalbox::core::engine
