// SPDX-License-Identifier: Apache-2.0
//
// Replicas under `Always` that exited 0 run again (BEHAVIOUR.md 5.9).
#include "engine/rules/rounds.hpp"
#include "engine/rules/rules.hpp"

namespace signalbox::core::engine {

std::optional<record> repeat_replicas(const context& c, const health& h, const open_questions&) {
    replicas_repeated out;
    std::ptrdiff_t room = free_rounds(c);
    for (const repeated_run& run : h.repeated) {
        if (run.due > c.in.now) {
            continue;
        }
        const bool further = takes_room(c, run.which.type, run.which.index);
        if (!further || room > 0) {
            out.which.push_back(run.which);
            room -= further ? 1 : 0;
        }
    }
    return out.which.empty() ? std::nullopt : std::optional<record>(std::move(out));
}

}  // namespace signalbox::core::engine
