// SPDX-License-Identifier: Apache-2.0
#include "protocol/http_date.hpp"

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

/// Reads `.123456` off the front of `text`: digits beyond the ninth are cut off. False: no digits.
bool take_fraction(std::string_view& text, std::chrono::nanoseconds& out) {
    out = std::chrono::nanoseconds{0};
    if (text.empty() || text.front() != '.') {
        return true;
    }
    text.remove_prefix(1);
    std::int64_t unit = 100'000'000;
    bool any = false;
    while (!text.empty() && text.front() >= '0' && text.front() <= '9') {
        out += std::chrono::nanoseconds{unit * (text.front() - '0')};
        unit /= 10;
        any = true;
        text.remove_prefix(1);
    }
    return any;
}

/// `Z`, `+01:00`, `-08:30`.
std::optional<std::chrono::minutes> read_offset(std::string_view text) {
    if (text == "Z") {
        return std::chrono::minutes{0};
    }
    if (text.size() != 6 || (text[0] != '+' && text[0] != '-') || text[3] != ':') {
        return std::nullopt;
    }
    const auto hours = read_number(text, 1, 2);
    const auto minutes = read_number(text, 4, 2);
    if (!hours || !minutes || *hours > 23 || *minutes > 59) {
        return std::nullopt;
    }
    const std::chrono::minutes offset = std::chrono::hours(*hours) + std::chrono::minutes(*minutes);
    return text[0] == '-' ? -offset : offset;
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
    if (text.size() < 20 || text[4] != '-' || text[7] != '-' || text[10] != 'T') {
        return std::nullopt;
    }
    const auto date =
        make_date(read_number(text, 0, 4), read_number(text, 5, 2), read_number(text, 8, 2));
    const auto of_day = read_time_of_day(text.substr(11, 8));
    std::string_view rest = text.substr(19);
    std::chrono::nanoseconds fraction{0};
    if (!date || !of_day || !take_fraction(rest, fraction)) {
        return std::nullopt;
    }
    const auto offset = read_offset(rest);
    if (!offset) {
        return std::nullopt;
    }
    if (date->year() < first_year) {
        return wall_time::min();
    }
    if (date->year() > last_year) {
        return wall_time::max();
    }
    return std::chrono::sys_days(*date) + *of_day + fraction - *offset;
}

std::string format_api_time(wall_time time) {
    const civil_time at(time);
    return fmt::format(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z",
        at.year,
        at.month,
        at.day,
        at.hour,
        at.minute,
        at.second
    );
}

std::string format_micro_time(wall_time time) {
    const auto part = time - std::chrono::floor<std::chrono::seconds>(time);
    std::string text = format_api_time(time);
    text.pop_back();
    const auto micros = std::chrono::floor<std::chrono::microseconds>(part);
    return text + fmt::format(".{:06}Z", micros.count());
}

}  // namespace signalbox::k8sio::protocol
