// SPDX-License-Identifier: Apache-2.0
//
// Bounds what is remembered of keys that are at rest.
#pragma once

#include <algorithm>
#include <cstddef>
#include <unordered_map>

namespace signalbox::k8sio {

/// Drops the idle entries once the map has `at` of them, and sets `at` so that looking at all is
/// rare: each entry costs a few looks, however many there are.
template <class Key, class Value, class Idle>
void drop_idle(std::unordered_map<Key, Value>& map, std::size_t& at, Idle is_idle) {
    if (map.size() < at) {
        return;
    }
    std::erase_if(map, is_idle);
    at = std::max<std::size_t>(64, 2 * map.size());
}

}  // namespace signalbox::k8sio
