// SPDX-License-Identifier: Apache-2.0
#include "jobcore/labels.hpp"

#include "json/json.hpp"

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

namespace signalbox::core {

namespace {

void member(
    rapidjson::Writer<rapidjson::StringBuffer>& out, std::string_view key, std::string_view value
) {
    out.Key(key.data(), static_cast<rapidjson::SizeType>(key.size()));
    out.String(value.data(), static_cast<rapidjson::SizeType>(value.size()));
}

const json::value* labels_of(const json::document& object) {
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
    const json::value* wanted, const json::value* live
) {
    std::vector<std::pair<std::string_view, std::string_view>> out;
    if (wanted == nullptr) {
        return out;
    }
    std::map<std::string_view, const json::value*> by_name;
    if (live != nullptr) {
        for (const auto& label : live->GetObject()) {
            by_name.emplace(json::view(label.name), &label.value);
        }
    }
    for (const auto& label : wanted->GetObject()) {
        if (!label.value.IsString()) {
            continue;
        }
        const auto held = by_name.find(json::view(label.name));
        if (held == by_name.end() || *held->second != label.value) {
            out.emplace_back(json::view(label.name), json::view(label.value));
        }
    }
    return out;
}

}  // namespace

std::optional<std::string> label_patch(std::string_view wanted, std::string_view live) {
    json::document wanted_object;
    json::document live_object;
    json::parse(wanted_object, wanted);
    json::parse(live_object, live);
    const json::value* ours = labels_of(wanted_object);
    const json::value* theirs = labels_of(live_object);
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
    json::document wanted_object;
    json::document live_object;
    json::parse(wanted_object, wanted);
    json::parse(live_object, live);
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

}  // namespace signalbox::core
