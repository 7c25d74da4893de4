// SPDX-License-Identifier: Apache-2.0
//
// Small text functions of diagnostics: quoting of what a user wrote, nearest names.
#pragma once

#include "jobcore/strings.hpp"
#include "json/json.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace signalbox::core::schema {

/// The text in double quotes, printable and at most about 60 bytes: it may be hostile.
std::string quoted(std::string_view text);

/// A JSON value in words: `the string "two"`, `the number 7`, `a list`.
std::string describe(const json::value& v);

/// `a`, `a and b`, `a, b and c`, each in backquotes.
std::string enumerate(std::span<const std::string_view> names, std::string_view last_joint);

/// The candidate that `text` is most likely a misspelling of; empty if none is near. Letter case
/// and the characters - and _ are disregarded.
std::string_view nearest(std::string_view text, std::span<const std::string_view> candidates);

}  // namespace signalbox::core::schema
