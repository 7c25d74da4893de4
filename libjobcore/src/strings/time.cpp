// SPDX-License-Identifier: Apache-2.0
#include "jobcore/time.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>

namespace signalbox::core {
namespace {

/// Reads exactly `digits` decimal digits at `pos` and moves behind them.
bool read_number(std::string_view text, std::size_t& pos, std::size_t digits, int& out) {
    if (text.size() - pos < digits) {
        return false;
    }
    out = 0;
    for (std::size_t i = 0; i < digits; ++i) {
        const char c = text[pos + i];
        if (c < '0' || c > '9') {
            return false;
        }
        out = out * 10 + (c - '0');
    }
    pos += digits;
    return true;
}

bool read_char(std::string_view text, std::size_t& pos, char wanted) {
    if (pos >= text.size() || text[pos] != wanted) {
        return false;
    }
    ++pos;
    return true;
}

/// `.123456` or nothing; gives milliseconds.
bool read_fraction(std::string_view text, std::size_t& pos, int& ms) {
    ms = 0;
    if (pos >= text.size() || text[pos] != '.') {
        return true;
    }
    ++pos;
    int digits = 0;
    for (; pos < text.size() && text[pos] >= '0' && text[pos] <= '9'; ++pos, ++digits) {
        if (digits < 3) {
            ms = ms * 10 + (text[pos] - '0');
        }
    }
    for (int i = digits; i < 3; ++i) {
        ms *= 10;
    }
    return digits > 0;
}

/// `Z` or `+hh:mm`; gives minutes east of UTC.
bool read_zone(std::string_view text, std::size_t& pos, int& minutes) {
    minutes = 0;
    if (pos < text.size() && (text[pos] == 'Z' || text[pos] == 'z')) {
        ++pos;
        return true;
    }
    if (pos >= text.size() || (text[pos] != '+' && text[pos] != '-')) {
        return false;
    }
    const int sign = text[pos++] == '-' ? -1 : 1;
    int hours = 0;
    int mins = 0;
    if (!read_number(text, pos, 2, hours) || !read_char(text, pos, ':') ||
        !read_number(text, pos, 2, mins) || hours > 23 || mins > 59) {
        return false;
    }
    minutes = sign * (hours * 60 + mins);
    return true;
}

}  // namespace

std::string format_time(instant t) {
    const auto day = std::chrono::floor<std::chrono::days>(t);
    const std::chrono::year_month_day date(day);
    const std::chrono::hh_mm_ss time(std::chrono::floor<seconds>(t - day));
    return fmt::format(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z",
        static_cast<int>(date.year()),
        static_cast<unsigned>(date.month()),
        static_cast<unsigned>(date.day()),
        time.hours().count(),
        time.minutes().count(),
        time.seconds().count()
    );
}

std::optional<instant> parse_time(std::string_view text) {
    std::size_t pos = 0;
    std::array<int, 6> n{};
    int ms = 0;
    int zone = 0;
    const bool date_read = read_number(text, pos, 4, n[0]) && read_char(text, pos, '-') &&
                           read_number(text, pos, 2, n[1]) && read_char(text, pos, '-') &&
                           read_number(text, pos, 2, n[2]);
    if (!date_read || !read_char(text, pos, 'T')) {
        return std::nullopt;
    }
    const bool time_read = read_number(text, pos, 2, n[3]) && read_char(text, pos, ':') &&
                           read_number(text, pos, 2, n[4]) && read_char(text, pos, ':') &&
                           read_number(text, pos, 2, n[5]);
    if (!time_read || !read_fraction(text, pos, ms) || !read_zone(text, pos, zone) ||
        pos != text.size()) {
        return std::nullopt;
    }
    const std::chrono::year_month_day date{
        std::chrono::year{n[0]},
        std::chrono::month{static_cast<unsigned>(n[1])},
        std::chrono::day{static_cast<unsigned>(n[2])}};
    // A leap second is accepted and read as the second after it.
    if (!date.ok() || n[3] > 23 || n[4] > 59 || n[5] > 60) {
        return std::nullopt;
    }
    return instant(std::chrono::sys_days(date).time_since_epoch()) + std::chrono::hours(n[3]) +
           std::chrono::minutes(n[4] - zone) + seconds(n[5]) + milliseconds(ms);
}

}  // namespace signalbox::core
