// SPDX-License-Identifier: Apache-2.0
//
// A check of objects of a custom kind in C++, as an admission webhook is elsewhere.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::k8sio::server {

/// One reason why an object is refused (answer 422).
struct field_error {
    std::string field;  ///< e.g. `spec.replicaSpecs[0].type` or a JSON pointer
    std::string message;
};

/// What is wrong with an object of a custom kind, if anything: it is asked behind the schema, on
/// create and on update, also of the status. Both are JSON; `before` is empty on create.
///
/// Lifetimes: both texts are valid during the call. What it refers to must outlive the server.
/// Thread: that of the server, which it must not call.
using validator =
    std::function<std::vector<field_error>(std::string_view before, std::string_view after)>;

}  // namespace signalbox::k8sio::server
