// SPDX-License-Identifier: Apache-2.0
//
// The schedulers of gangs that jobs may name, and the kinds that follow from them.
#include "gang/scheduler.hpp"
#include "gang/t9k.hpp"

#include <algorithm>
#include <array>

namespace signalbox::core {
namespace {

constexpr std::array schedulers{&gang::t9k};

constexpr std::array always_served{
    object_kind::pod,
    object_kind::service,
    object_kind::secret,
    object_kind::config_map,
    object_kind::deployment,
};

auto list_kinds() {
    std::array<object_kind, always_served.size() + schedulers.size() + 1> kinds;
    auto next = std::ranges::copy(always_served, kinds.begin()).out;
    for (const gang::scheduler* s : schedulers) {
        *next++ = s->object;
    }
    *next = object_kind::tensorboard;
    return kinds;
}

}  // namespace

std::span<const gang::scheduler* const> gang::all_schedulers() {
    return schedulers;
}

std::span<const object_kind> all_child_kinds() {
    static const auto kinds = list_kinds();
    return kinds;
}

}  // namespace signalbox::core
