// SPDX-License-Identifier: Apache-2.0
//
// The line of a log that names an error (BEHAVIOUR.md 3.9).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace signalbox::core::engine {

/// The last line of a Python traceback. Views into the log.
struct error_line {
    std::string_view pod;              ///< whom pdsh named; empty: none
    std::optional<std::int32_t> rank;  ///< by torch's prefix `[rank3]: `
    std::string_view text;             ///< `ValueError: loss is nan`
    bool secondary = false;
};

/// True for what follows from the end of another process: a closed connection, a collective that
/// was given up.
bool is_secondary(std::string_view text);

/// The line that says most: the first of a rank before the last without one, of the given rank
/// before others, primary errors before secondary ones. torchrun's own error is none.
std::optional<error_line> find_error_line(
    std::string_view log, std::optional<std::int32_t> rank = {}
);

}  // namespace signalbox::core::engine
