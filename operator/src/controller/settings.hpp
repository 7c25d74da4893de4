// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "controller/options.hpp"
#include "jobcore/policy.hpp"

#include <spdlog/logger.h>

#include <memory>
#include <string>

namespace signalbox::op {

/// What a controller of one namespace, or of all, was told at its start. Nothing changes it.
struct settings {
    core::policy rules;
    controller_options options;
    std::string ns;                       ///< that is looked after; empty: all
    std::shared_ptr<spdlog::logger> log;  ///< never null
};

}  // namespace signalbox::op
