// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace signalbox::op::pods {

/// The Binding that puts the pod on a node, as JSON.
std::string binding_json(
    std::string_view pod, std::string_view ns, std::string_view uid, std::string_view node
);

}  // namespace signalbox::op::pods
