// SPDX-License-Identifier: Apache-2.0
//
// Which container of a pod template trains (BEHAVIOUR.md api 1.13).
#pragma once

#include "json/json.hpp"

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

namespace signalbox::core::json {

struct training_choice {
    std::size_t index = 0;  ///< in `spec.containers`
    /// False: nothing says which of several containers it is, and `index` is that of the first.
    bool certain = true;
};

/// The container with the first of `names` that any has, else the only one, else the one that the
/// template's annotation `kubectl.kubernetes.io/default-container` names. Nothing without
/// containers; any JSON value will do.
std::optional<training_choice> choose_training(
    const value& pod_template, std::span<const std::string_view> names
);

}  // namespace signalbox::core::json
