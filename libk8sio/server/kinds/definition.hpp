// SPDX-License-Identifier: Apache-2.0
//
// A CustomResourceDefinition as rows of kinds, and what makes one that cannot be served.
#pragma once

#include "server/kinds/kind_info.hpp"
#include "server/values/json.hpp"
#include "server/values/problems.hpp"

namespace signalbox::k8sio::server {

/// The kind that a definition makes of one of its versions. Both are valid.
kind_info kind_of_version(const json::value& definition, const json::value& version);

/// Names that follow from others.
void default_definition(json::value& crd, json::arena& a);
/// Why a definition could not be served.
void validate_definition(const json::value& crd, problems& list);

/// That the fields behind the scale subresource are whole numbers, whatever the schema says.
void validate_scale(const scale_paths& paths, const json::value& object, problems& list);

}  // namespace signalbox::k8sio::server
