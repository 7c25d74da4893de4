// SPDX-License-Identifier: Apache-2.0
//
// Rules that the engine is known to break, each until it is mended: the search has to find them,
// and nothing else.
#pragma once

#include <span>
#include <string_view>

namespace signalbox::search {

struct known_violation {
    std::string_view name;
    std::string_view what;
    /// As kind_of() has it.
    std::string_view kind;
    /// Beginnings of the names of the configurations in which it is found.
    std::span<const std::string_view> configurations;
};

std::span<const known_violation> all_known_violations();

/// Null if this kind of violation is not known of that configuration.
const known_violation* find_known(std::string_view configuration, std::string_view kind);

}  // namespace signalbox::search
