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

}  // namespace

std::optional<wall_time> parse_http_date(std::string_view text) {
    constexpr std::string_view months = "JanFebMarAprMayJunJulAugSepOctNovDec";
    if (text.size() != 29 || text.substr(25) != " GMT" || text[19] != ':' || text[22] != ':') {
        return std::nullopt;
    }
    const auto day = read_number(text, 5, 2);
    const auto month = months.find(text.substr(8, 3));
    const auto year = read_number(text, 12, 4);
    const auto hour = read_number(text, 17, 2);
    const auto minute = read_number(text, 20, 2);
    const auto second = read_number(text, 23, 2);
    if (!day || !year || !hour || !minute || !second || month == std::string_view::npos ||
        month % 3 != 0 || *hour > 23 || *minute > 59 || *second > 60) {
        return std::nullopt;
    }
    const std::chrono::year_month_day date(
        std::chrono::year(static_cast<int>(*year)),
        std::chrono::month(static_cast<unsigned>(month / 3 + 1)),
        std::chrono::day(*day)
    );
    if (!date.ok()) {
        return std::nullopt;
    }
    return std::chrono::sys_days(date) + std::chrono::hours(*hour) + std::chrono::minutes(*minute) +
           std::chrono::seconds(*second);
}

std::string format_api_time(wall_time time) {
    const auto days = std::chrono::floor<std::chrono::days>(time);
    const std::chrono::year_month_day date(days);
    const std::chrono::hh_mm_ss clock_time(std::chrono::floor<std::chrono::seconds>(time - days));
    return fmt::format(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z",
        static_cast<int>(date.year()),
        static_cast<unsigned>(date.month()),
        static_cast<unsigned>(date.day()),
        clock_time.hours().count(),
        clock_time.minutes().count(),
        clock_time.seconds().count()
    );
}

}  // namespace signalbox::k8sio::protocol
