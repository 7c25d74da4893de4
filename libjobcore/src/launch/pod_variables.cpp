// SPDX-License-Identifier: Apache-2.0
#include "launch/pod_variables.hpp"

#include <string_view>

namespace signalbox::core::launch {
namespace {

using name_set = std::set<std::string, std::less<>>;

/// The text has `$(NAME)` for one of the names, as the kubelet reads it: `$$` stands for a dollar
/// sign, and a name goes to the next `)` (LAUNCH.md 1.5). Each character is read once.
bool refers_to(std::string_view text, const name_set& names) {
    for (auto at = text.find('$'); at < text.size(); at = text.find('$', at)) {
        if (text.substr(at, 2) != "$(") {
            at += 2;
            continue;
        }
        const auto end = text.find(')', at);
        if (end == std::string_view::npos) {
            return false;  // nor does a reference behind it end
        }
        if (names.contains(text.substr(at + 2, end - at - 2))) {
            return true;
        }
        at = end + 1;
    }
    return false;
}

}  // namespace

name_set pod_variables(const json::value& container) {
    name_set names;
    const json::value* env = json::find(container, "env");
    for (rapidjson::SizeType i = 0; env != nullptr && i < env->Size(); ++i) {
        const json::value& entry = (*env)[i];
        const auto name = json::string_or_empty(entry, "name");
        const bool of_the_pod = json::find(entry, "valueFrom", "fieldRef") != nullptr ||
                                json::find(entry, "valueFrom", "resourceFieldRef") != nullptr;
        // In order: a reference means the variable as it stands before.
        if (of_the_pod || refers_to(json::string_or_empty(entry, "value"), names)) {
            names.emplace(name);
        } else {
            names.erase(std::string(name));
        }
    }
    return names;
}

}  // namespace signalbox::core::launch
