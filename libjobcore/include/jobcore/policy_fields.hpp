// SPDX-License-Identifier: Apache-2.0
//
// The constants of policy by name, for whoever reads them from a text: command line, text API.
#pragma once

#include "jobcore/policy.hpp"

#include <cstdint>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

namespace signalbox::core {

/// One constant of policy. Times are given in milliseconds.
struct policy_field {
    std::string_view name;  ///< that of the member, e.g. `restart_delay`
    std::variant<milliseconds policy::*, std::int32_t policy::*> member;
};

/// All of them, sorted by name. Has static storage.
std::span<const policy_field> policy_fields();

/// Sets a constant, a time in milliseconds. False, and nothing is set, if there is none of that
/// name. `value` must not be negative; that is not checked.
bool set_policy_field(policy& of, std::string_view name, std::int32_t value);

/// What policy::default_scheduler can be: `auto`, and the schedulers that need nothing more of a
/// job. Names have static storage.
std::vector<std::string_view> default_schedulers();
/// Sets it; empty: none. False, and nothing is set, if it is none of them.
bool set_default_scheduler(policy& of, std::string_view name);

}  // namespace signalbox::core
