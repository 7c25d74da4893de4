// SPDX-License-Identifier: Apache-2.0
//
// What a container's `resources` say about processors and accelerators.
#pragma once

#include "json/json.hpp"

#include <cstdint>
#include <optional>

namespace signalbox::core::json {

/// A Kubernetes quantity (`4`, `"500m"`, `"1.5"`, `"2e3"`, `"1Ki"`) in thousandths, rounded down.
/// Nothing for other values, negative ones, and what does not fit.
std::optional<std::int64_t> quantity_milli(const value& quantity);

/// The container's CPU limit or request in thousandths of a CPU.
std::optional<std::int64_t> cpu_limit_milli(const value& container);
std::optional<std::int64_t> cpu_request_milli(const value& container);

/// Accelerators of the container by its limits, else requests; 0 if there are none.
std::int64_t accelerators(const value& container);

}  // namespace signalbox::core::json
