// SPDX-License-Identifier: Apache-2.0
//
// A hash for comparing what is not forged: it is no protection against a made collision.
#pragma once

#include <cstdint>
#include <string_view>

namespace signalbox::core {

/// FNV-1a, 64 bits. A field is its length and its bytes, so that fields cannot run together.
class fnv1a {
public:
    constexpr fnv1a() = default;
    constexpr fnv1a& bytes(std::string_view text) {
        for (const char c : text) {
            state_ = (state_ ^ static_cast<unsigned char>(c)) * prime;
        }
        return *this;
    }
    constexpr fnv1a& field(std::string_view text) { return number(text.size()).bytes(text); }
    constexpr fnv1a& number(std::uint64_t value) {
        for (int shift = 0; shift < 64; shift += 8) {
            state_ = (state_ ^ ((value >> shift) & 0xff)) * prime;
        }
        return *this;
    }
    constexpr std::uint64_t value() const { return state_; }

private:
    static constexpr std::uint64_t prime = 0x100000001b3;
    std::uint64_t state_ = 0xcbf29ce484222325;
};

}  // namespace signalbox::core
