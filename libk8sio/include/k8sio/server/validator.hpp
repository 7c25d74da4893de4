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

/// Validator of a custom kind, called on the loop with objects as JSON; `before` is empty on
/// create. No error: accepted. It is what an admission webhook is elsewhere, and must not call the
/// server.
using validator =
    std::function<std::vector<field_error>(std::string_view before, std::string_view after)>;

}  // namespace signalbox::k8sio::server
