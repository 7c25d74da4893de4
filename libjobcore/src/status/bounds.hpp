// SPDX-License-Identifier: Apache-2.0
//
// What a damaged status may ask of us at most (BEHAVIOUR.md api 5.7, api 6.2).
#pragma once

#include <cstddef>
#include <cstdint>

namespace signalbox::core {

/// No count is greater; one that has come so far cannot be raised any more.
inline constexpr std::int32_t most_counted = 1'000'000'000;
inline constexpr std::int32_t most_replicas = 10'000;
inline constexpr std::size_t most_types = 32;
/// Entries of `restarts.replaced`, `restarts.renamed`.
inline constexpr std::size_t most_indexes = 256;
inline constexpr std::size_t most_incident_pods = 16;
inline constexpr std::size_t most_conditions = 32;
inline constexpr std::size_t most_attempts = 10;
inline constexpr std::size_t most_avoided = 16;
/// Bytes of a message, and of any other text.
inline constexpr std::size_t most_message = 32 * 1024;
inline constexpr std::size_t most_text = 1024;

}  // namespace signalbox::core
