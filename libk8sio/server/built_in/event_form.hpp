// SPDX-License-Identifier: Apache-2.0
//
// Events have two forms of the same objects: v1, which is kept, and events.k8s.io/v1.
#pragma once

#include "server/values/json.hpp"
#include "server/values/problems.hpp"

namespace signalbox::k8sio::server::event_form {

/// From events.k8s.io/v1 to v1, in place; what is no field of the former is dropped.
void to_stored(json::value& event, json::arena& a);
/// The reverse.
void from_stored(json::value& event, json::arena& a);
// What is asked of events that are written in the newer form alone. Both take the form that is
// kept.
void validate(const json::value& event, problems& list);
/// Only the series may change.
void validate_update(const json::value& before, const json::value& after, problems& list);

}  // namespace signalbox::k8sio::server::event_form
