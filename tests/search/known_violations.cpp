// SPDX-License-Identifier: Apache-2.0
#include "known_violations.hpp"

#include <algorithm>
#include <array>

namespace signalbox::search {

namespace {

constexpr std::array<known_violation, 0> known{};

}  // namespace

std::span<const known_violation> all_known_violations() {
    return known;
}

const known_violation* find_known(std::string_view configuration, std::string_view kind) {
    for (const known_violation& k : known) {
        const bool here = std::ranges::any_of(k.configurations, [&](std::string_view name) {
            return configuration.starts_with(name);
        });
        if (here && k.kind == kind) {
            return &k;
        }
    }
    return nullptr;
}

}  // namespace signalbox::search
