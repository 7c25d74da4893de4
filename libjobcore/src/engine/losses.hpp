// SPDX-License-Identifier: Apache-2.0
//
// What of the current attempt is lost in one look (BEHAVIOUR.md 5.2-5.4), before anything is
// decided about it.
#pragma once

#include "engine/pass.hpp"
#include "engine/pod_facts.hpp"

#include <optional>
#include <string>
#include <vector>

namespace signalbox::core::engine {

struct loss {
    std::size_t role = 0;  ///< no_role: not a pod but the Secret
    std::int32_t index = 0;
    const pod_record* pod = nullptr;  ///< absent: vanished, or refused for good
    std::string name;
    bool disrupted = false;
    /// The code that the restart policy judges; absent: a failure without a code.
    std::optional<std::int32_t> exit_code;
    bool out_of_memory = false;
    instant end{};
    /// Lived shorter than `policy.short_life` (5.4).
    bool short_lived = false;
    std::string_view cause;
    std::string reason;   ///< of the container or Pod, e.g. `OOMKilled`, `Evicted`
    std::string message;  ///< for people

    /// Our bootstrap could not reach the workers (5.4), and that does not count yet.
    bool unreachable() const {
        return cause == engine::cause::workers_unreachable ||
               cause == engine::cause::workers_unreachable_again;
    }
    bool killed() const { return out_of_memory || exit_code == 137 || exit_code == 143; }
    /// Ended by itself, by a code that no kill gives: such an exit settles (5.6).
    bool exited() const { return !disrupted && !killed(); }
};

struct look {
    std::vector<loss> losses;
    /// Non-masters that exited 0 and whose policy is `Always` (5.9): (role, index).
    std::vector<std::pair<std::size_t, std::int32_t>> always;
    /// Replicas whose absence is not confirmed by a live read yet (5.3).
    std::vector<std::pair<std::size_t, std::int32_t>> unconfirmed;
    /// How the master ended before its deletion was asked for, if it did.
    std::optional<pod_end> master_end;
};

/// The last incident is so near that what vanished counts as short-lived (5.4).
bool is_soon_after_incident(const pass& p);

/// Looks at every wanted replica. Completed ones are recorded in `p.next` and the view.
/// `while_paused`: pods that we delete are no losses.
look take_look(pass& p, bool while_paused);

}  // namespace signalbox::core::engine
