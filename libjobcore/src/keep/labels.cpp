// SPDX-License-Identifier: Apache-2.0
#include "jobcore/labels.hpp"

#include "jobcore/strings.hpp"
#include "json/json.hpp"
#include "render/labels.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

namespace signalbox::core {

namespace {

/// Labels of BEHAVIOUR.md 1.6 that may be put back.
constexpr std::array restorable{
    label::owner_name,
    label::owner_kind,
    label::component,
    label::replica_type,
    label::replica_index,
    label::job_role,
    label::job_uid,
    label::managed_by,
};

bool is_restorable(std::string_view name) {
    return std::ranges::find(restorable, name) != restorable.end();
}

const json::value* labels_of(const json::document& object) {
    const json::value* labels = json::find(object, "metadata", "labels");
    return labels != nullptr && labels->IsObject() ? labels : nullptr;
}

/// Those that `wanted` has and `live` has not, or with another value; other than text never is one.
std::vector<std::pair<std::string, std::string>> missing_labels(
    std::string_view wanted, std::string_view live
) {
    json::document wanted_object;
    json::document live_object;
    json::parse(wanted_object, wanted);
    json::parse(live_object, live);
    std::vector<std::pair<std::string, std::string>> out;
    const json::value* ours = labels_of(wanted_object);
    if (ours == nullptr) {
        return out;
    }
    std::map<std::string_view, const json::value*> by_name;
    if (const json::value* theirs = labels_of(live_object)) {
        for (const auto& label : theirs->GetObject()) {
            by_name.emplace(json::view(label.name), &label.value);
        }
    }
    for (const auto& label : ours->GetObject()) {
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
    auto missing = missing_labels(wanted, live);
    std::erase_if(missing, [](const auto& label) { return !is_restorable(label.first); });
    if (missing.empty()) {
        return std::nullopt;
    }
    std::string labels;
    for (const auto& [name, value] : missing) {
        labels += (labels.empty() ? "" : ",") + json_string(name) + ':' + json_string(value);
    }
    return R"({"metadata":{"labels":{)" + labels + "}}}";
}

std::vector<std::string> lost_labels(std::string_view wanted, std::string_view live) {
    std::vector<std::string> out;
    for (auto& [name, value] : missing_labels(wanted, live)) {
        if (name == label::attempt || name == label::round || is_restorable(name)) {
            out.push_back(std::move(name));
        }
    }
    return out;
}

}  // namespace signalbox::core
