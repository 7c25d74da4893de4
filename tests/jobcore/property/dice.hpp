// SPDX-License-Identifier: Apache-2.0
//
// Choices of generated tests: a generator of our own, so that a seed means the same with every
// compiler and library.
#pragma once

#include <cstddef>
#include <cstdint>

namespace signalbox::test {

/// xorshift64*: small, fixed, good enough to choose what happens next.
class dice {
public:
    explicit dice(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15ULL + 1) {}

    std::uint32_t bits() {
        state_ ^= state_ >> 12;
        state_ ^= state_ << 25;
        state_ ^= state_ >> 27;
        return static_cast<std::uint32_t>(state_ * 0x2545F4914F6CDD1DULL >> 32);
    }
    /// 0 to sides - 1.
    int roll(int sides) { return static_cast<int>(bits() % static_cast<std::uint32_t>(sides)); }
    int between(int low, int high) { return low + roll(high - low + 1); }
    bool once_in(int n) { return roll(n) == 0; }
    template <class T, std::size_t N>
    const T& one_of(const T (&list)[N]) {
        return list[roll(static_cast<int>(N))];
    }

private:
    std::uint64_t state_;
};

}  // namespace signalbox::test
