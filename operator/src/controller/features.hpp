// SPDX-License-Identifier: Apache-2.0
//
// What an operator can do without (BEHAVIOUR.md 2.11): each feature needs permissions that a
// cluster may not want to give.
#pragma once

#include "jobcore/object_kind.hpp"

#include <optional>
#include <set>
#include <span>
#include <string_view>

namespace signalbox::op {

enum class feature {
    ssh,
    gang,
    tensorboard,
    events,
    logs,
    progress,
    kubernetes,
    kueue,
    coscheduling,
    volcano,
};

struct feature_row {
    feature which;
    std::string_view name;  ///< in flags
    /// What is so without it, as half a sentence.
    std::string_view without;
};

/// Those that can be left out: all but those that have to be asked for. Rows are constants.
std::span<const feature_row> all_features();
/// Schedulers of gangs that have to be asked for, by their names in `spec.scheduler`.
std::span<const feature_row> scheduler_features();
const feature_row& row_of(feature which);
/// Nothing if there is no feature of that name.
std::optional<feature> parse_feature(std::string_view name);

/// The feature that children of the kind belong to; nothing: every job has such.
std::optional<feature> feature_of(core::object_kind kind);

using feature_set = std::set<feature>;

/// What is left out unless it is asked for: the schedulers of scheduler_features().
feature_set left_out_by_default();

/// False if children of the kind belong to one of `without`.
bool is_wanted(core::object_kind kind, const feature_set& without);

}  // namespace signalbox::op
