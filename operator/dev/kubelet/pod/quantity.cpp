// SPDX-License-Identifier: Apache-2.0
#include "kubelet/pod/quantity.hpp"

#include <jobcore/strings.hpp>

#include <algorithm>
#include <array>
#include <utility>

namespace signalbox::op::kubelet {

namespace {

__extension__ using wide = unsigned __int128;

/// In thousandths.
constexpr std::array<std::pair<std::string_view, std::uint64_t>, 12> suffixes{{
    {"", 1000},
    {"m", 1},
    {"k", 1000ULL * 1000},
    {"M", 1000ULL * 1000 * 1000},
    {"G", 1000ULL * 1000 * 1000 * 1000},
    {"T", 1000ULL * 1000 * 1000 * 1000 * 1000},
    {"P", 1000ULL * 1000 * 1000 * 1000 * 1000 * 1000},
    {"Ki", 1000ULL << 10U},
    {"Mi", 1000ULL << 20U},
    {"Gi", 1000ULL << 30U},
    {"Ti", 1000ULL << 40U},
    {"Pi", 1000ULL << 50U},
}};

/// Of a suffix, in thousandths; 0 if it is none.
std::uint64_t scale_of(std::string_view suffix) {
    for (const auto& [name, factor] : suffixes) {
        if (name == suffix) {
            return factor;
        }
    }
    constexpr std::uint64_t greatest_exponent = 15;
    const bool exponent = suffix.starts_with('e') || suffix.starts_with('E');
    const auto power = exponent ? core::read_digits(suffix.substr(1)) : std::nullopt;
    if (!power || *power > greatest_exponent) {
        return 0;
    }
    std::uint64_t out = 1000;
    for (std::uint64_t i = 0; i < *power; ++i) {
        out *= 10;
    }
    return out;
}

}  // namespace

std::optional<std::uint64_t> thousandths_of(std::string_view quantity) {
    const std::size_t digits = quantity.find_first_not_of("0123456789.");
    const std::string_view number = quantity.substr(0, digits);
    const std::string_view suffix =
        digits == std::string_view::npos ? std::string_view() : quantity.substr(digits);
    const std::size_t point = number.find('.');
    const std::string_view whole = number.substr(0, point);
    const std::string_view rest =
        point == std::string_view::npos ? std::string_view() : number.substr(point + 1);
    if (whole.empty() && rest.empty()) {
        return std::nullopt;
    }
    const auto units = whole.empty() ? std::optional<std::uint64_t>(0) : core::read_digits(whole);
    const auto fraction =
        rest.empty() ? std::optional<std::uint64_t>(0) : core::read_digits(rest.substr(0, 9));
    const std::uint64_t factor = scale_of(suffix);
    if (factor == 0 || !units || !fraction) {
        return std::nullopt;
    }
    wide scale = 1;
    for (std::size_t i = 0; i < std::min<std::size_t>(rest.size(), 9); ++i) {
        scale *= 10;
    }
    const wide sum = wide(*units) * factor + (wide(*fraction) * factor + scale - 1) / scale;
    const bool fits = sum <= UINT64_MAX;
    return fits ? std::optional(static_cast<std::uint64_t>(sum)) : std::nullopt;
}

std::optional<std::uint64_t> bytes_of(std::string_view quantity) {
    const auto n = thousandths_of(quantity);
    return n ? std::optional(*n / 1000 + (*n % 1000 != 0 ? 1 : 0)) : std::nullopt;
}

}  // namespace signalbox::op::kubelet
