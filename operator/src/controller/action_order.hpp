// SPDX-License-Identifier: Apache-2.0
//
// What an action of a decision asks of the server, in the words of the library's writer.
#pragma once

#include "controller/settings.hpp"
#include "k8sio/object_write.hpp"

#include <optional>

namespace signalbox::op {

/// The order of `a`, an action of `made`, with the object rendered and its keys made. Nothing, with
/// a line in the log, if there are no keys.
std::optional<k8sio::write_order> order_of(
    const settings& config,
    const core::job_object& decided,
    const core::decision& made,
    const core::action& a
);

}  // namespace signalbox::op
