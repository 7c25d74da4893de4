// SPDX-License-Identifier: Apache-2.0
//
// The schedulers of gangs that jobs may name, and the kinds that follow from them.
#include "gang/coscheduling.hpp"
#include "gang/koordinator.hpp"
#include "gang/kubernetes.hpp"
#include "gang/kueue.hpp"
#include "gang/scheduler.hpp"
#include "gang/t9k.hpp"
#include "gang/volcano.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace signalbox::core {
namespace {

constexpr std::array schedulers{
    &gang::t9k,
    &gang::kubernetes,
    &gang::kueue,
    &gang::coscheduling,
    &gang::koordinator,
    &gang::volcano};

constexpr std::array always_served{
    object_kind::pod,
    object_kind::service,
    object_kind::secret,
    object_kind::config_map,
    object_kind::deployment,
};

std::vector<object_kind> list_kinds() {
    std::vector<object_kind> kinds(always_served.begin(), always_served.end());
    for (const gang::scheduler* s : schedulers) {
        kinds.insert(kinds.end(), s->objects.begin(), s->objects.end());
    }
    kinds.push_back(object_kind::tensorboard);
    return kinds;
}

}  // namespace

std::span<const gang::scheduler* const> gang::all_schedulers() {
    return schedulers;
}

std::span<const object_kind> all_child_kinds() {
    static const std::vector<object_kind> kinds = list_kinds();
    return kinds;
}

}  // namespace signalbox::core
