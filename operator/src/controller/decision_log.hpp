// SPDX-License-Identifier: Apache-2.0
//
// What the log says of decisions.
#pragma once

#include "controller/job_table.hpp"
#include "controller/server_clock.hpp"
#include "controller/settings.hpp"
#include "jobcore/decide.hpp"

#include <spdlog/logger.h>

namespace signalbox::op {

/// A status was written. What has consequences for people is told always, counts and texts only to
/// who looks closer. `decided` has the status before.
void log_status(
    spdlog::logger& log, const core::job_object& decided, const core::job_status& written
);

/// What the decision does now: one line, by its first action; each action at level debug.
void log_work(
    const settings& config,
    const server_clock& clock,
    const job_entry& entry,
    const core::job_meta& job,
    const core::decision& decision
);

}  // namespace signalbox::op
