// SPDX-License-Identifier: Apache-2.0
#include "controller/object_text.hpp"

#include <rapidjson/document.h>
#include <rapidjson/pointer.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

namespace signalbox::op {

namespace {

constexpr unsigned parse_flags = rapidjson::kParseIterativeFlag;

std::string_view view(const rapidjson::Value& v) {
    return {v.GetString(), v.GetStringLength()};
}

void member(
    rapidjson::Writer<rapidjson::StringBuffer>& out, std::string_view key, std::string_view value
) {
    out.Key(key.data(), static_cast<rapidjson::SizeType>(key.size()));
    out.String(value.data(), static_cast<rapidjson::SizeType>(value.size()));
}

const rapidjson::Value* labels_of(const rapidjson::Document& object) {
    if (!object.IsObject()) {
        return nullptr;
    }
    const auto metadata = object.FindMember("metadata");
    if (metadata == object.MemberEnd() || !metadata->value.IsObject()) {
        return nullptr;
    }
    const auto labels = metadata->value.FindMember("labels");
    const bool found = labels != metadata->value.MemberEnd() && labels->value.IsObject();
    return found ? &labels->value : nullptr;
}

/// Labels of BEHAVIOUR.md 1.6 that may be put back.
bool is_restorable(std::string_view label) {
    constexpr std::array ours{
        std::string_view("tensorstack.dev/owner-name"),
        std::string_view("tensorstack.dev/owner-kind"),
        std::string_view("tensorstack.dev/component"),
        std::string_view("replica-type"),
        std::string_view("replica-index"),
        std::string_view("job-role"),
        std::string_view("batch.tensorstack.dev/job-uid"),
        std::string_view("app.kubernetes.io/managed-by"),
    };
    for (const std::string_view name : ours) {
        if (name == label) {
            return true;
        }
    }
    return false;
}

/// Those that `wanted` has and `live` has not, or with another value; other than text never is one.
std::vector<std::pair<std::string_view, std::string_view>> missing_labels(
    const rapidjson::Value* wanted, const rapidjson::Value* live
) {
    std::vector<std::pair<std::string_view, std::string_view>> out;
    if (wanted == nullptr) {
        return out;
    }
    std::map<std::string_view, const rapidjson::Value*> by_name;
    if (live != nullptr) {
        for (const auto& label : live->GetObject()) {
            by_name.emplace(view(label.name), &label.value);
        }
    }
    for (const auto& label : wanted->GetObject()) {
        if (!label.value.IsString()) {
            continue;
        }
        const auto held = by_name.find(view(label.name));
        if (held == by_name.end() || *held->second != label.value) {
            out.emplace_back(view(label.name), view(label.value));
        }
    }
    return out;
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

std::optional<std::string> label_patch(std::string_view wanted, std::string_view live) {
    rapidjson::Document wanted_object;
    rapidjson::Document live_object;
    wanted_object.Parse<parse_flags>(wanted.data(), wanted.size());
    live_object.Parse<parse_flags>(live.data(), live.size());
    const rapidjson::Value* ours = labels_of(wanted_object);
    const rapidjson::Value* theirs = labels_of(live_object);
    auto missing = missing_labels(ours, theirs);
    std::erase_if(missing, [](const auto& label) { return !is_restorable(label.first); });
    if (missing.empty()) {
        return std::nullopt;
    }
    rapidjson::StringBuffer buffer;
    rapidjson::Writer<rapidjson::StringBuffer> out(buffer);
    out.StartObject();
    out.Key("metadata");
    out.StartObject();
    out.Key("labels");
    out.StartObject();
    for (const auto& [name, value] : missing) {
        member(out, name, value);
    }
    out.EndObject();
    out.EndObject();
    out.EndObject();
    return std::string(buffer.GetString(), buffer.GetSize());
}

std::vector<std::string> lost_labels(std::string_view wanted, std::string_view live) {
    rapidjson::Document wanted_object;
    rapidjson::Document live_object;
    wanted_object.Parse<parse_flags>(wanted.data(), wanted.size());
    live_object.Parse<parse_flags>(live.data(), live.size());
    std::vector<std::string> out;
    for (const auto& [name, value] :
         missing_labels(labels_of(wanted_object), labels_of(live_object))) {
        const bool of_place =
            name == "batch.tensorstack.dev/attempt" || name == "batch.tensorstack.dev/round";
        if (of_place || is_restorable(name)) {
            out.emplace_back(name);
        }
    }
    return out;
}

}  // namespace signalbox::op
