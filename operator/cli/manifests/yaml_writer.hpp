// SPDX-License-Identifier: Apache-2.0
//
// Objects as YAML, in the form and order in which kubectl shows them. What is written is read back
// by kubectl, and by this program, as the same object.
#pragma once

#include <string>
#include <string_view>

namespace signalbox::op::manifests {

/// One JSON value as a YAML document without `---`, ending in a newline. The members apiVersion,
/// kind, metadata and spec of the object come first and status last; all else keeps its order. Text
/// that is no JSON gives an empty string.
std::string to_yaml(std::string_view json);

}  // namespace signalbox::op::manifests
