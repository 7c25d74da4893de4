// SPDX-License-Identifier: Apache-2.0
//
// What cells of several built-in kinds are made of.
#pragma once

#include "server/values/json.hpp"

#include <initializer_list>
#include <string>
#include <string_view>

namespace signalbox::k8sio::server::rules::cells {

using json::value;

inline constexpr std::string_view none_text = "<none>";

inline std::size_t size_at(const value& v, std::initializer_list<std::string_view> path) {
    const value* list = json::find_path(v, path);
    return list == nullptr    ? 0
           : list->IsArray()  ? list->Size()
           : list->IsObject() ? list->MemberCount()
                              : 0;
}

template <class Function>
void each(const value& v, std::initializer_list<std::string_view> path, Function f) {
    if (const value* list = json::find_path(v, path); list != nullptr && list->IsArray()) {
        for (const value& e : list->GetArray()) {
            f(e);
        }
    }
}

inline bool condition_is_true(const value& object, std::string_view type) {
    bool out = false;
    each(object, {"status", "conditions"}, [&](const value& c) {
        out = out ||
              (json::string_at(c, {"type"}) == type && json::string_at(c, {"status"}) == "True");
    });
    return out;
}

inline std::string first_text(std::string_view a, std::string_view b) {
    return std::string(a.empty() ? b : a);
}

/// The names of list elements, or whatever `key` says of them.
inline std::string joined(
    const value& v,
    std::initializer_list<std::string_view> path,
    std::string_view key,
    std::string_view between = ","
) {
    std::string out;
    each(v, path, [&](const value& e) {
        out += (out.empty() ? "" : std::string(between)) + std::string(json::string_at(e, {key}));
    });
    return out;
}

inline std::string text_or(std::string_view otherwise, std::string_view text) {
    return first_text(text, otherwise);
}

}  // namespace signalbox::k8sio::server::rules::cells
