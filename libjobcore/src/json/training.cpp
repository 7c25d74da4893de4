// SPDX-License-Identifier: Apache-2.0
#include "json/training.hpp"

namespace signalbox::core::json {
namespace {

std::optional<std::size_t> find_named(const value& containers, std::string_view name) {
    for (rapidjson::SizeType i = 0; !name.empty() && i < containers.Size(); ++i) {
        if (string_or_empty(containers[i], "name") == name) {
            return i;
        }
    }
    return std::nullopt;
}

}  // namespace

std::optional<training_choice> choose_training(
    const value& pod_template, std::span<const std::string_view> names
) {
    const value* containers = find(pod_template, "spec", "containers");
    if (containers == nullptr || !containers->IsArray() || containers->Empty()) {
        return std::nullopt;
    }
    for (const std::string_view name : names) {
        if (const auto index = find_named(*containers, name)) {
            return training_choice{*index};
        }
    }
    if (containers->Size() == 1) {
        return training_choice{};
    }
    const value* annotations = find(pod_template, "metadata", "annotations");
    const auto shown =
        annotations == nullptr
            ? std::string_view()
            : string_or_empty(*annotations, "kubectl.kubernetes.io/default-container");
    if (const auto index = find_named(*containers, shown)) {
        return training_choice{*index};
    }
    return training_choice{.certain = false};
}

}  // namespace signalbox::core::json
