// SPDX-License-Identifier: Apache-2.0
//
// Internal: the status of an object that is already parsed.
#pragma once

#include "jobcore/status.hpp"
#include "json/json.hpp"

namespace signalbox::core {

/// `status` is the value of `.status`; anything but an object gives an empty status.
job_status read_status(const json::value& status);

}  // namespace signalbox::core
