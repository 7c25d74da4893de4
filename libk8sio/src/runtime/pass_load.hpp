// SPDX-License-Identifier: Apache-2.0
//
// Bounds what the passes under way take together (REQUIREMENTS.md Q13).
#pragma once

#include "k8sio/controller.hpp"
#include "k8sio/work_queue.hpp"

#include <cstddef>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace signalbox::k8sio {

class pass_load {
public:
    /// `load_of` may be empty: no key takes anything. One group gets half of `max` at most. A key
    /// that is beyond these bounds goes while nothing else of it is under way.
    pass_load(load_function load_of, std::size_t max, group_function group_of);

    /// False: the key waits until passes have ended; see end().
    bool begin(const std::string& key);
    /// The pass that begin() allowed has ended. Gives the keys that have waited, in order.
    std::vector<std::string> end(const std::string& key);
    void forget(const std::string& key);

private:
    struct taken {
        std::size_t bytes = 0;
        std::string group;
    };
    bool fits(const taken& more) const;

    load_function load_of_;
    std::size_t max_;
    group_function group_of_;
    std::unordered_map<std::string, taken> running_;
    std::unordered_map<std::string, std::size_t> by_group_;
    std::size_t all_ = 0;
    std::vector<std::string> waiting_;
    std::unordered_set<std::string> is_waiting_;  ///< the same
};

}  // namespace signalbox::k8sio
