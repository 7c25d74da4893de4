// SPDX-License-Identifier: Apache-2.0
//
// The annotations of a job that mean something to us (BEHAVIOUR.md api 1.11).
#pragma once

#include "api/walk/walk.hpp"

#include <array>
#include <span>
#include <string>
#include <string_view>

namespace signalbox::core::schema {

struct annotation {
    std::string_view name;  ///< after `batch.tensorstack.dev/`
    bool seconds;           ///< a whole number of seconds is accepted
    std::string_view word;  ///< this is accepted too; empty: none
    std::string_view doc;
    bool names = false;  ///< any names with commas are accepted
};

std::span<const annotation> our_annotations();
/// "a whole number of seconds or `off`"
std::string values_of(const annotation& row);

/// Warns of wrong values, and of names that are nearly those of ours.
void check_annotations(const node& metadata, findings_collector& findings);

}  // namespace signalbox::core::schema
