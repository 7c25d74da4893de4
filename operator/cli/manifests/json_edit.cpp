// SPDX-License-Identifier: Apache-2.0
#include "manifests/json_edit.hpp"

#include <rapidjson/document.h>
#include <rapidjson/pointer.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

namespace signalbox::op::manifests {

namespace {

using rapidjson::Document;
using rapidjson::Value;

constexpr unsigned edit_flags = rapidjson::kParseIterativeFlag | rapidjson::kParseFullPrecisionFlag;

bool parse(Document& into, std::string_view text) {
    into.Parse<edit_flags>(text.data(), text.size());
    return !into.HasParseError();
}

std::string to_text(const Value& v) {
    rapidjson::StringBuffer buffer;
    rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
    v.Accept(writer);
    return {buffer.GetString(), buffer.GetSize()};
}

// Recursive: patches come from this program and are shallow.
void merge(Value& target, const Value& patch, Document::AllocatorType& memory) {
    if (!patch.IsObject()) {
        target.CopyFrom(patch, memory);
        return;
    }
    if (!target.IsObject()) {
        target.SetObject();
    }
    for (const Value::Member& m : patch.GetObject()) {
        const auto it = target.FindMember(m.name);
        if (m.value.IsNull()) {
            if (it != target.MemberEnd()) {
                target.EraseMember(it);
            }
        } else if (it != target.MemberEnd()) {
            merge(it->value, m.value, memory);
        } else {
            Value made;
            merge(made, m.value, memory);
            target.AddMember(Value(m.name, memory), made, memory);
        }
    }
}

}  // namespace

std::string merge_patch(std::string_view target, std::string_view patch) {
    Document into;
    Document from;
    if (!parse(into, target) || !parse(from, patch)) {
        return std::string(target);
    }
    merge(into, from, into.GetAllocator());
    return to_text(into);
}

std::string without(std::string_view json, std::initializer_list<const char*> pointers) {
    Document d;
    if (!parse(d, json)) {
        return std::string(json);
    }
    for (const char* pointer : pointers) {
        rapidjson::Pointer(pointer).Erase(d);
    }
    return to_text(d);
}

std::string string_at(std::string_view json, const char* pointer) {
    Document d;
    const Value* found = parse(d, json) ? rapidjson::Pointer(pointer).Get(d) : nullptr;
    return found != nullptr && found->IsString()
               ? std::string(found->GetString(), found->GetStringLength())
               : std::string();
}

std::string with_string(std::string_view json, const char* pointer, std::string_view value) {
    Document d;
    if (!parse(d, json)) {
        return std::string(json);
    }
    Value text(value.data(), static_cast<rapidjson::SizeType>(value.size()), d.GetAllocator());
    rapidjson::Pointer(pointer).Set(d, text);
    return to_text(d);
}

std::string with_value(std::string_view json, const char* pointer, std::string_view value_json) {
    Document d;
    Document value;
    if (!parse(d, json) || !parse(value, value_json)) {
        return std::string(json);
    }
    Value copy(value, d.GetAllocator());
    rapidjson::Pointer(pointer).Set(d, copy);
    return to_text(d);
}

}  // namespace signalbox::op::manifests
