// SPDX-License-Identifier: Apache-2.0
#include "protocol/http_date.hpp"

#include "kubernetes/times.hpp"

#include <fmt/format.h>

#include <charconv>

namespace signalbox::k8sio::protocol {

namespace {

std::optional<unsigned> read_number(std::string_view text, std::size_t at, std::size_t digits) {
    unsigned value = 0;
    const char* first = text.data() + at;
    const auto [end, error] = std::from_chars(first, first + digits, value);
    if (error != std::errc{} || end != first + digits) {
        return std::nullopt;
    }
    return value;
}

constexpr std::string_view weekdays = "SunMonTueWedThuFriSat";
constexpr std::string_view months = "JanFebMarAprMayJunJulAugSepOctNovDec";
constexpr std::size_t http_date_size = 29;

/// A time to the second, as texts have it.
struct civil_time {
    explicit civil_time(wall_time time) {
        const auto days = std::chrono::floor<std::chrono::days>(time);
        const std::chrono::year_month_day date(days);
        const std::chrono::hh_mm_ss of_day(std::chrono::floor<std::chrono::seconds>(time - days));
        year = static_cast<int>(date.year());
        month = static_cast<unsigned>(date.month());
        day = static_cast<unsigned>(date.day());
        hour = of_day.hours().count();
        minute = of_day.minutes().count();
        second = of_day.seconds().count();
    }

    int year;
    unsigned month, day;
    std::int64_t hour, minute, second;
};

/// What wall_time holds: nanoseconds since 1970 in 64 bits end in 1677 and 2262.
constexpr std::chrono::year first_year{1678};
constexpr std::chrono::year last_year{2261};

/// `00:00:00` to `23:59:59`.
std::optional<std::chrono::seconds> read_time_of_day(std::string_view text) {
    if (text.size() != 8 || text[2] != ':' || text[5] != ':') {
        return std::nullopt;
    }
    const auto hour = read_number(text, 0, 2);
    const auto minute = read_number(text, 3, 2);
    const auto second = read_number(text, 6, 2);
    if (!hour || !minute || !second || *hour > 23 || *minute > 59 || *second > 59) {
        return std::nullopt;
    }
    return std::chrono::hours(*hour) + std::chrono::minutes(*minute) +
           std::chrono::seconds(*second);
}

std::optional<std::chrono::year_month_day> make_date(
    std::optional<unsigned> year, std::optional<unsigned> month, std::optional<unsigned> day
) {
    if (!year || !month || !day) {
        return std::nullopt;
    }
    const std::chrono::year_month_day date(
        std::chrono::year(static_cast<int>(*year)),
        std::chrono::month(*month),
        std::chrono::day(*day)
    );
    return date.ok() ? std::optional(date) : std::nullopt;
}

}  // namespace

std::optional<wall_time> parse_http_date(std::string_view text) {
    if (text.size() != http_date_size) {
        return std::nullopt;
    }
    const auto month = months.find(text.substr(8, 3));
    const auto of_day = read_time_of_day(text.substr(17, 8));
    if (month == std::string_view::npos || month % 3 != 0 || !of_day) {
        return std::nullopt;
    }
    const auto date = make_date(
        read_number(text, 12, 4), static_cast<unsigned>(month / 3 + 1), read_number(text, 5, 2)
    );
    if (!date || date->year() < first_year || date->year() > last_year) {
        return std::nullopt;
    }
    const wall_time time = std::chrono::sys_days(*date) + *of_day;
    return format_http_date(time) == text ? std::optional(time) : std::nullopt;
}

std::string format_http_date(wall_time time) {
    const civil_time at(time);
    const std::chrono::weekday weekday(std::chrono::floor<std::chrono::days>(time));
    return fmt::format(
        "{}, {:02} {} {:04} {:02}:{:02}:{:02} GMT",
        weekdays.substr(weekday.c_encoding() * 3, 3),
        at.day,
        months.substr((at.month - 1) * 3, 3),
        at.year,
        at.hour,
        at.minute,
        at.second
    );
}

std::optional<wall_time> parse_api_time(std::string_view text) {
    const auto time = kubernetes::scan_time(text);
    const bool strict =
        time && time->is_valid() && time->second < 60 && time->zone != 'z' && time->point != ',';
    if (!strict) {
        return std::nullopt;
    }
    if (time->date().year() < first_year) {
        return wall_time::min();
    }
    if (time->date().year() > last_year) {
        return wall_time::max();
    }
    return time->seconds() + time->fraction;
}

std::string format_api_time(wall_time time) {
    return kubernetes::format_time(time);
}

std::string format_micro_time(wall_time time) {
    return kubernetes::format_time(time, 6);
}

}  // namespace signalbox::k8sio::protocol
