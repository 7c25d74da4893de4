// SPDX-License-Identifier: Apache-2.0
//
// Reading a story strictly: whatever is unknown, missing or of another type is a problem at its
// place, with what would be right. Reading goes on after each, so that all come at once.
#pragma once

#include "manifests/manifest.hpp"

#include <jobcore/time.hpp>

#include <rapidjson/document.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::op::stories {

using json_value = rapidjson::Value;

/// The text of a JSON string.
std::string_view text_of(const json_value& text);
/// Compact JSON.
std::string json_text(const json_value& value);
/// Whatever the JSON text is; null if it is none. It must not be nested deeper than a manifest may.
rapidjson::Document parsed(std::string_view json);
/// `a, b, c`.
std::string joined(std::span<const std::string_view> names);
/// As stories have spans: `300ms`, `2s`, `1m`, `1h` or a number of seconds. Nothing for others.
std::optional<core::milliseconds> span_of(const json_value& value);

/// What is wrong with one story; pointers become lines of its file.
class problems {
public:
    /// `source` must outlive this.
    explicit problems(const manifests::manifest& source) : source_(&source) {}

    void add(std::string pointer, std::string message);
    bool none() const { return found_.empty(); }
    std::vector<manifests::read_error> take() { return std::move(found_); }

private:
    const manifests::manifest* source_;
    std::vector<manifests::read_error> found_;
};

/// One mapping of a story, whose members are asked for one by one.
class members {
public:
    /// All must outlive this. A value that is no mapping is a problem.
    members(const json_value& value, std::string pointer, problems& into);

    bool readable() const { return object_ != nullptr; }
    /// The member, or null. Asking makes it known.
    const json_value* find(std::string_view key);
    const json_value* required(std::string_view key);
    std::string text(std::string_view key);
    std::optional<std::int32_t> count(std::string_view key, std::int32_t least);
    std::optional<bool> flag(std::string_view key);
    std::optional<core::milliseconds> span(std::string_view key);
    const json_value* mapping(std::string_view key);
    /// One of these texts; empty, with a problem, for another one.
    std::string choice(std::string_view key, std::span<const std::string_view> of);
    /// A text, or a list of texts.
    std::vector<std::string> texts(std::string_view key);
    void fail(std::string_view key, std::string message);
    std::string at(std::string_view key) const;

    /// Members that no one asked for are problems.
    void finish();

private:
    const json_value* object_;
    std::string pointer_;
    problems* into_;
    std::vector<std::string_view> known_;
};

/// `what`, and the candidate that is meant if one is near, else all of them.
std::string unknown_name(std::string_view what, std::span<const std::string_view> candidates);

}  // namespace signalbox::op::stories
