// SPDX-License-Identifier: Apache-2.0
#include "cli/stories/strict_reader.hpp"

#include "manifests/duration.hpp"

#include <jobcore/schema.hpp>
#include <jobcore/strings.hpp>

#include <fmt/format.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>

namespace signalbox::op::stories {

std::string_view text_of(const json_value& text) {
    return {text.GetString(), text.GetStringLength()};
}

std::string json_text(const json_value& value) {
    rapidjson::StringBuffer buffer;
    rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
    value.Accept(writer);
    return {buffer.GetString(), buffer.GetSize()};
}

rapidjson::Document parsed(std::string_view json) {
    rapidjson::Document out;
    out.Parse<rapidjson::kParseIterativeFlag | rapidjson::kParseFullPrecisionFlag>(
        json.data(), json.size()
    );
    if (out.HasParseError()) {
        out.SetNull();
    }
    return out;
}

std::string joined(std::span<const std::string_view> names) {
    return fmt::format("{}", fmt::join(names, ", "));
}

std::optional<core::milliseconds> span_of(const json_value& value) {
    const std::optional<duration> read = value.IsString()   ? parse_duration(text_of(value))
                                         : value.IsNumber() ? parse_duration(json_text(value))
                                                            : std::nullopt;
    if (!read || *read == never) {
        return std::nullopt;
    }
    return std::chrono::duration_cast<core::milliseconds>(*read);
}

void problems::add(std::string pointer, std::string message) {
    constexpr std::size_t most = 100;
    if (found_.size() < most) {
        const manifests::position where = source_->locate(pointer);
        found_.push_back({source_->file(), where, std::move(pointer), std::move(message)});
    }
}

std::string unknown_name(std::string_view what, std::span<const std::string_view> candidates) {
    const std::string_view near = core::nearest_name(what, candidates);
    return near.empty() ? fmt::format("`{}` is unknown; there are: {}", what, joined(candidates))
                        : fmt::format("`{}` is unknown; `{}` is meant?", what, near);
}

members::members(const json_value& value, std::string pointer, problems& into)
    : object_(value.IsObject() ? &value : nullptr), pointer_(std::move(pointer)), into_(&into) {
    if (object_ == nullptr) {
        into_->add(pointer_, "a mapping is expected");
    }
}

std::string members::at(std::string_view key) const {
    return core::child_pointer(pointer_, key);
}

void members::fail(std::string_view key, std::string message) {
    into_->add(at(key), std::move(message));
}

const json_value* members::find(std::string_view key) {
    known_.push_back(key);
    if (object_ == nullptr) {
        return nullptr;
    }
    const auto found =
        object_->FindMember(json_value(key.data(), static_cast<rapidjson::SizeType>(key.size())));
    return found == object_->MemberEnd() ? nullptr : &found->value;
}

const json_value* members::required(std::string_view key) {
    const json_value* found = find(key);
    if (found == nullptr && object_ != nullptr) {
        fail(key, "missing");
    }
    return found;
}

std::string members::text(std::string_view key) {
    const json_value* found = find(key);
    if (found == nullptr) {
        return {};
    }
    if (!found->IsString() || found->GetStringLength() == 0) {
        fail(key, "a text is expected");
        return {};
    }
    return std::string(text_of(*found));
}

std::optional<std::int32_t> members::count(std::string_view key, std::int32_t least) {
    const json_value* found = find(key);
    if (found == nullptr) {
        return std::nullopt;
    }
    if (!found->IsInt() || found->GetInt() < least) {
        fail(key, fmt::format("a whole number is expected, at least {}", least));
        return std::nullopt;
    }
    return found->GetInt();
}

std::optional<bool> members::flag(std::string_view key) {
    const json_value* found = find(key);
    if (found == nullptr) {
        return std::nullopt;
    }
    if (!found->IsBool()) {
        fail(key, "true or false is expected");
        return std::nullopt;
    }
    return found->GetBool();
}

std::optional<core::milliseconds> members::span(std::string_view key) {
    const json_value* found = find(key);
    if (found == nullptr) {
        return std::nullopt;
    }
    const auto read = span_of(*found);
    if (!read) {
        fail(key, "a span is expected: `300ms`, `10s`, `5m`, `2h`, or a number of seconds");
    }
    return read;
}

const json_value* members::mapping(std::string_view key) {
    const json_value* found = find(key);
    if (found != nullptr && !found->IsObject()) {
        fail(key, "a mapping is expected");
        return nullptr;
    }
    return found;
}

std::string members::choice(std::string_view key, std::span<const std::string_view> of) {
    std::string read = text(key);
    if (!read.empty() && std::ranges::find(of, read) == of.end()) {
        fail(key, unknown_name(read, of));
        read.clear();
    }
    return read;
}

std::vector<std::string> members::texts(std::string_view key) {
    const json_value* found = find(key);
    std::vector<std::string> out;
    if (found == nullptr) {
        return out;
    }
    if (found->IsString()) {
        out.emplace_back(text_of(*found));
        return out;
    }
    const bool list = found->IsArray() && std::all_of(found->Begin(), found->End(), [](auto& v) {
                          return v.IsString();
                      });
    if (!list) {
        fail(key, "a text or a list of texts is expected");
        return out;
    }
    for (const json_value& item : found->GetArray()) {
        out.emplace_back(text_of(item));
    }
    return out;
}

void members::finish() {
    if (object_ == nullptr) {
        return;
    }
    for (const auto& member : object_->GetObject()) {
        const std::string_view key = text_of(member.name);
        if (std::ranges::find(known_, key) == known_.end()) {
            fail(key, unknown_name(key, known_));
        }
    }
}

}  // namespace signalbox::op::stories
