// SPDX-License-Identifier: Apache-2.0
#include "kueue/workload.hpp"

#include "json/json.hpp"
#include "signalbox_test/jobcore_builders.hpp"

#include <algorithm>
#include <vector>

namespace signalbox::test {
namespace {

namespace json = core::json;

void merge(json::value& into, const json::value& patch, json::allocator& a) {
    if (!patch.IsObject()) {
        into.CopyFrom(patch, a);
        return;
    }
    if (!into.IsObject()) {
        into.SetObject();
    }
    for (const auto& [name, value] : patch.GetObject()) {
        if (value.IsNull()) {
            into.RemoveMember(name);
            continue;
        }
        if (!into.HasMember(name)) {
            into.AddMember(json::value(name, a), json::value(), a);
        }
        merge(into[name], value, a);
    }
}

std::string condition(
    const std::string& type,
    bool status,
    const std::string& reason,
    const std::string& message,
    core::instant at
) {
    return R"({"type":")" + type + R"(","status":")" + (status ? "True" : "False") +
           R"(","reason":")" + reason + R"(","message":)" + quoted(message) +
           R"(,"lastTransitionTime":")" + core::format_time(at) + R"("})";
}

std::string status_of(const json::value& workload, std::string_view type) {
    const json::value* list = json::find(workload, "status", "conditions");
    if (list != nullptr) {
        for (const json::value& c : list->GetArray()) {
            if (json::string_or_empty(c, "type") == type) {
                return std::string(json::string_or_empty(c, "status"));
            }
        }
    }
    return {};
}

/// The object with other conditions put in.
std::string with_conditions(const std::string& object, const std::vector<std::string>& others) {
    json::document document;
    json::parse(document, object);
    std::string out;
    const auto type_of = [](const std::string& text) {
        json::document c;
        json::parse(c, text);
        return std::string(json::string_or_empty(c, "type"));
    };
    if (const json::value* list = json::find(document, "status", "conditions")) {
        for (const json::value& c : list->GetArray()) {
            const bool replaced = std::ranges::any_of(others, [&](const std::string& other) {
                return type_of(other) == json::string_or_empty(c, "type");
            });
            out += replaced ? "" : (out.empty() ? "" : ",") + json::to_text(c);
        }
    }
    for (const std::string& other : others) {
        out += (out.empty() ? "" : ",") + other;
    }
    return merged(object, R"({"status":{"conditions":[)" + out + "]}}");
}

int reclaimed_of(const json::value& workload, std::string_view name) {
    if (const json::value* list = json::find(workload, "status", "reclaimablePods")) {
        for (const json::value& r : list->GetArray()) {
            if (json::string_or_empty(r, "name") == name) {
                return json::find(r, "count")->GetInt();
            }
        }
    }
    return 0;
}

std::string objection_to_reclaimed(
    const json::value& before, const json::value& after, bool reserved
) {
    for (const json::value& set : after["spec"]["podSets"].GetArray()) {
        const auto name = json::string_or_empty(set, "name");
        const int now = reclaimed_of(after, name);
        if (reserved && now < reclaimed_of(before, name)) {
            return "403: reclaimablePods fall while quota is reserved";
        }
        if (!reserved && now > 0) {
            return "what was given back outlives the release";
        }
    }
    return {};
}

}  // namespace

std::string merged(const std::string& object, std::string_view patch) {
    json::document document, change;
    json::parse(document, object);
    json::parse(change, patch);
    merge(document, change, document.GetAllocator());
    return json::to_text(document);
}

std::optional<std::string> patched(
    const std::string& object, std::string_view body, std::string_view subresource
) {
    json::document before, patch;
    json::parse(before, object);
    json::parse(patch, body);
    const json::value* version = json::find(patch, "metadata", "resourceVersion");
    if (version != nullptr && *version != before["metadata"]["resourceVersion"]) {
        return std::nullopt;
    }
    // Each of both takes its own part of the object alone.
    const char* part = subresource.empty() ? "spec" : "status";
    const json::value* change = json::find(patch, part);
    return change == nullptr
               ? object
               : merged(
                     object, R"({")" + std::string(part) + R"(":)" + json::to_text(*change) + "}"
                 );
}

