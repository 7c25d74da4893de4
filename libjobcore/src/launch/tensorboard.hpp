// SPDX-License-Identifier: Apache-2.0
//
// TensorBoard of a job: the object of its own kind where the server serves it, else a Deployment
// and a Service of ours (BEHAVIOUR.md 9.1, LAUNCH.md 8.5).
#pragma once

#include "launch/compiler.hpp"

namespace signalbox::core::launch {

/// Appends all three to `plan.companions` and prepares their specifications;
/// `tensorboard_spec` is the job's, as JSON. Does nothing if that is empty. The types must have
/// been compiled: our pod takes after the deciding one.
void plan_tensorboard(compile_context& ctx, const std::string& tensorboard_spec);

}  // namespace signalbox::core::launch
