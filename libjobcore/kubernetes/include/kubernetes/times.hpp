// SPDX-License-Identifier: Apache-2.0
//
// Times as texts of RFC 3339: the one reader and the one writer. Who reads says how strict it is.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace signalbox::kubernetes {

/// The numbers in a text of the form of a time; whether they are one, is_valid() says.
struct time_text {
    int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0;
    std::chrono::nanoseconds fraction{0};  ///< digits beyond the ninth are cut off
    char point = '\0';                     ///< before the fraction: `.` or `,`; none without one
    char zone = 'Z';                       ///< `Z`, `z`, `+` or `-`
    int zone_hour = 0, zone_minute = 0;

    std::chrono::year_month_day date() const {
        return {
            std::chrono::year(year),
            std::chrono::month(static_cast<unsigned>(month)),
            std::chrono::day(static_cast<unsigned>(day))};
    }
    /// A leap second is valid: the second after it.
    bool is_valid() const {
        return date().ok() && hour <= 23 && minute <= 59 && second <= 60 && zone_hour <= 23 &&
               zone_minute <= 59;
    }
    /// Of a valid one, without the fraction.
    std::chrono::sys_seconds seconds() const {
        const auto east = std::chrono::hours(zone_hour) + std::chrono::minutes(zone_minute);
        const std::chrono::sys_seconds local =
            std::chrono::sys_days(date()) + std::chrono::hours(hour) +
            std::chrono::minutes(minute) + std::chrono::seconds(second);
        return zone == '-' ? local + east : local - east;
    }
};

namespace detail {

/// Reads numbers of fixed length and single characters off the front of a text.
class time_scanner {
public:
    explicit time_scanner(std::string_view text) : rest_(text) {}

    char front() const { return rest_.empty() ? '\0' : rest_.front(); }
    bool at_end() const { return rest_.empty(); }
    char take() {
        const char c = front();
        rest_.remove_prefix(c == '\0' ? 0 : 1);
        return c;
    }
    bool number(std::size_t digits, int& out) {
        if (rest_.size() < digits || count_digits() < digits) {
            return false;
        }
        for (const char c : rest_.substr(0, digits)) {
            out = out * 10 + (c - '0');
        }
        rest_.remove_prefix(digits);
        return true;
    }
    bool fraction(std::chrono::nanoseconds& out) {
        const std::size_t digits = count_digits();
        std::int64_t unit = 100'000'000;
        for (const char c : rest_.substr(0, digits)) {
            out += std::chrono::nanoseconds(unit * (c - '0'));
            unit /= 10;
        }
        rest_.remove_prefix(digits);
        return digits > 0;
    }

private:
    std::size_t count_digits() const {
        return std::min(rest_.find_first_not_of("0123456789"), rest_.size());
    }

    std::string_view rest_;
};

}  // namespace detail

/// Nothing if `text` has not the form of a time.
inline std::optional<time_text> scan_time(std::string_view text) {
    time_text out;
    detail::time_scanner in(text);
    const bool date = in.number(4, out.year) && in.take() == '-' && in.number(2, out.month) &&
                      in.take() == '-' && in.number(2, out.day) && in.take() == 'T';
    const bool time = date && in.number(2, out.hour) && in.take() == ':' &&
                      in.number(2, out.minute) && in.take() == ':' && in.number(2, out.second);
    if (!time) {
        return std::nullopt;
    }
    if (in.front() == '.' || in.front() == ',') {
        out.point = in.take();
        if (!in.fraction(out.fraction)) {
            return std::nullopt;
        }
    }
    out.zone = in.take();
    const bool utc = out.zone == 'Z' || out.zone == 'z';
    const bool offset = (out.zone == '+' || out.zone == '-') && in.number(2, out.zone_hour) &&
                        in.take() == ':' && in.number(2, out.zone_minute);
    return (utc || offset) && in.at_end() ? std::optional(out) : std::nullopt;
}

/// `2006-01-02T15:04:05Z`, with `digits` of the fraction of a second, up to 9; what is below is cut
/// off. For years 0 to 9999.
template <class Duration>
std::string format_time(std::chrono::sys_time<Duration> time, int digits = 0) {
    const auto day = std::chrono::floor<std::chrono::days>(time);
    const auto second = std::chrono::floor<std::chrono::seconds>(time);
    const std::chrono::year_month_day date(day);
    const std::chrono::hh_mm_ss of_day(second - day);
    std::string out = fmt::format(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}",
        static_cast<int>(date.year()),
        static_cast<unsigned>(date.month()),
        static_cast<unsigned>(date.day()),
        of_day.hours().count(),
        of_day.minutes().count(),
        of_day.seconds().count()
    );
    if (digits > 0) {
        std::int64_t part = std::chrono::nanoseconds(time - second).count();
        for (int i = digits; i < 9; ++i) {
            part /= 10;
        }
        out += fmt::format(".{:0{}}", part, digits);
    }
    return out + 'Z';
}

}  // namespace signalbox::kubernetes
