// SPDX-License-Identifier: Apache-2.0
//
// Kubernetes' quantities: `2`, `500m`, `1.5Gi`, `1e3`.
#pragma once

#include "kubernetes/forms.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace signalbox::kubernetes {

/// In units of 1e-9, rounded up, at most `most_nanos` either way.
__extension__ using nanos = __int128;
inline constexpr nanos most_nanos = nanos{1} << 120;

namespace quantity_detail {

struct suffix {
    std::string_view text;
    int base;
    int exponent;
};
inline constexpr std::array suffixes{
    suffix{"", 10, 0},
    suffix{"n", 10, -9},
    suffix{"u", 10, -6},
    suffix{"m", 10, -3},
    suffix{"k", 10, 3},
    suffix{"M", 10, 6},
    suffix{"G", 10, 9},
    suffix{"T", 10, 12},
    suffix{"P", 10, 15},
    suffix{"E", 10, 18},
    suffix{"Ki", 2, 10},
    suffix{"Mi", 2, 20},
    suffix{"Gi", 2, 30},
    suffix{"Ti", 2, 40},
    suffix{"Pi", 2, 50},
    suffix{"Ei", 2, 60},
};

/// The parts of a quantity's text. `form` is false where the text has no such parts.
struct parts {
    bool negative = false;
    std::string_view whole, fraction, unit;
    bool form = false;
};

inline parts split(std::string_view text) {
    constexpr std::string_view digits = "0123456789";
    parts out;
    if (text.empty()) {
        return out;
    }
    out.negative = text.front() == '-';
    if (text.front() == '-' || text.front() == '+') {
        text.remove_prefix(1);
    }
    const auto take = [&text](std::string_view of) {
        const std::size_t end = std::min(text.find_first_not_of(of), text.size());
        const std::string_view taken = text.substr(0, end);
        text.remove_prefix(end);
        return taken;
    };
    out.whole = take(digits);
    if (text.starts_with('.')) {
        text.remove_prefix(1);
        out.fraction = take(digits);
    }
    out.unit = text;
    take("eEinumkKMGTP");
    if (text.starts_with('-') || text.starts_with('+')) {
        text.remove_prefix(1);
    }
    take(digits);
    out.form = text.empty();
    return out;
}

/// The unit as base and exponent; nothing if there is no such unit.
inline std::optional<suffix> unit_of(std::string_view text) {
    for (const suffix& s : suffixes) {
        if (s.text == text) {
            return s;
        }
    }
    if (text.front() != 'e' && text.front() != 'E') {
        return std::nullopt;
    }
    std::string_view number = text.substr(1);
    const bool negative = number.starts_with('-');
    if (negative || number.starts_with('+')) {
        number.remove_prefix(1);
    }
    if (number.empty() || !std::ranges::all_of(number, is_digit)) {
        return std::nullopt;
    }
    int exponent = 0;
    for (const char c : number) {
        exponent = std::min(exponent * 10 + (c - '0'), 1000);
    }
    return suffix{text, 10, negative ? -exponent : exponent};
}

}  // namespace quantity_detail

/// Why a text is no quantity; empty if it is one.
inline std::string_view quantity_error(std::string_view text) {
    const auto parts = quantity_detail::split(text);
    if (!parts.form) {
        return quantity_form_text;
    }
    return quantity_detail::unit_of(parts.unit) ? std::string_view{}
                                                : "unable to parse quantity's suffix";
}

/// The amount that a quantity's text, which quantity_error() accepts, stands for.
inline nanos quantity_nanos(std::string_view text) {
    const auto parts = quantity_detail::split(text);
    const auto unit = *quantity_detail::unit_of(parts.unit);
    nanos n = 0;
    bool rounded = false;
    const auto push = [&n](int digit) { n = n >= most_nanos / 10 ? most_nanos : n * 10 + digit; };
    for (const char c : parts.whole) {
        push(c - '0');
    }
    // Binary units multiply before the fraction is cut to 1e-9.
    int exponent = 9 + (unit.base == 10 ? unit.exponent : 0);
    for (const char c : parts.fraction.substr(0, 18)) {
        push(c - '0');
        --exponent;
    }
    if (unit.base == 2) {
        const nanos factor = nanos{1} << unit.exponent;
        n = n > most_nanos / factor ? most_nanos : n * factor;
    }
    for (; exponent > 0 && n != 0 && n < most_nanos; --exponent) {
        push(0);
    }
    for (; exponent < 0 && n != 0; ++exponent) {
        rounded = rounded || n % 10 != 0;
        n /= 10;
    }
    n += rounded ? 1 : 0;
    return parts.negative ? -n : n;
}

inline constexpr nanos nanos_per_unit = 1'000'000'000;
inline constexpr nanos nanos_per_thousandth = nanos_per_unit / 1000;

enum class rounding { down, up };

/// The quantity as a multiple of `step`. Nothing if the text is no quantity, has no digit, is
/// negative, or does not fit.
inline std::optional<std::uint64_t> quantity_in(std::string_view text, nanos step, rounding way) {
    const auto parts = quantity_detail::split(text);
    const bool digits = !parts.whole.empty() || !parts.fraction.empty();
    if (!digits || !quantity_error(text).empty()) {
        return std::nullopt;
    }
    const nanos amount = quantity_nanos(text);
    const nanos steps = (amount + (way == rounding::up ? step - 1 : 0)) / step;
    const bool fits = amount >= 0 && steps <= nanos{UINT64_MAX};
    return fits ? std::optional(static_cast<std::uint64_t>(steps)) : std::nullopt;
}

}  // namespace signalbox::kubernetes
