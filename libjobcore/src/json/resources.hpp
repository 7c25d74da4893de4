// SPDX-License-Identifier: Apache-2.0
//
// What a container's `resources` say about processors and accelerators.
#pragma once

#include "json/json.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace signalbox::core::json {

/// A Kubernetes quantity (`4`, `"500m"`, `"1.5"`, `"2e3"`, `"1Ki"`) in thousandths, rounded down.
/// Nothing for other values, negative ones, and what does not fit.
std::optional<std::int64_t> quantity_milli(const value& quantity);

/// The container's CPU limit or request in thousandths of a CPU.
std::optional<std::int64_t> cpu_limit_milli(const value& container);
std::optional<std::int64_t> cpu_request_milli(const value& container);

/// Extended resources of all containers of a pod's spec by their limits, by name: those with a
/// domain in their name.
std::vector<std::pair<std::string, std::int64_t>> extended_resources(const value& pod_spec);

/// The extended resources of a container by its limits, else requests.
struct device_count {
    std::int64_t accelerators = 0;
    bool any = false;     ///< it has an extended resource, of whatever kind
    std::string unknown;  ///< the first whose unit is not known; empty: none
};
device_count count_devices(const value& container);

/// Accelerators of the container by its limits, else requests; 0 if there are none.
std::int64_t accelerators(const value& container);

}  // namespace signalbox::core::json
