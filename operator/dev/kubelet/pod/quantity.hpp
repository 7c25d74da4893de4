// SPDX-License-Identifier: Apache-2.0
//
// Kubernetes' quantities, e.g. `500m`, `1.5`, `2Gi`, as a kubelet counts with them.
#pragma once

#include <kubernetes/quantity.hpp>

#include <cstdint>
#include <optional>
#include <string_view>

namespace signalbox::op::kubelet {

/// In thousandths, rounded up. Nothing if it is no quantity, negative or beyond 64 bits.
inline std::optional<std::uint64_t> thousandths_of(std::string_view quantity) {
    return kubernetes::quantity_in(
        quantity, kubernetes::nanos_per_thousandth, kubernetes::rounding::up
    );
}

/// In whole units, rounded up; so `bytes_of("2Gi")` or a number of GPUs.
inline std::optional<std::uint64_t> bytes_of(std::string_view quantity) {
    return kubernetes::quantity_in(quantity, kubernetes::nanos_per_unit, kubernetes::rounding::up);
}

}  // namespace signalbox::op::kubelet
