// SPDX-License-Identifier: Apache-2.0
//
// The patch formats: JSON merge patch (RFC 7386), JSON patch (RFC 6902), and the strategic merge
// patch of built-in kinds. Pure functions on JSON values.
#pragma once

#include "server/values/json.hpp"
#include "server/values/refusal.hpp"

#include <string>

namespace signalbox::k8sio::server {

void merge_patch(json::value& target, const json::value& patch, json::arena& a);

/// Refuses with 422, as the real server does, if an operation fails (a `test`, a missing path) or
/// copies too much, with 413 if there are too many of them (REQUIREMENTS.md H7).
outcome<void> json_patch(json::value& target, const json::value& patch, json::arena& a);

/// Lists are merged by the keys of a table in patch_strategic.cpp; the directives `$patch`,
/// `$deleteFromPrimitiveList`, `$setElementOrder` and `$retainKeys` are understood.
void strategic_merge_patch(json::value& target, const json::value& patch, json::arena& a);

/// Server-side apply without field managers: members are merged, lists merged by key, nothing is
/// removed (README.md).
void apply_merge(json::value& target, const json::value& wanted, json::arena& a);

}  // namespace signalbox::k8sio::server
