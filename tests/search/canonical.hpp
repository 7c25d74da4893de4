// SPDX-License-Identifier: Apache-2.0
//
// Two worlds are the same state of the search if decisions and checks cannot tell them apart: times
// count by their distance from now, UIDs by the pod that has them.
#pragma once

#include "world.hpp"

#include <cstdint>

namespace signalbox::search {

/// A 64-bit digest of the canonical form.
std::uint64_t digest(const world& w);

}  // namespace signalbox::search
