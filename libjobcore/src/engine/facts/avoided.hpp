// SPDX-License-Identifier: Apache-2.0
//
// Nodes that a rule has found bad, and that later pods avoid (BEHAVIOUR.md 13.6).
#pragma once

#include "engine/facts/inputs.hpp"

#include <string>
#include <string_view>

namespace signalbox::core::engine {

/// The user says by an annotation that the node is good.
bool is_forgiven(const job_meta& meta, std::string_view node);

/// What pods that are made now avoid, by the status in which the record is.
node_avoidance avoided_now(const inputs& in, const job_status& status);

/// `node-3 and node-7`; empty if none is avoided.
std::string describe_avoided(const inputs& in, const job_status& status);

/// Takes the node into the record, and what has expired or was forgiven out of it. Nothing for an
/// empty name.
void note_bad_node(
    const inputs& in, std::string_view node, std::string_view rule, job_status& status
);

}  // namespace signalbox::core::engine
