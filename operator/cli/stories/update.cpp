// SPDX-License-Identifier: Apache-2.0
#include "cli/stories/update.hpp"

#include "manifests/scalar.hpp"

#include <jobcore/strings.hpp>

#include <fmt/format.h>
#include <rapidjson/pointer.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>

namespace signalbox::op::stories {

namespace {

namespace fs = std::filesystem;

/// A part of a text.
struct extent {
    std::size_t begin = 0, end = 0;
};

/// A scalar that means this text without quotes, in a flow mapping too.
bool is_plain(std::string_view text) {
    const bool harmless = !text.empty() && std::ranges::all_of(text, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '-' || c == '_' || c == '.';
    });
    return harmless && text.front() != '-' &&
           manifests::resolve_plain(text).type == manifests::scalar_type::string;
}

/// In flow style, on one line.
std::string flow_yaml(const json_value& value) {
    if (value.IsString()) {
        const std::string_view text = text_of(value);
        return is_plain(text) ? std::string(text) : core::json_string(text);
    }
    std::vector<std::string> parts;
    if (value.IsArray()) {
        for (const json_value& item : value.GetArray()) {
            parts.push_back(flow_yaml(item));
        }
        return fmt::format("[{}]", fmt::join(parts, ", "));
    }
    if (value.IsObject()) {
        for (const auto& member : value.GetObject()) {
            parts.push_back(fmt::format("{}: {}", flow_yaml(member.name), flow_yaml(member.value)));
        }
        return fmt::format("{{{}}}", fmt::join(parts, ", "));
    }
    return json_text(value);
}

/// The end of what is quoted or in brackets, which begins at `at`; nothing if it does not end on
/// its line.
std::optional<std::size_t> closed(std::string_view line, std::size_t at) {
    std::string open;  // what closes what is open
    for (; at < line.size(); ++at) {
        const char c = line[at];
        const bool in_text = !open.empty() && (open.back() == '"' || open.back() == '\'');
        if (!open.empty() && c == open.back()) {
            open.pop_back();
        } else if (in_text) {
            at += open.back() == '"' && c == '\\' ? 1U : 0U;
        } else if (c == '"' || c == '\'') {
            open += c;
        } else if (c == '[' || c == '{') {
            open += c == '[' ? ']' : '}';
        }
        if (open.empty()) {
            return at + 1;
        }
    }
    return std::nullopt;
}

/// The value of the member whose key begins at `key`, on the same line.
std::optional<extent> value_behind(std::string_view text, std::size_t key) {
    const std::size_t line_end = std::min(text.find('\n', key), text.size());
    const std::string_view line = text.substr(0, line_end);
    std::size_t at = line.find(": ", key);
    if (at == std::string_view::npos) {
        return std::nullopt;
    }
    at = line.find_first_not_of(' ', at + 1);
    if (at == std::string_view::npos || line[at] == '#' || line[at] == '|' || line[at] == '>') {
        return std::nullopt;
    }
    if (line[at] == '"' || line[at] == '\'' || line[at] == '[' || line[at] == '{') {
        const auto end = closed(line, at);
        return end ? std::optional(extent{at, *end}) : std::nullopt;
    }
    std::size_t end = std::min({line.find(" #", at), line.find_first_of(",}]", at), line.size()});
    while (end > at && line[end - 1] == ' ') {
        --end;
    }
    return extent{at, end};
}

/// The text says so at the pointer.
bool says(
    const std::string& text,
    const std::string& file,
    const std::string& pointer,
    const json_value& value
) {
    const manifests::read_result read = manifests::read_text(text, file);
    if (!read.errors.empty() || read.objects.size() != 1) {
        return false;
    }
    const rapidjson::Document document = parsed(read.objects.front().json());
    const json_value* there = rapidjson::Pointer(pointer.data(), pointer.size()).Get(document);
    return there != nullptr && *there == value;
}

}  // namespace

updated_text with_found(
    std::string text, const std::string& file, std::span<const mismatch> wrong
) {
    updated_text out{std::move(text), {}, 0};
    for (const mismatch& each : wrong) {
        const manifests::read_result read = manifests::read_text(out.text, file);
        bool done = false;
        if (!each.found_json.empty() && read.objects.size() == 1) {
            const rapidjson::Document value = parsed(each.found_json);
            const auto where = read.objects.front().locate(each.pointer);
            const auto old = value_behind(out.text, manifests::offset_of(out.text, where));
            if (old) {
                std::string changed = out.text;
                changed.replace(old->begin, old->end - old->begin, flow_yaml(value));
                done = says(changed, file, each.pointer, value);
                out.text = done ? std::move(changed) : std::move(out.text);
            }
        }
        out.done += done ? 1U : 0U;
        if (!done) {
            out.left.push_back(each.pointer);
        }
    }
    return out;
}

std::string write_file(const std::string& path, const std::string& text) {
    std::error_code error;
    const fs::path whole = fs::canonical(path, error);
    const fs::path beside = whole.string() + ".new";
    {
        std::ofstream out(beside, std::ios::binary);
        out << text;
        out.close();
        if (error || !out) {
            return fmt::format("{}: cannot be written", path);
        }
    }
    fs::permissions(beside, fs::status(whole).permissions(), error);
    fs::rename(beside, whole, error);
    return error ? fmt::format("{}: cannot be written: {}", path, error.message()) : "";
}

}  // namespace signalbox::op::stories
