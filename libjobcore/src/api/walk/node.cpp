// SPDX-License-Identifier: Apache-2.0
//
// Reading effective values from a walked tree.
#include "api/walk/walk.hpp"
#include "jobcore/strings.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

namespace signalbox::core::schema {

std::optional<std::int64_t> integral(const json::value& v) {
    if (v.IsInt64()) {
        return v.GetInt64();
    }
    constexpr double exact = 9007199254740992.0;  // 2^53
    if (v.IsDouble() && std::abs(v.GetDouble()) <= exact &&
        std::trunc(v.GetDouble()) == v.GetDouble()) {
        return static_cast<std::int64_t>(v.GetDouble());
    }
    return std::nullopt;
}

const node* node::find(std::string_view name) const {
    for (const node& member : members) {
        if (member.row->name == name) {
            return &member;
        }
    }
    return nullptr;
}

const node& node::operator[](std::string_view name) const {
    const node* member = find(name);
    if (member == nullptr) {
        // A name that is in no table is a mistake in this library, not in any input.
        std::abort();
    }
    return *member;
}

bool node::flag() const {
    return present() ? value->GetBool() : row->fallback == "true";
}

std::optional<std::int64_t> node::integer() const {
    if (present()) {
        return integral(*value);
    }
    return read_whole_number<std::int64_t>(row->fallback);
}

std::int32_t node::int32() const {
    return static_cast<std::int32_t>(integer().value_or(0));
}

std::string node::text() const {
    if (present() && value->IsNumber()) {
        return fmt::format("{}", *integral(*value));
    }
    if (present() && !json::view(*value).empty()) {
        return std::string(json::view(*value));
    }
    // The fallback is a JSON string without escapes.
    return row->fallback.empty() ? std::string()
                                 : std::string(row->fallback.substr(1, row->fallback.size() - 2));
}

std::vector<std::string> node::texts() const {
    std::vector<std::string> texts;
    if (present()) {
        for (const json::value& item : value->GetArray()) {
            texts.emplace_back(json::view(item));
        }
    }
    return texts;
}

std::vector<std::int64_t> node::integers() const {
    std::vector<std::int64_t> numbers;
    if (present()) {
        for (const json::value& item : value->GetArray()) {
            numbers.push_back(integral(item).value_or(0));
        }
    }
    return numbers;
}

std::optional<std::size_t> node::choice() const {
    const std::string chosen = text();
    for (std::size_t i = 0; i < row->values.size(); ++i) {
        if (row->values[i].name == chosen || (!chosen.empty() && row->values[i].alias == chosen)) {
            return i;
        }
    }
    return std::nullopt;
}

}  // namespace signalbox::core::schema
