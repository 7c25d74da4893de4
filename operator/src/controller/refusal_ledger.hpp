// SPDX-License-Identifier: Apache-2.0
//
// Creations and repairs of one job's children that the server refused (BEHAVIOUR.md 12.5). In
// memory only: after a restart the first try is refused again, and that is all there is to know.
#pragma once

#include "jobcore/decide.hpp"
#include "k8sio/error.hpp"

#include <span>
#include <string_view>
#include <vector>

namespace signalbox::op {

class refusal_ledger {
public:
    /// Notes that the server refused what `a` asks for; a repeated refusal is counted.
    /// Gives the entry, valid until the next change.
    const core::refusal& note(
        const core::action& a, const k8sio::api_error& error, core::instant now
    );
    /// The name is taken by an object of another owner (BEHAVIOUR.md 1.8).
    const core::refusal& note_foreign(const core::action& a, core::instant now);
    /// The action succeeded.
    void settle(const core::action& a);
    /// Drops refusals whose action this decision no longer asks for. One that waits for its next
    /// try is still asked for (action::not_before).
    void prune(const core::decision& latest);

    std::span<const core::refusal> all() const { return refusals_; }
    bool empty() const { return refusals_.empty(); }

private:
    core::refusal& entry_of(const core::action& a, core::instant now);

    std::vector<core::refusal> refusals_;
};

/// Refusals that no server has spoken, in the form of its own.
///
/// A pod whose labels of these names were changed by the admission (BEHAVIOUR.md 2.8).
k8sio::api_error changed_pod(std::string_view labels);
/// What the server took and dropped (BEHAVIOUR.md 12.12).
k8sio::api_error unkept_patch();
/// An object of a feature that is left out (BEHAVIOUR.md 2.11).
k8sio::api_error left_out(std::string_view feature);

}  // namespace signalbox::op
