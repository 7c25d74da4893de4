// SPDX-License-Identifier: Apache-2.0
//
// Bounds what the passes under way take together, and how many of them one group has
// (REQUIREMENTS.md Q11, Q13).
#pragma once

#include "k8sio/controller.hpp"
#include "k8sio/work_queue.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>

namespace signalbox::k8sio {

class pass_load {
public:
    struct waiting_key {
        std::string key;
        steady_time since;  ///< as begin() was told
    };
    /// Keys that wait, by their arrival.
    using line = std::map<std::uint64_t, waiting_key>;

    /// Takes `load_of`, `max_load`, `group_of` and `max_concurrent_reconciles`. Without groups the
    /// bounds for all are the only ones.
    explicit pass_load(const controller_options& options);

    /// False: the key, which has been ready since then, waits; see next().
    bool begin(const std::string& key, steady_time since = steady_time());
    /// The pass that begin() allowed has ended.
    void end(const std::string& key);
    /// The key waits no longer. False: it did not.
    bool forget(const std::string& key);
    /// Of each group the key that has waited for longest, if there is room for it now. It waits
    /// until begin() says yes. To be asked when a pass has ended, and when one of these keys has
    /// begun or waits no longer.
    line next() const;
    std::size_t waiting() const { return place_.size(); }

private:
    struct taken {
        std::size_t bytes = 0;
        std::string group;
    };
    struct share {
        std::size_t passes = 0;
        std::size_t bytes = 0;
    };

    taken taken_by(const std::string& key) const;
    bool fits(const taken& more) const;
    bool fits_group(const taken& more) const;
    void add_waiting(const waiting_key& key, const std::string& group);

    load_function load_of_;
    group_function group_of_;
    std::size_t max_bytes_;
    std::size_t max_passes_;
    std::unordered_map<std::string, taken> running_;
    std::unordered_map<std::string, share> by_group_;
    std::size_t all_bytes_ = 0;
    std::unordered_map<std::string, line> waiting_;                                 ///< by group
    std::unordered_map<std::string, std::pair<std::string, std::uint64_t>> place_;  ///< in waiting_
    std::uint64_t arrivals_ = 0;
};

}  // namespace signalbox::k8sio
