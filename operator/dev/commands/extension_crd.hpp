// SPDX-License-Identifier: Apache-2.0
//
// Definitions of the kinds that not every cluster serves, for the embedded API server.
#pragma once

#include <jobcore/object_kind.hpp>

#include <string>

namespace signalbox::op::cli {

/// A CustomResourceDefinition of that kind, JSON, which takes whatever is in its objects.
std::string extension_crd(core::object_kind kind);

}  // namespace signalbox::op::cli
