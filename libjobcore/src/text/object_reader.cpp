// SPDX-License-Identifier: Apache-2.0
#include "text/object_reader.hpp"

#include "jobcore/strings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace signalbox::core::text {
namespace {

std::string join(std::span<const std::string_view> names) {
    return fmt::format("{}", fmt::join(names, ", "));
}

/// A value as far as a message shows it.
std::string shown(std::string_view text) {
    constexpr std::size_t most = 60;
    if (text.size() <= most) {
        return printable(text);
    }
    return printable(first_bytes(text, most)) + "...";
}

}  // namespace

std::string child_pointer(std::string_view pointer, std::string_view key) {
    return core::child_pointer(pointer, shown(key));
}

object_reader::object_reader(
    const json::value& object, std::string pointer, std::vector<request_error>& errors
)
    : object_(object.IsObject() ? &object : nullptr),
      pointer_(std::move(pointer)),
      errors_(&errors) {
    if (object_ == nullptr) {
        errors_->push_back({pointer_, "an object is expected"});
    }
}

void object_reader::fail(std::string_view key, std::string message) {
    errors_->push_back({child_pointer(pointer_, key), std::move(message)});
}

const json::value* object_reader::find(std::string_view key, need n) {
    asked_.push_back(key);
    if (object_ == nullptr) {
        return nullptr;
    }
    const auto found = object_->FindMember(json::value(json::ref(key)));
    if (found != object_->MemberEnd()) {
        return &found->value;
    }
    if (n == need::required) {
        fail(key, "missing");
    }
    return nullptr;
}

std::optional<std::string_view> object_reader::text(std::string_view key, need n) {
    const json::value* v = find(key, n);
    if (v == nullptr) {
        return std::nullopt;
    }
    if (!v->IsString()) {
        fail(key, "a text is expected");
        return std::nullopt;
    }
    return json::view(*v);
}

std::optional<std::int32_t> object_reader::number(
    std::string_view key, std::int32_t least, need n
) {
    const json::value* v = find(key, n);
    if (v == nullptr) {
        return std::nullopt;
    }
    if (!v->IsInt() || v->GetInt() < least) {
        fail(
            key,
            fmt::format(
                "a whole number from {} to {} is expected",
                least,
                std::numeric_limits<std::int32_t>::max()
            )
        );
        return std::nullopt;
    }
    return v->GetInt();
}

bool object_reader::flag(std::string_view key) {
    const json::value* v = find(key, need::optional);
    if (v != nullptr && !v->IsBool()) {
        fail(key, "true or false is expected");
        return false;
    }
    return v != nullptr && v->GetBool();
}

std::optional<instant> object_reader::time(std::string_view key, need n) {
    const auto written = text(key, n);
    if (!written) {
        return std::nullopt;
    }
    const auto t = parse_time(*written);
    if (!t) {
        fail(
            key,
            fmt::format("`{}` is no RFC 3339 time; one is 2026-01-31T12:00:00Z", shown(*written))
        );
    }
    return t;
}

const json::value* object_reader::object(std::string_view key, need n) {
    const json::value* v = find(key, n);
    if (v != nullptr && !v->IsObject()) {
        fail(key, "an object is expected");
        return nullptr;
    }
    return v;
}

std::span<const json::value> object_reader::array(std::string_view key) {
    const json::value* v = find(key, need::optional);
    if (v == nullptr) {
        return {};
    }
    if (!v->IsArray()) {
        fail(key, "an array is expected");
        return {};
    }
    return {v->Begin(), v->Size()};
}

std::optional<std::string_view> object_reader::choice(
    std::string_view key, std::span<const std::string_view> of, need n
) {
    const auto written = text(key, n);
    if (written && std::ranges::find(of, *written) == of.end()) {
        fail(key, fmt::format("`{}` is none of: {}", shown(*written), join(of)));
        return std::nullopt;
    }
    return written;
}

void object_reader::finish() {
    if (object_ == nullptr) {
        return;
    }
    std::vector<std::string_view> met;
    for (const auto& member : object_->GetObject()) {
        if (errors_->size() >= most_errors) {
            return;
        }
        const std::string_view key = json::view(member.name);
        if (std::ranges::find(asked_, key) == asked_.end()) {
            fail(key, fmt::format("unknown; there are: {}", join(asked_)));
        } else if (std::ranges::find(met, key) != met.end()) {
            fail(key, "given twice");
        } else {
            met.push_back(key);
        }
    }
}

}  // namespace signalbox::core::text
