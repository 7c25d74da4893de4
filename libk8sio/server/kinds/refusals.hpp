// SPDX-License-Identifier: Apache-2.0
//
// Answers that name a kind: refusals, and the Status of a success.
#pragma once

#include "server/kinds/kind_info.hpp"
#include "server/values/problems.hpp"
#include "server/values/refusal.hpp"

#include <string>
#include <string_view>

namespace signalbox::k8sio::server {

refusal not_found(const kind_info& kind, std::string_view name);
refusal already_exists(const kind_info& kind, std::string_view name);
refusal conflict(const kind_info& kind, std::string_view name, std::string_view detail);
/// The object changed since the version that the writer has seen (REQUIREMENTS.md X4).
refusal stale_write(const kind_info& kind, std::string_view name);
refusal invalid(const kind_info& kind, std::string_view name, problems& list);
refusal forbidden(const kind_info& kind, std::string_view name, std::string_view detail);

std::string success_text(const kind_info& kind, std::string_view name, std::string_view uid);

}  // namespace signalbox::k8sio::server
