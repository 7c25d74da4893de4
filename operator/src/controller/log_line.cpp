// SPDX-License-Identifier: Apache-2.0
#include "controller/log_line.hpp"

#include "jobcore/strings.hpp"

#include <jobcore/strings.hpp>

#include <algorithm>

namespace signalbox::op {

namespace {

// Control characters that ASCII has for this, and that no value keeps.
constexpr char before_field = '\x1e';
constexpr char before_value = '\x1f';

void append_without_separators(std::string& to, std::string_view text) {
    const std::size_t begin = to.size();
    to += text;
    std::replace_if(
        to.begin() + static_cast<std::ptrdiff_t>(begin),
        to.end(),
        [](char c) { return c == before_field || c == before_value; },
        ' '
    );
}

/// A word that is one at first sight.
bool is_plain(std::string_view value) {
    return !value.empty() && std::ranges::all_of(value, [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return byte > 0x20 && byte < 0x7F && c != '"' && c != '=' && c != '\\';
    });
}

}  // namespace

log_line::log_line(std::string_view message) {
    append_without_separators(payload_, message);
}

log_line& log_line::field(std::string_view key, std::string_view value) & {
    payload_ += before_field;
    payload_ += key;
    payload_ += before_value;
    append_without_separators(payload_, value);
    return *this;
}

log_line& log_line::job(const core::job_meta& meta) & {
    return field("job", meta.ns + "/" + meta.name).field("uid", meta.uid);
}

void log_line::write(spdlog::logger& to, spdlog::level::level_enum level) const {
    to.log(level, spdlog::string_view_t(payload_.data(), payload_.size()));
}

log_parts::log_parts(std::string_view payload) {
    message = payload.substr(0, payload.find(before_field));
    payload.remove_prefix(message.size());
    while (!payload.empty()) {
        payload.remove_prefix(1);
        const std::string_view one = payload.substr(0, payload.find(before_field));
        payload.remove_prefix(one.size());
        const std::size_t middle = std::min(one.find(before_value), one.size());
        fields.emplace_back(one.substr(0, middle), one.substr(std::min(middle + 1, one.size())));
    }
}

std::string log_text(std::string_view payload) {
    const log_parts parts(payload);
    std::string out = core::in_one_line(parts.message);
    for (const auto& [key, value] : parts.fields) {
        out += ' ';
        out += key;
        out += '=';
        if (is_plain(value)) {
            out += value;
        } else {
            core::append_printable_json_string(out, value);
        }
    }
    return out;
}

}  // namespace signalbox::op
