// SPDX-License-Identifier: Apache-2.0
//
// From walked fields to the typed specification. Nothing is checked here: only trees without errors
// are bound.
#pragma once

#include "api/walk.hpp"
#include "jobcore/spec.hpp"

namespace signalbox::core::schema {

/// What the kinds share. The fields must be in the specification's table.
std::optional<t9k_scheduler> bind_scheduler(const node& scheduler);
run_mode bind_run_mode(const node& mode);
elastic_config bind_elastic(const node& elastic);
std::string bind_json(const node& opaque);

template <class Enum>
std::optional<Enum> bind_choice(const node& n) {
    const auto index = n.choice();
    return index ? std::optional(static_cast<Enum>(*index)) : std::nullopt;
}

job_spec bind_pytorch(const node& spec);

}  // namespace signalbox::core::schema
