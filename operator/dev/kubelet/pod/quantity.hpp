// SPDX-License-Identifier: Apache-2.0
//
// Kubernetes' quantities, e.g. `500m`, `1.5`, `2Gi`.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace signalbox::op::kubelet {

/// In thousandths, rounded up. Nothing if it is no quantity, negative or beyond 64 bits.
std::optional<std::uint64_t> thousandths_of(std::string_view quantity);
/// In whole units, rounded up; so `bytes_of("2Gi")` or a number of GPUs.
std::optional<std::uint64_t> bytes_of(std::string_view quantity);

}  // namespace signalbox::op::kubelet
