// SPDX-License-Identifier: Apache-2.0
//
// The request of server-side apply, and what its refusal says (REQUIREMENTS.md X6).
#pragma once

#include "k8sio/apply_options.hpp"
#include "k8sio/error.hpp"
#include "k8sio/http.hpp"
#include "k8sio/resource.hpp"

#include <string_view>
#include <vector>

namespace signalbox::k8sio::protocol {

/// Without a body. invalid_argument without a manager, and as object_request().
result<http_request> apply_request(
    const resource_type& type,
    std::string_view ns,
    std::string_view name,
    const apply_options& options
);

/// The conflicts that a refused apply names; none if it was refused for another reason.
std::vector<apply_conflict> read_conflicts(const api_error& error);

}  // namespace signalbox::k8sio::protocol
