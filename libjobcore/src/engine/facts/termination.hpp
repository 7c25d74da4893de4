// SPDX-License-Identifier: Apache-2.0
//
// What a terminated container left as its message, made fit for people (BEHAVIOUR.md 3.9).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace signalbox::core::engine {

struct termination_note {
    std::string text;                        ///< printable, at most 512 bytes
    std::optional<std::int32_t> error_code;  ///< the failing rank's own code
};

/// Takes apart what torchrun writes: the report at the end of its log, which names the rank that
/// failed first, its exit code and the last line of its traceback; or an error file as JSON, which
/// a user's own program may have copied there. Of anything else the end is taken. Any text is safe.
termination_note read_termination_message(std::string_view message);

/// The last 512 bytes, begun at a character and with control characters made blanks.
std::string printable_tail(std::string_view text);

}  // namespace signalbox::core::engine
