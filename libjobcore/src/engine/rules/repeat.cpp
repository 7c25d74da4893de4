// SPDX-License-Identifier: Apache-2.0
//
// Replicas under `Always` that exited 0 run again (BEHAVIOUR.md 5.9).
#include "engine/rules/rounds.hpp"
#include "engine/rules/rules.hpp"

namespace signalbox::core::engine {

std::optional<record> repeat_replicas(const context& c, const health& h, const open_questions&) {
    replicas_repeated out;
    round_room room(c);
    for (const repeated_run& run : h.repeated) {
        if (run.due <= c.in.now && room.take(run.which.role, run.which.index)) {
            out.which.push_back(run.which);
        }
    }
    return out.which.empty() ? std::nullopt : std::optional<record>(std::move(out));
}

}  // namespace signalbox::core::engine
