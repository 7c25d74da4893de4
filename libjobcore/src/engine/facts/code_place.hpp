// SPDX-License-Identifier: Apache-2.0
//
// Where in a program an error was raised, as tracebacks of Python tell it (BEHAVIOUR.md 3.9).
#pragma once

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

/// `File "train.py", line 57, in step`, with blanks in front; nothing for other lines.
std::optional<code_place> read_place(std::string_view line);

/// Keeps the innermost place of the user's own, else the innermost.
void keep_innermost(code_place& kept, const code_place& next);

}  // namespace signalbox::core::engine
