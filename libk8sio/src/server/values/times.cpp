// SPDX-License-Identifier: Apache-2.0
#include "server/values/times.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdint>

namespace signalbox::k8sio::server {
namespace {

using std::chrono::floor;
using std::chrono::seconds;

struct civil {
    int year;
    unsigned month, day, weekday, hour, minute, second;
};

civil to_civil(wall_time t) {
    const auto secs = floor<seconds>(t);
    const auto days = floor<std::chrono::days>(secs);
    const std::chrono::year_month_day date{days};
    const auto rest = static_cast<unsigned>((secs - days).count());
    return {
        static_cast<int>(date.year()),
        static_cast<unsigned>(date.month()),
        static_cast<unsigned>(date.day()),
        std::chrono::weekday{days}.c_encoding(),
        rest / 3600,
        rest / 60 % 60,
        rest % 60};
}

/// Reads `count` digits at `at`; false if there are none.
bool digits(std::string_view text, std::size_t at, std::size_t count, int& out) {
    if (text.size() < at + count) {
        return false;
    }
    out = 0;
    for (std::size_t i = at; i < at + count; ++i) {
        if (text[i] < '0' || text[i] > '9') {
            return false;
        }
        out = out * 10 + (text[i] - '0');
    }
    return true;
}

}  // namespace

std::string rfc3339(wall_time t) {
    const civil c = to_civil(t);
    return fmt::format(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", c.year, c.month, c.day, c.hour, c.minute, c.second
    );
}

std::string http_date(wall_time t) {
    static constexpr std::array<const char*, 7> days = {
        "Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    static constexpr std::array<const char*, 12> months = {
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    const civil c = to_civil(t);
    return fmt::format(
        "{}, {:02} {} {:04} {:02}:{:02}:{:02} GMT",
        days[c.weekday],
        c.day,
        months[c.month - 1],
        c.year,
        c.hour,
        c.minute,
        c.second
    );
}

bool parse_time(std::string_view text, wall_time& t) {
    int year = 0;
    int month = 0;
    int day = 0;
    int hour = 0;
    int minute = 0;
    int second = 0;
    if (!digits(text, 0, 4, year) || !digits(text, 5, 2, month) || !digits(text, 8, 2, day) ||
        !digits(text, 11, 2, hour) || !digits(text, 14, 2, minute) ||
        !digits(text, 17, 2, second)) {
        return false;
    }
    const std::chrono::year_month_day date{
        std::chrono::year{year},
        std::chrono::month{static_cast<unsigned>(month)},
        std::chrono::day{static_cast<unsigned>(day)}};
    if (!date.ok()) {
        return false;
    }
    auto secs = std::chrono::sys_days{date} + std::chrono::hours{hour} +
                std::chrono::minutes{minute} + seconds{second};
    std::size_t at = 19;
    if (at < text.size() && text[at] == '.') {
        ++at;
        while (at < text.size() && text[at] >= '0' && text[at] <= '9') {
            ++at;
        }
    }
    if (at >= text.size()) {
        return false;
    }
    if (text[at] == '+' || text[at] == '-') {
        int off_hours = 0;
        int off_minutes = 0;
        if (!digits(text, at + 1, 2, off_hours) || !digits(text, at + 4, 2, off_minutes)) {
            return false;
        }
        const auto offset = std::chrono::hours{off_hours} + std::chrono::minutes{off_minutes};
        secs += text[at] == '+' ? -offset : offset;
    } else if (text[at] != 'Z' && text[at] != 'z') {
        return false;
    }
    t = secs;
    return true;
}

std::string short_duration(std::chrono::seconds d) {
    // k8s.io/apimachinery/pkg/util/duration.HumanDuration.
    const std::int64_t s = d.count();
    const std::int64_t minutes = s / 60;
    const std::int64_t hours = s / 3600;
    const std::int64_t days = hours / 24;
    if (s < -1) {
        return "<invalid>";
    }
    if (s < 0) {
        return "0s";
    }
    if (s < 120) {
        return fmt::format("{}s", s);
    }
    if (minutes < 10) {
        return s % 60 == 0 ? fmt::format("{}m", minutes) : fmt::format("{}m{}s", minutes, s % 60);
    }
    if (minutes < 180) {
        return fmt::format("{}m", minutes);
    }
    if (hours < 8) {
        return minutes % 60 == 0 ? fmt::format("{}h", hours)
                                 : fmt::format("{}h{}m", hours, minutes % 60);
    }
    if (hours < 48) {
        return fmt::format("{}h", hours);
    }
    if (hours < 192) {
        return hours % 24 == 0 ? fmt::format("{}d", days) : fmt::format("{}d{}h", days, hours % 24);
    }
    if (days < 730) {
        return fmt::format("{}d", days);
    }
    return fmt::format("{}y{}d", days / 365, days % 365);
}

std::string age(std::string_view text, wall_time now) {
    wall_time t;
    if (!parse_time(text, t)) {
        return "<unknown>";
    }
    return short_duration(std::chrono::duration_cast<seconds>(now - t));
}

}  // namespace signalbox::k8sio::server
