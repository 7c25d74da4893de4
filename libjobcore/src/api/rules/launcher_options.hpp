// SPDX-License-Identifier: Apache-2.0
//
// Which option of a launcher an argument is (BEHAVIOUR.md api 2.4): the part before `=` counts, `-`
// and `_` are equal, and so are unambiguous abbreviations, as argparse takes them.
#pragma once

#include "api/walk/walk.hpp"

#include <span>
#include <string>
#include <string_view>

namespace signalbox::core::schema {

/// The option of `options` (in lower case with dashes) that a long argument stands for; empty if it
/// is none or is ambiguous.
std::string_view long_option(std::string_view argument, std::span<const std::string_view> options);

/// Every long option of torchrun.
std::span<const std::string_view> torchrun_options();

/// An option that is ours to set.
struct reserved_option {
    std::string_view option;
    std::string_view instead;  ///< what decides it
};

/// The error for item `i` of the list of options, which must not contain it.
void refuse_option(
    const node& list, std::size_t i, std::string_view why, findings_collector& findings
);

/// The same if `option` is reserved.
void refuse_reserved(
    const node& list,
    std::size_t i,
    std::string_view option,
    std::span<const reserved_option> reserved,
    findings_collector& findings
);

}  // namespace signalbox::core::schema
