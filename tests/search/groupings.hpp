// SPDX-License-Identifier: Apache-2.0
//
// The same exits seen in one look or in several: they come to one end (BEHAVIOUR.md 5.5).
#pragma once

#include "trace.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::search {

/// A pod that ends by itself.
struct timed_exit {
    std::string pod;  ///< its short name
    int code = 1;
    int after = 0;  ///< seconds after the exit before it
};

/// `worker-0 1, +5 master-0 137`: each exit with the seconds since the one before.
std::string to_words(const std::vector<timed_exit>& exits);

/// From a world on: what ends otherwise if no one looks before the last exit than if somebody looks
/// at some of those before it; else nothing. `steps` is raised by what it took.
std::string compare_looks(
    const world& from, const std::vector<timed_exit>& exits, std::uint64_t& steps
);
/// After a trace; `exits` in words.
std::string compare_looks(
    std::string_view configuration_name, const trace& choices, std::string_view exits
);

/// Orders, distances and codes of exits of the pods that run here, to be compared.
std::vector<std::vector<timed_exit>> schedules(const world& running);

}  // namespace signalbox::search
