// SPDX-License-Identifier: Apache-2.0
//
// A hash for comparing what others may have made: the first 64 bits of SHA-256 (FIPS 180-4). To
// make another content of one hash takes as many tries as there are hashes. Two contents of one
// hash are found sooner, by somebody who writes both: that deceives only its author.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace signalbox::core {

/// A field is its length and its bytes, so that fields cannot run together. Copies go on apart.
class content_hash {
public:
    content_hash& bytes(std::string_view text);
    content_hash& field(std::string_view text) { return number(text.size()).bytes(text); }
    content_hash& number(std::uint64_t value);
    /// Of all that came until now.
    std::uint64_t value() const;

private:
    using block = std::array<unsigned char, 64>;
    void add(const block& b);

    std::array<std::uint32_t, 8> state_{
        0x6a09e667,
        0xbb67ae85,
        0x3c6ef372,
        0xa54ff53a,
        0x510e527f,
        0x9b05688c,
        0x1f83d9ab,
        0x5be0cd19};
    block rest_{};
    std::uint64_t length_ = 0;  // in bytes
};

}  // namespace signalbox::core