namespace workload {

std::string with_quota(
    const std::string& object,
    const counts& given,
    const std::string& flavor,
    bool admitted,
    core::instant at
) {
    json::document document;
    json::parse(document, object);
    std::string sets;
    for (const json::value& set : document["spec"]["podSets"].GetArray()) {
        const std::string name(json::string_or_empty(set, "name"));
        const auto count = given.find(name);
        sets += std::string(sets.empty() ? "" : ",") + R"({"name":")" + name +
                R"(","flavors":{"cpu":")" + flavor + R"("},"count":)" +
                std::to_string(count == given.end() ? set["count"].GetInt() : count->second) + "}";
    }
    const std::string checks =
        admitted ? "null" : R"([{"name":"nodes","state":"Pending","message":"nodes are made"}])";
    const std::string with_admission = merged(
        object,
        R"({"status":{"admissionChecks":)" + checks +
            R"(,"admission":{"clusterQueue":"c","podSetAssignments":[)" + sets + "]}}}"
    );
    std::vector<std::string> conditions{
        condition("QuotaReserved", true, "QuotaReserved", "", at),
        condition("Evicted", false, "QuotaReserved", "", at)};
    if (admitted) {
        conditions.push_back(condition("Admitted", true, "Admitted", "", at));
    }
    return with_conditions(with_admission, conditions);
}

std::string waiting(const std::string& object, const std::string& message, core::instant at) {
    return with_conditions(object, {condition("QuotaReserved", false, "Pending", message, at)});
}

std::string evicted(
    const std::string& object,
    const std::string& reason,
    const std::string& message,
    core::instant at
) {
    return with_conditions(object, {condition("Evicted", true, reason, message, at)});
}

std::string finished(const std::string& object, core::instant at) {
    return with_conditions(object, {condition("Finished", true, "Failed", "by hand", at)});
}

std::string activated(const std::string& object, bool active) {
    return merged(object, active ? R"({"spec":{"active":true}})" : R"({"spec":{"active":false}})");
}

std::string told(const std::string& object, std::string_view type) {
    json::document document;
    json::parse(document, object);
    return document.IsObject() ? status_of(document, type) : std::string();
}

bool is_active(const std::string& object) {
    json::document document;
    json::parse(document, object);
    const json::value* active = json::find(document, "spec", "active");
    return active == nullptr || !active->IsFalse();
}

wish asked(const std::string& object) {
    json::document document;
    json::parse(document, object);
    wish out;
    for (const json::value& set : document["spec"]["podSets"].GetArray()) {
        const json::value* least = json::find(set, "minCount");
        out.all += set["count"].GetInt();
        out.least += least == nullptr ? set["count"].GetInt() : least->GetInt();
    }
    return out;
}

int used(const std::string& object) {
    json::document document;
    json::parse(document, object);
    if (!document.IsObject() || status_of(document, "QuotaReserved") != "True" ||
        status_of(document, "Finished") == "True") {
        return 0;
    }
    int sum = 0;
    for (const json::value& set : document["status"]["admission"]["podSetAssignments"].GetArray()) {
        sum += set["count"].GetInt() - reclaimed_of(document, json::string_or_empty(set, "name"));
    }
    return sum;
}

std::string objection(const std::string& before, const std::string& after, bool of_status) {
    json::document was, is;
    json::parse(was, before);
    json::parse(is, after);
    const bool was_reserved = status_of(was, "QuotaReserved") == "True";
    const bool reserved = status_of(is, "QuotaReserved") == "True";
    if (!of_status && was_reserved) {
        return "403: the specification cannot change while quota is reserved";
    }
    if (reserved && !was_reserved) {
        return "Kueue would believe that it has given quota";
    }
    if (reserved != (json::find(is, "status", "admission") != nullptr)) {
        return "500: quota without an admission, or an admission without quota";
    }
    if (!reserved && status_of(is, "Admitted") == "True") {
        return "a Workload that is Admitted without quota never comes back";
    }
    if (!reserved && status_of(is, "PodsReady") == "True") {
        return "pods that were ready hide the next time-out";
    }
    return objection_to_reclaimed(was, is, reserved);
}

}  // namespace workload
}  // namespace signalbox::test
