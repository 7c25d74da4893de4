// SPDX-License-Identifier: Apache-2.0
#include "pods/binding.hpp"

#include <jobcore/strings.hpp>

#include <fmt/format.h>

namespace signalbox::op::pods {

std::string binding_json(
    std::string_view pod, std::string_view ns, std::string_view uid, std::string_view node
) {
    return fmt::format(
        R"({{"apiVersion":"v1","kind":"Binding","metadata":{{"name":{},"namespace":{},"uid":{}}},)"
        R"("target":{{"apiVersion":"v1","kind":"Node","name":{}}}}})",
        core::json_string(pod),
        core::json_string(ns),
        core::json_string(uid),
        core::json_string(node)
    );
}

}  // namespace signalbox::op::pods
