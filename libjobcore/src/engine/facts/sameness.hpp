// SPDX-License-Identifier: Apache-2.0
//
// When two errors are the same: what all ranks run into, each with numbers of its own (BEHAVIOUR.md
// 3.9, 3.13).
#pragma once

#include "engine/facts/code_place.hpp"

#include <cstdint>
#include <string_view>

namespace signalbox::core::engine {

/// The same text, but for numbers.
bool says_same(std::string_view a, std::string_view b);
/// Equal for texts that are the same so, with the same place; never 0.
std::uint64_t sameness_of(std::string_view text, const code_place& place);

}  // namespace signalbox::core::engine
