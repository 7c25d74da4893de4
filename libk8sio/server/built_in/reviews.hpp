// SPDX-License-Identifier: Apache-2.0
//
// Reviews (authorization.k8s.io, authentication.k8s.io): kinds that are answered and never kept.
// This server checks no permissions: whoever it lets in may do everything.
#pragma once

#include "server/values/json.hpp"
#include "server/values/refusal.hpp"

namespace signalbox::k8sio::server::reviews {

// Each completes the object that was sent.
outcome<void> answer_access(json::value& review, json::arena& a);
outcome<void> answer_rules(json::value& review, json::arena& a);
outcome<void> answer_who(json::value& review, json::arena& a);

}  // namespace signalbox::k8sio::server::reviews
