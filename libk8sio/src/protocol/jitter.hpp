// SPDX-License-Identifier: Apache-2.0
//
// Random numbers for spreading load, not for secrets: the same on every machine for the same seed.
#pragma once

#include <chrono>
#include <cstdint>

namespace signalbox::k8sio::protocol {

/// splitmix64; written out, because the distributions of the standard library differ.
class jitter {
public:
    explicit jitter(std::uint64_t seed) : state_(seed) {}

    std::uint64_t next() {
        state_ += 0x9E3779B97F4A7C15u;
        std::uint64_t z = state_;
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
        return z ^ (z >> 31);
    }

    /// In [0, bound).
    std::chrono::nanoseconds below(std::chrono::nanoseconds bound) {
        if (bound.count() <= 0) {
            return std::chrono::nanoseconds{0};
        }
        const auto range = static_cast<std::uint64_t>(bound.count());
        return std::chrono::nanoseconds{static_cast<std::int64_t>(next() % range)};
    }

private:
    std::uint64_t state_;
};

}  // namespace signalbox::k8sio::protocol
