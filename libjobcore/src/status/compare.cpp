// SPDX-License-Identifier: Apache-2.0
#include "status/compare.hpp"

#include <tuple>
#include <utility>
#include <vector>

namespace signalbox::core {
namespace {

/// Calls `use` with the tasks and with all members of `s` but tasks and attempts. A member that is
/// added to the status does not compile here until it is named.
template <class Use>
auto with_members(const job_status& s, Use use) {
    const auto& [phase, reason, conditions, tasks, attempts, aggregate, backoff, tensorboard, generation, start, completion, duration, ready, replicas, selector, transition, attempt, training, restarts, told, attempt_start, time, avoided, progress, admission, queue, scheduler] =
        s;
    return use(
        tasks,
        std::tie(
            phase,
            reason,
            conditions,
            aggregate,
            backoff,
            tensorboard,
            generation,
            start,
            completion,
            duration,
            ready,
            replicas,
            selector,
            transition,
            attempt,
            training,
            restarts,
            told,
            attempt_start,
            time,
            avoided,
            progress,
            admission,
            queue,
            scheduler
        )
    );
}

}  // namespace

job_status recorded_part(const job_status& s) {
    return with_members(s, [](const auto& tasks, const auto& rest) {
        return std::apply(
            [&](const auto& phase, const auto& reason, const auto&, const auto&... more) {
                std::vector<task_status> bare;
                bare.reserve(tasks.size());
                for (const task_status& t : tasks) {
                    bare.push_back({t.type, t.restart_count, t.wanted, {}});
                }
                job_status out{phase, reason, {}, std::move(bare), {}, more...};
                out.next_transition.reset();
                return out;
            },
            rest
        );
    });
}

bool equal_but_lists(const job_status& a, const job_status& b) {
    return with_members(a, [&](const auto&, const auto& left) {
        return with_members(b, [&](const auto&, const auto& right) { return left == right; });
    });
}

}  // namespace signalbox::core
