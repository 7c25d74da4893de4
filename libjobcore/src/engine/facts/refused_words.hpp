// SPDX-License-Identifier: Apache-2.0
//
// The words in which a status tells of an object that the server refused, and back: refusals live
// in the memory of the operator, and a recording has these words alone (BEHAVIOUR.md 1.8, 2.8).
#pragma once

#include "jobcore/observed.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace signalbox::core::engine {

/// `Pod a-0 belongs to another owner`, `Service a was refused: <the server's message>`.
std::string words_of(const refusal& r);

/// What such words are about. Valid as long as they are.
struct refused_object {
    std::string_view kind;
    std::string_view name;
};

/// Reads the message of the condition Running, where it tells of a refusal: by itself, or among
/// other facts (BEHAVIOUR.md 11.2). Nothing if it tells of none.
std::optional<refused_object> read_refused(std::string_view message);

}  // namespace signalbox::core::engine
