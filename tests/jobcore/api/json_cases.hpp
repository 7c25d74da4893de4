// SPDX-License-Identifier: Apache-2.0
//
// Reads rules.json: objects made from one base by setting and removing what JSON pointers name. The
// same file is run against a real API server by tests/envtest/test_crd_rules.py.
#pragma once

#include "json/json.hpp"
#include "signalbox_test/source_files.hpp"

#include <rapidjson/pointer.h>

#include <stdexcept>
#include <string>

namespace signalbox::test {

namespace json = core::json;

/// `file` as source_text() takes it.
inline json::document read_json(const std::string& file) {
    json::document document;
    json::parse(document, source_text(file));
    if (document.HasParseError()) {
        throw std::runtime_error("no JSON: " + file);
    }
    return document;
}

/// Replaces `{"$repeat": x, "times": n}`: a text or a one-item list n times over. `"number":
/// "type"` appends its place to that member of each item.
inline void expand(json::value& v, json::allocator& a) {
    if (v.IsArray()) {
        for (auto& item : v.GetArray()) {
            expand(item, a);
        }
        return;
    }
    if (!v.IsObject()) {
        return;
    }
    if (!v.HasMember("$repeat")) {
        for (auto& member : v.GetObject()) {
            expand(member.value, a);
        }
        return;
    }
    const auto times = v["times"].GetInt();
    if (v["$repeat"].IsString()) {
        std::string text;
        for (int i = 0; i < times; ++i) {
            text += v["$repeat"].GetString();
        }
        v = json::copy_string(text, a);
        return;
    }
    json::value list(rapidjson::kArrayType);
    for (int i = 0; i < times; ++i) {
        json::value item(v["$repeat"][0], a);
        expand(item, a);
        if (v.HasMember("number")) {
            json::value& member = item[v["number"].GetString()];
            member = json::copy_string(member.GetString() + std::to_string(i), a);
        }
        list.PushBack(item, a);
    }
    v = list;
}

/// The base with the changes of `set` (an object of pointers and values) and `removed` (pointers).
inline std::string made_from(
    const json::value& base, const json::value* set, const json::value* removed
) {
    json::document object;
    object.CopyFrom(base, object.GetAllocator());
    if (set != nullptr) {
        for (const auto& change : set->GetObject()) {
            json::value changed(change.value, object.GetAllocator());
            expand(changed, object.GetAllocator());
            rapidjson::Pointer(change.name.GetString()).Set(object, changed);
        }
    }
    if (removed != nullptr) {
        for (const auto& pointer : removed->GetArray()) {
            if (!rapidjson::Pointer(pointer.GetString()).Erase(object)) {
                throw std::runtime_error(
                    std::string("nothing to remove at ") + pointer.GetString()
                );
            }
        }
    }
    return json::to_text(object);
}

}  // namespace signalbox::test
