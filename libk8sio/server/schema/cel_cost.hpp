// SPDX-License-Identifier: Apache-2.0
//
// What a rule may cost at worst, whatever the object: the real server's estimate (cel-go's
// checker/cost.go, k8s.io/apiserver's pkg/cel/library/cost.go), in the units of an evaluation.
#pragma once

#include "server/schema/cel.hpp"
#include "server/schema/cel_declared.hpp"

#include <cstdint>

namespace signalbox::k8sio::server::cel {

/// What one rule may cost by its estimate, and those of one schema together.
inline constexpr std::uint64_t rule_limit = 10'000'000;
inline constexpr std::uint64_t schema_limit = 100'000'000;

/// Of one evaluation with `self` of that kind. The greatest number if nothing bounds it.
std::uint64_t estimate(const expression& rule, const declared& self);

/// `x * y`, or the greatest number if that is more.
std::uint64_t product(std::uint64_t x, std::uint64_t y);
/// `x + y`, likewise.
std::uint64_t sum(std::uint64_t x, std::uint64_t y);

}  // namespace signalbox::k8sio::server::cel
