// SPDX-License-Identifier: Apache-2.0
//
// Runs a generated story and holds every decision in it to the rules of property/rules.hpp; finds
// the shortest story that breaks the same rule.
#pragma once

#include "property/story.hpp"

#include <cstddef>
#include <optional>
#include <string>

namespace signalbox::test {

struct story_result {
    /// The first violation; it begins with the rule.
    std::optional<std::string> violation;
    std::size_t step = 0;  ///< after which it was found
    long decisions = 0;    ///< that were held to the rules
};

/// With `trace`, what each decision was is appended to it, for people.
story_result run_story(const story& s, std::string* trace = nullptr);

/// Leaves out steps while the same rule is broken.
story shrunk(story s, const story_result& broken);

/// Job and steps, to be read by people.
std::string to_string(const story& s);

}  // namespace signalbox::test
