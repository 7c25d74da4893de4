// SPDX-License-Identifier: Apache-2.0
//
// Refusals that no server has spoken, in the form of its own, and what a refusal is to the library
// of decisions and to the log.
#pragma once

#include "jobcore/carry_out.hpp"
#include "k8sio/error.hpp"

#include <spdlog/logger.h>

#include <optional>
#include <string_view>

namespace signalbox::op {

/// A pod whose labels of these names were changed by the admission (BEHAVIOUR.md 2.8).
k8sio::api_error changed_pod(std::string_view labels);
/// What the server took and dropped (BEHAVIOUR.md 12.12).
k8sio::api_error unkept_patch();
/// An object of a feature that is left out (BEHAVIOUR.md 2.11).
k8sio::api_error left_out(std::string_view feature);

/// That the server said no with this answer.
core::answer::refused refused_by(const k8sio::api_error& error);

/// Writes a line for the refusal of `a` that was `noted`; the first of several is a warning.
/// `error`: what the server said; nothing: the name is another owner's.
void log_refusal(
    spdlog::logger& log,
    const core::job_meta& job,
    const core::action& a,
    const core::refusal& noted,
    const std::optional<k8sio::api_error>& error
);

}  // namespace signalbox::op
