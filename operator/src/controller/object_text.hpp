// SPDX-License-Identifier: Apache-2.0
//
// The few things the controller writes into JSON texts of objects by itself;
// everything else about objects is libjobcore's.
#pragma once

#include "jobcore/decide.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::op {

/// The body of a PUT on the status subresource: identity of the object held, so that the server
/// refuses it if there is a newer one (REQUIREMENTS.md X4), and the whole status, so that fields
/// that became absent go. The server takes nothing else from such a request.
/// `kept`: what kept_members() has found in that status, or an empty text.
std::string status_body(
    const core::job_object& job, const core::job_status& status, std::string_view kept = {}
);

/// The members of an object's status at these JSON pointers, as an object of pointer and value; an
/// empty text if there are none.
std::string kept_members(std::string_view object_json, std::span<const std::string> pointers);

/// Whether the object has the `spec` that the merge patch gives it. A server whose definitions do
/// not know a field drops it, and admission may take it away.
bool keeps_spec(std::string_view patch, std::string_view object);

}  // namespace signalbox::op
