// SPDX-License-Identifier: Apache-2.0
//
// Request bodies in Kubernetes' protobuf envelope, for the few kinds that kubectl's imperative
// commands (`create namespace`, `create secret` ...) send that way. Answers are JSON always.
#pragma once

#include "server/values/json.hpp"

#include <string>
#include <string_view>

namespace signalbox::k8sio::server {

inline constexpr std::string_view protobuf_type = "application/vnd.kubernetes.protobuf";

/// `not_read`: a kind or a field that the tables do not have.
enum class protobuf_result { ok, not_read, malformed };

/// Decodes `body` into the JSON form of the object. `kind` gets the kind that it names, and where
/// a field is not read, which one.
protobuf_result decode_protobuf(
    std::string_view body, json::value& into, std::string& kind, json::arena& a
);

}  // namespace signalbox::k8sio::server
