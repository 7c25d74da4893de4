// SPDX-License-Identifier: Apache-2.0
//
// What an admission of Kueue gives the pods of a job, and what of a pod Kueue is told. Takes any
// JSON.
#include "gang/kueue_parts.hpp"
#include "jobcore/strings.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace signalbox::core::gang::of_kueue {
namespace {

/// Bytes of a name or value.
constexpr std::size_t most_text = 1024;

std::vector<named_value> read_map(const json::value* map) {
    std::vector<named_value> out;
    if (map == nullptr || !map->IsObject()) {
        return out;
    }
    for (const auto& [name, value] : map->GetObject()) {
        if (value.IsString() && out.size() < most_marks) {
            out.push_back(
                {std::string(first_bytes(json::view(name), most_text)),
                 std::string(first_bytes(json::view(value), most_text))}
            );
        }
    }
    std::ranges::sort(out, {}, &named_value::name);
    return out;
}

std::vector<toleration> read_tolerations(const json::value* list) {
    std::vector<toleration> out;
    if (list == nullptr || !list->IsArray()) {
        return out;
    }
    for (const json::value& t : list->GetArray()) {
        const auto text = [&](std::string_view key) {
            return std::string(first_bytes(json::string_or_empty(t, key), most_text));
        };
        const json::value* seconds = json::find(t, "tolerationSeconds");
        if (t.IsObject() && out.size() < most_marks) {
            out.push_back(
                {text("key"),
                 text("operator"),
                 text("value"),
                 text("effect"),
                 seconds != nullptr && seconds->IsInt64() && seconds->GetInt64() >= 0
                     ? std::optional(seconds->GetInt64())
                     : std::nullopt}
            );
        }
    }
    return out;
}

void add_once(std::vector<named_value>& to, const std::vector<named_value>& more) {
    for (const named_value& v : more) {
        const bool known = std::ranges::find(to, v.name, &named_value::name) != to.end();
        if (!known && to.size() < most_marks) {
            to.push_back(v);
        }
    }
}

void add_once(std::vector<toleration>& to, const std::vector<toleration>& more) {
    for (const toleration& t : more) {
        if (std::ranges::find(to, t) == to.end() && to.size() < most_marks) {
            to.push_back(t);
        }
    }
}

void add_flavor(const object_reading& flavor, admitted_marks& to) {
    json::document document;
    json::parse(document, flavor.json);
    if (document.HasParseError()) {
        return;
    }
    add_once(to.node_selector, read_map(json::find(document, "spec", "nodeLabels")));
    add_once(to.tolerations, read_tolerations(json::find(document, "spec", "tolerations")));
}

}  // namespace

admitted_marks read_marks(const json::value& update) {
    return {
        read_map(json::find(update, "nodeSelector")),
        read_map(json::find(update, "labels")),
        read_map(json::find(update, "annotations")),
        read_tolerations(json::find(update, "tolerations"))};
}

std::vector<named_object> flavors_of(const quota_answer& says) {
    std::vector<named_object> out;
    for (const quota_answer::pod_set& set : says.sets) {
        for (const std::string& name : set.flavors) {
            if (std::ranges::find(out, name, &named_object::name) == out.end()) {
                out.push_back({object_kind(resource_flavor), name});
            }
        }
    }
    std::ranges::sort(out, {}, &named_object::name);
    return out;
}

admission_record admit(
    const quota_answer& says, std::string_view uid, std::span<const object_reading> read
) {
    admission_record out{std::string(uid), says.since, {}};
    for (const quota_answer::pod_set& set : says.sets) {
        admitted_type type{set.type, set.count, set.asked, {}};
        for (const std::string& name : set.flavors) {
            const auto found = std::ranges::find_if(read, [&](const object_reading& r) {
                return r.kind == object_kind(resource_flavor) && r.name == name;
            });
            if (found != read.end()) {
                add_flavor(*found, type.marks);
            }
        }
        add_once(type.marks.node_selector, set.marks.node_selector);
        add_once(type.marks.labels, set.marks.labels);
        add_once(type.marks.annotations, set.marks.annotations);
        add_once(type.marks.tolerations, set.marks.tolerations);
        out.types.push_back(std::move(type));
    }
    return out;
}

std::string template_of(const json::value& pod) {
    constexpr std::array spec_members{
        "nodeSelector",
        "affinity",
        "tolerations",
        "overhead",
        "runtimeClassName",
        "priorityClassName",
        "resources"};
    constexpr std::array container_members{"name", "resources", "restartPolicy"};
    json::document out(rapidjson::kObjectType);
    auto& a = out.GetAllocator();
    const auto copy = [&](const json::value& from, const auto& names) {
        json::value to(rapidjson::kObjectType);
        for (const char* name : names) {
            if (const json::value* v = json::find(from, name)) {
                to.AddMember(rapidjson::StringRef(name), json::value(*v, a), a);
            }
        }
        return to;
    };
    const json::value* from = json::find(pod, "spec");
    json::value spec =
        from == nullptr ? json::value(rapidjson::kObjectType) : copy(*from, spec_members);
    for (const char* list : {"containers", "initContainers"}) {
        const json::value* all = from == nullptr ? nullptr : json::find(*from, list);
        json::value reduced(rapidjson::kArrayType);
        if (all != nullptr && all->IsArray()) {
            for (const json::value& c : all->GetArray()) {
                reduced.PushBack(copy(c, container_members), a);
            }
        }
        if (!reduced.Empty()) {
            spec.AddMember(rapidjson::StringRef(list), std::move(reduced), a);
        }
    }
    spec.AddMember("restartPolicy", "Never", a);
    out.AddMember("spec", std::move(spec), a);
    return json::to_text(out);
}

}  // namespace signalbox::core::gang::of_kueue
