// SPDX-License-Identifier: Apache-2.0
#include "server/meta.hpp"

#include "kubernetes/forms.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>

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

const std::string_view dns_1035_label_text =
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
    "alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', "
    "regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
std::uint64_t uid_sequence::next() {
    state_ += 0x9e3779b97f4a7c15ULL;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

std::string uid_sequence::next_uid() {
    const std::uint64_t a = next();
    const std::uint64_t b = next();
    return fmt::format(
        "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
        a >> 32,
        (a >> 16) & 0xffff,
        a & 0xfff,
        0x8000 | ((b >> 48) & 0x3fff),
        b & 0xffffffffffffULL
    );
}

std::string uid_sequence::next_suffix() {
    constexpr std::string_view alphabet = "bcdfghjklmnpqrstvwxz2456789";
    std::uint64_t bits = next();
    std::string out;
    for (int i = 0; i < 5; ++i) {
        out += alphabet[bits % alphabet.size()];
        bits /= alphabet.size();
    }
    return out;
}

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

std::string_view without_blanks(std::string_view text) {
    while (!text.empty() && text.front() == ' ') {
        text.remove_prefix(1);
    }
    while (!text.empty() && text.back() == ' ') {
        text.remove_suffix(1);
    }
    return text;
}

bool is_dns_1035_label(std::string_view name) {
    return kubernetes::dns_label(name).empty() && !kubernetes::is_digit(name.front());
}

bool is_label_value(std::string_view text) {
    return kubernetes::label_value(text).empty();
}

bool is_qualified_name(std::string_view name) {
    return kubernetes::qualified_name(name).empty();
}

void tidy_metadata(json::value& metadata, json::arena& a) {
    (void)a;
    json::remove(metadata, "managedFields");
    json::remove(metadata, "selfLink");
    json::drop_nulls(metadata);
    for (const char* key : {"labels", "annotations"}) {
        const json::value* m = json::find(metadata, key);
        if (m != nullptr && m->IsObject() && m->ObjectEmpty()) {
            json::remove(metadata, key);
        }
    }
    for (const char* key : {"finalizers", "ownerReferences"}) {
        const json::value* m = json::find(metadata, key);
        if (m != nullptr && m->IsArray() && m->Empty()) {
            json::remove(metadata, key);
        }
    }
    for (const char* key : {"resourceVersion", "uid", "generateName"}) {
        if (json::string_at(metadata, {key}).empty()) {
            json::remove(metadata, key);
        }
    }
}

void validate_labels(const json::value& labels, const std::string& field, problems& list) {
    if (!labels.IsObject()) {
        return;
    }
    for (const auto& m : labels.GetObject()) {
        complain(kubernetes::qualified_name(json::view(m.name)), field, json::view(m.name), list);
        if (!m.value.IsString()) {
            list.wrong_type(field + "." + json::text_of(m.name), m.value, "string");
        } else {
            complain(
                kubernetes::label_value(json::view(m.value)), field, json::view(m.value), list
            );
        }
    }
}

namespace {

void validate_name(const kind_info& kind, const json::value& metadata, problems& list) {
    const std::string_view name = json::string_at(metadata, {"name"});
    const auto check = [&](bool ok, std::string_view text) {
        if (!ok) {
            list.invalid("metadata.name", name, text);
        }
    };
    switch (kind.names) {
        case name_rule::dns_subdomain:
            complain(kubernetes::dns_subdomain(name), "metadata.name", name, list);
            break;
        case name_rule::dns_label:
            complain(kubernetes::dns_label(name), "metadata.name", name, list);
            break;
        case name_rule::dns_1035_label:
            check(name.size() <= 63, "must be no more than 63 characters");
            check(name.size() > 63 || is_dns_1035_label(name), dns_1035_label_text);
            break;
        case name_rule::path_segment:
            check(
                name != "." && name != ".." && name.find_first_of("/%") == std::string_view::npos,
                "may not be '.' or '..' or contain '/' or '%'"
            );
            break;
    }
}

}  // namespace

void validate_metadata(const kind_info& kind, const json::value& metadata, problems& list) {
    const std::string_view name = json::string_at(metadata, {"name"});
    if (name.empty()) {
        list.required("metadata.name", "name or generateName is required");
    } else {
        validate_name(kind, metadata, list);
    }
    if (const json::value* labels = json::find(metadata, "labels")) {
        validate_labels(*labels, "metadata.labels", list);
    }
    std::size_t annotation_bytes = 0;
    if (const json::value* m = json::find(metadata, "annotations"); m && m->IsObject()) {
        for (const auto& entry : m->GetObject()) {
            const std::string_view key = json::view(entry.name);
            complain(kubernetes::annotation_key(key), "metadata.annotations", key, list);
            annotation_bytes += entry.name.GetStringLength();
            annotation_bytes += entry.value.IsString() ? entry.value.GetStringLength() : 0;
        }
    }
    if (annotation_bytes > 256 * 1024) {  // REQUIREMENTS.md X14
        list.too_long("metadata.annotations", 256 * 1024);
    }
    bool controller = false;
    if (const json::value* owners = json::find(metadata, "ownerReferences");
        owners && owners->IsArray()) {
        for (rapidjson::SizeType i = 0; i < owners->Size(); ++i) {
            const json::value& o = (*owners)[i];
            for (const char* key : {"apiVersion", "kind", "name", "uid"}) {
                if (json::string_at(o, {key}).empty()) {
                    list.invalid(
                        fmt::format("metadata.ownerReferences[{}].{}", i, key),
                        "",
                        fmt::format("{} must not be empty", key)
                    );
                }
            }
            if (json::bool_at(o, {"controller"})) {
                if (controller) {
                    list.invalid(
                        "metadata.ownerReferences",
                        *owners,
                        "Only one reference can have Controller set to true."
                    );
                }
                controller = true;
            }
        }
    }
}

}  // namespace signalbox::k8sio::server
