// SPDX-License-Identifier: Apache-2.0
//
// Which pods have ended, whatever they stand for.
#pragma once

#include "engine/view/view.hpp"

#include <optional>
#include <string>

namespace signalbox::core::engine {

/// By its training container. Any pod of the job, of older attempts too.
bool has_ended(const inputs& in, const pod_record& pod);

/// It has ended, and not with exit code 0.
bool has_failed(const inputs& in, const pod_record& pod);

/// Its training container runs or has run.
bool has_started(const inputs& in, const pod_record& pod);

/// Where pods that run sshd stay after the end of the job, as its policy says: how many, which
/// field says so, and what they hold (BEHAVIOUR.md 5.13). Else nothing. `c.status` has the end.
std::optional<std::string> describe_left_workers(const context& c);

}  // namespace signalbox::core::engine
