// SPDX-License-Identifier: Apache-2.0
//
// Writes what was found into a story's file, in place of what was expected. Values are exchanged
// where they stand, so that comments and order stay.
#pragma once

#include "cli/stories/expectations.hpp"

#include <span>
#include <string>
#include <vector>

namespace signalbox::op::stories {

struct updated_text {
    std::string text;
    std::vector<std::string> left;  ///< pointers of what could not be exchanged
    std::size_t done = 0;
};

/// The text of the file with the values of `wrong` that have one (`mismatch::found_json`). Only
/// values on one line are exchanged, and each is read back: what would say something else stays.
updated_text with_found(std::string text, const std::string& file, std::span<const mismatch> wrong);

/// Writes the file anew: all of it, or nothing. The error, or empty.
std::string write_file(const std::string& path, const std::string& text);

}  // namespace signalbox::op::stories
