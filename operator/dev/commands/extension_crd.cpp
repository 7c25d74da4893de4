// SPDX-License-Identifier: Apache-2.0
#include "commands/extension_crd.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace signalbox::op::cli {

std::string extension_crd(core::object_kind kind) {
    const std::string_view version = core::api_version_of(kind);
    const std::size_t slash = version.find('/');
    const std::string_view group = version.substr(0, slash);
    std::string singular(core::to_string(kind));
    std::ranges::transform(singular, singular.begin(), [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    return fmt::format(
        R"({{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",)"
        R"("metadata":{{"name":"{0}.{1}"}},"spec":{{"group":"{1}","scope":"Namespaced",)"
        R"("names":{{"plural":"{0}","singular":"{2}","kind":"{3}","listKind":"{3}List"}},)"
        R"("versions":[{{"name":"{4}","served":true,"storage":true,"schema":{{"openAPIV3Schema":)"
        R"({{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}}}}]}}}})",
        kind->plural,
        group,
        singular,
        core::to_string(kind),
        version.substr(slash + 1)
    );
}

}  // namespace signalbox::op::cli
