// SPDX-License-Identifier: Apache-2.0
//
// Objects with one field changed, made from the tables: each bound, type, enumeration value and old
// name of each field of each kind. The same in every run.
#pragma once

#include <jobcore/spec.hpp>

#include <span>
#include <string>
#include <vector>

namespace signalbox::test {

struct mutation {
    core::job_kind kind;
    std::string rule;     ///< field and what was done to it
    std::string pointer;  ///< of the changed field
    std::string base;     ///< the job before the change
    std::string object;
    bool broken;  ///< the field itself is wrong; else other rules may still object
};

std::vector<mutation> mutations();

/// Jobs in which every list of objects has an item, so that its fields can be changed: at least one
/// of each kind.
struct full_job {
    core::job_kind kind;
    const char* text;
};
std::span<const full_job> full_jobs();

}  // namespace signalbox::test
