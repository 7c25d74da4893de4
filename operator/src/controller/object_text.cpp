// SPDX-License-Identifier: Apache-2.0
#include "controller/object_text.hpp"

#include <rapidjson/document.h>
#include <rapidjson/pointer.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <utility>

namespace signalbox::op {

namespace {

constexpr unsigned parse_flags = rapidjson::kParseIterativeFlag;

void member(
    rapidjson::Writer<rapidjson::StringBuffer>& out, std::string_view key, std::string_view value
) {
    out.Key(key.data(), static_cast<rapidjson::SizeType>(key.size()));
    out.String(value.data(), static_cast<rapidjson::SizeType>(value.size()));
}

}  // namespace

std::string kept_members(std::string_view object_json, std::span<const std::string> pointers) {
    if (pointers.empty()) {
        return {};
    }
    rapidjson::Document object;
    object.Parse<parse_flags>(object_json.data(), object_json.size());
    rapidjson::StringBuffer buffer;
    rapidjson::Writer<rapidjson::StringBuffer> out(buffer);
    bool any = false;
    out.StartObject();
    for (const std::string& pointer : pointers) {
        const rapidjson::Value* value = rapidjson::Pointer("/status" + pointer).Get(object);
        if (value != nullptr) {
            any = true;
            out.Key(pointer.data(), static_cast<rapidjson::SizeType>(pointer.size()));
            value->Accept(out);
        }
    }
    out.EndObject();
    return any ? std::string(buffer.GetString(), buffer.GetSize()) : std::string();
}

namespace {

/// The status with what is kept put in.
std::string with_kept(const std::string& status, std::string_view kept) {
    rapidjson::Document whole;
    whole.Parse<parse_flags>(status.data(), status.size());
    rapidjson::Document members(&whole.GetAllocator());
    members.Parse<parse_flags>(kept.data(), kept.size());
    for (auto& member : members.GetObject()) {
        rapidjson::Pointer(member.name.GetString()).Set(whole, member.value);
    }
    rapidjson::StringBuffer buffer;
    rapidjson::Writer<rapidjson::StringBuffer> out(buffer);
    whole.Accept(out);
    return {buffer.GetString(), buffer.GetSize()};
}

}  // namespace

std::string status_body(
    const core::job_object& job, const core::job_status& status, std::string_view kept
) {
    rapidjson::StringBuffer buffer;
    rapidjson::Writer<rapidjson::StringBuffer> out(buffer);
    out.StartObject();
    member(out, "apiVersion", core::api_version);
    member(out, "kind", core::to_string(job.meta.kind));
    out.Key("metadata");
    out.StartObject();
    member(out, "name", job.meta.name);
    member(out, "namespace", job.meta.ns);
    member(out, "uid", job.meta.uid);
    member(out, "resourceVersion", job.meta.resource_version);
    out.EndObject();
    out.Key("status");
    std::string text = core::format_status(status, job.meta.kind);
    if (!kept.empty()) {
        text = with_kept(text, kept);
    }
    out.RawValue(text.data(), text.size(), rapidjson::kObjectType);
    out.EndObject();
    return {buffer.GetString(), buffer.GetSize()};
}

namespace {

/// Recursion is as deep as the patch, which is ours.
bool keeps(const rapidjson::Value& patch, const rapidjson::Value* object) {
    if (!patch.IsObject()) {
        return object != nullptr && *object == patch;
    }
    return object != nullptr && object->IsObject() &&
           std::ranges::all_of(patch.GetObject(), [&](const auto& m) {
               const auto found = object->FindMember(m.name);
               return keeps(m.value, found == object->MemberEnd() ? nullptr : &found->value);
           });
}

}  // namespace

bool keeps_spec(std::string_view patch, std::string_view object) {
    rapidjson::Document wanted;
    rapidjson::Document live;
    wanted.Parse<parse_flags>(patch.data(), patch.size());
    live.Parse<parse_flags>(object.data(), object.size());
    const rapidjson::Pointer spec("/spec");
    const rapidjson::Value* part = spec.Get(wanted);
    return part == nullptr || keeps(*part, spec.Get(live));
}

}  // namespace signalbox::op
