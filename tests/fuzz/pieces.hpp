// SPDX-License-Identifier: Apache-2.0
//
// Bytes as a network hands them over. What reads a stream must not care how it was cut.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace signalbox::fuzz {

/// Ways to cut bytes: in one piece, in single bytes, and by sizes that follow from the bytes.
inline constexpr std::uint64_t ways_to_cut = 5;

/// Hands all of `bytes` to `take`, as long as that gives true. Gives what the last call gave.
template <class Take>
bool in_pieces(std::string_view bytes, std::uint64_t way, Take take) {
    std::uint64_t state = way * 0x9e3779b97f4a7c15U;
    for (const char c : bytes) {
        state = (state ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
    }
    while (!bytes.empty()) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        const std::size_t wanted = way == 0   ? bytes.size()
                                   : way == 1 ? 1
                                              : 1 + (state >> 33) % (way == 2 ? 4 : 48);
        const std::size_t size = std::min(wanted, bytes.size());
        if (!take(bytes.substr(0, size))) {
            return false;
        }
        bytes.remove_prefix(size);
    }
    return true;
}

}  // namespace signalbox::fuzz
