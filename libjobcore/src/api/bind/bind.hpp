// SPDX-License-Identifier: Apache-2.0
//
// From walked fields to the typed specification. Nothing is checked here: only trees without errors
// are bound.
#pragma once

#include "api/walk/walk.hpp"
#include "jobcore/spec.hpp"

namespace signalbox::core::schema {

/// The fields of all kinds: scheduler, modes, managedBy.
job_spec bind_shared(const node& spec);
/// runPolicy and elastic of the kinds that restart.
void bind_restarts(const node& spec, job_spec& bound);
/// The fields that every runPolicy has.
run_policy bind_run_policy(const node& policy);
/// Of a policy whose `failureRules` are well-formed.
std::vector<failure_rule> bind_failure_rules(const node& policy);
/// An object or list as compact JSON; empty if it is absent.
std::string bind_json(const node& opaque);

template <class Enum>
std::optional<Enum> bind_choice(const node& n) {
    const auto index = n.choice();
    return index ? std::optional(static_cast<Enum>(*index)) : std::nullopt;
}

job_spec bind_pytorch(const node& spec);
job_spec bind_deepspeed(const node& spec);
job_spec bind_colossalai(const node& spec);

}  // namespace signalbox::core::schema
