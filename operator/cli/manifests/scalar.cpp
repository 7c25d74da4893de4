// SPDX-License-Identifier: Apache-2.0
#include "manifests/scalar.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>

namespace signalbox::op::manifests {

namespace {

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

template <std::size_t N>
bool one_of(std::string_view text, const std::array<std::string_view, N>& words) {
    return std::ranges::find(words, text) != words.end();
}

constexpr std::array<std::string_view, 11> true_words{
    "y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"};
constexpr std::array<std::string_view, 11> false_words{
    "n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"};
constexpr std::array<std::string_view, 5> null_words{"", "~", "null", "Null", "NULL"};
constexpr std::array<std::string_view, 12> not_json_words{
    ".nan",
    ".NaN",
    ".NAN",
    ".inf",
    ".Inf",
    ".INF",
    "+.inf",
    "+.Inf",
    "+.INF",
    "-.inf",
    "-.Inf",
    "-.INF"};

/// Digits in a base, without sign and prefix; nothing if there is any other character.
std::optional<std::string> digits_to_decimal(std::string_view digits, int base) {
    std::uint64_t value = 0;
    const char* end = digits.data() + digits.size();
    const auto [stop, error] = std::from_chars(digits.data(), end, value, base);
    if (stop != end || digits.empty()) {
        return std::nullopt;
    }
    if (error == std::errc{}) {
        return std::to_string(value);
    }
    // Too large: only decimal digits can be kept as they are.
    return base == 10 ? std::optional(std::string(digits)) : std::nullopt;
}

std::optional<std::string> resolve_integer(std::string_view text) {
    const bool negative = text.starts_with('-');
    if (negative || text.starts_with('+')) {
        text.remove_prefix(1);
    }
    int base = 10;
    if (text.size() > 1 && text[0] == '0') {
        const char mark = text[1];
        base = mark == 'x' || mark == 'X' ? 16 : mark == 'b' || mark == 'B' ? 2 : 8;
        text.remove_prefix(is_digit(mark) ? 1 : 2);
        if (base == 8 && mark != 'o' && mark != 'O' && !is_digit(mark)) {
            return std::nullopt;
        }
    }
    std::optional<std::string> digits = digits_to_decimal(text, base);
    if (digits && negative && *digits != "0") {
        digits->insert(0, "-");
    }
    return digits;
}

/// `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`
bool looks_like_float(std::string_view text) {
    std::size_t at = text.starts_with('-') || text.starts_with('+') ? 1U : 0U;
    const auto digits = [&] {
        const std::size_t begin = at;
        while (at < text.size() && is_digit(text[at])) {
            ++at;
        }
        return at - begin;
    };
    const std::size_t whole = digits();
    if (at < text.size() && text[at] == '.') {
        ++at;
        if (digits() == 0 && whole == 0) {
            return false;
        }
    } else if (whole == 0) {
        return false;
    }
    if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
        ++at;
        at += at < text.size() && (text[at] == '-' || text[at] == '+') ? 1U : 0U;
        if (digits() == 0) {
            return false;
        }
    }
    return at == text.size();
}

scalar_value resolve_number(std::string_view text) {
    std::string plain(text);
    std::erase(plain, '_');
    if (std::optional<std::string> whole = resolve_integer(plain)) {
        return {scalar_type::integer, std::move(*whole)};
    }
    if (!looks_like_float(plain)) {
        return {scalar_type::string, std::string(text)};
    }
    const double value = std::strtod(plain.c_str(), nullptr);
    if (!std::isfinite(value)) {
        return {scalar_type::string, std::string(text)};
    }
    return {scalar_type::floating, fmt::format("{}", value == 0 ? 0.0 : value)};
}

}  // namespace

scalar_value resolve_plain(std::string_view text) {
    if (one_of(text, null_words)) {
        return {scalar_type::null, "null"};
    }
    if (one_of(text, true_words)) {
        return {scalar_type::boolean, "true"};
    }
    if (one_of(text, false_words)) {
        return {scalar_type::boolean, "false"};
    }
    if (one_of(text, not_json_words)) {
        return {scalar_type::not_json, std::string(text)};
    }
    const char first = text.front();
    if (is_digit(first) || first == '+' || first == '-' || first == '.') {
        return resolve_number(text);
    }
    return {scalar_type::string, std::string(text)};
}

}  // namespace signalbox::op::manifests
