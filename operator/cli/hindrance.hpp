// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <jobcore/status.hpp>

#include <string>

namespace signalbox::op::cli {

/// Why a pod of the job cannot start, in the words of the job's conditions (BEHAVIOUR.md 4.12,
/// 4.13): a container that waits for what does not come by itself, a pod that no node takes. Empty:
/// nothing is known to hinder it, or it has ended. May have several lines.
std::string hindrance(const core::job_status& status);

}  // namespace signalbox::op::cli
