// SPDX-License-Identifier: Apache-2.0
#include "api/walk/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace signalbox::core::schema {
namespace {

constexpr std::size_t quoted_limit = 60;

char folded(char c) {
    if (c >= 'A' && c <= 'Z') {
        return static_cast<char>(c - 'A' + 'a');
    }
    return c == '_' ? '-' : c;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) {
        row[j] = j;
    }
    for (std::size_t i = 0; i < a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i + 1;
        for (std::size_t j = 0; j < b.size(); ++j) {
            const std::size_t substitution = diagonal + (folded(a[i]) == folded(b[j]) ? 0 : 1);
            diagonal = row[j + 1];
            row[j + 1] = std::min({substitution, row[j] + 1, row[j + 1] + 1});
        }
    }
    return row[b.size()];
}

}  // namespace

std::string quoted(std::string_view text) {
    const bool cut = text.size() > quoted_limit;
    text = first_bytes(text, quoted_limit);
    std::string escaped = "\"";
    for (const char c : text) {
        escaped += c == '"' || c == '\\' ? "\\" : "";
        escaped += c;
    }
    return printable(escaped) + (cut ? "...\"" : "\"");
}

std::string describe(const json::value& v) {
    switch (v.GetType()) {
        case rapidjson::kNullType:
            return "null";
        case rapidjson::kFalseType:
            return "the boolean false";
        case rapidjson::kTrueType:
            return "the boolean true";
        case rapidjson::kObjectType:
            return "an object";
        case rapidjson::kArrayType:
            return "a list";
        case rapidjson::kStringType:
            return "the string " + quoted(json::view(v));
        case rapidjson::kNumberType:
            break;
    }
    if (v.IsInt64()) {
        return fmt::format("the number {}", v.GetInt64());
    }
    return v.IsUint64() ? fmt::format("the number {}", v.GetUint64())
                        : fmt::format("the number {}", v.GetDouble());
}

std::string enumerate(std::span<const std::string_view> names, std::string_view last_joint) {
    std::string out;
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (i > 0) {
            out += i + 1 == names.size() ? fmt::format(" {} ", last_joint) : ", ";
        }
        out += fmt::format("`{}`", names[i]);
    }
    return out;
}

std::string_view nearest(std::string_view text, std::span<const std::string_view> candidates) {
    // A misspelling is not further away than this; it also bounds the work on hostile names.
    constexpr std::size_t longest = 64;
    std::string_view best;
    std::size_t best_distance =
        text.size() > longest ? 0 : std::max<std::size_t>(2, text.size() / 3) + 1;
    for (const std::string_view candidate : candidates) {
        if (best_distance == 0) {
            break;
        }
        const std::size_t distance = edit_distance(text, candidate);
        if (distance < best_distance && distance < candidate.size()) {
            best = candidate;
            best_distance = distance;
        }
    }
    return best;
}

}  // namespace signalbox::core::schema
