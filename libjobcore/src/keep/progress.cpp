// SPDX-License-Identifier: Apache-2.0
#include "jobcore/progress.hpp"

#include <algorithm>

namespace signalbox::core {
namespace {

rank_progress* rank_of(progress_report& of, std::int32_t rank) {
    auto it = std::ranges::lower_bound(of.ranks, rank, {}, &rank_progress::rank);
    if (it != of.ranks.end() && it->rank == rank) {
        return &*it;
    }
    if (of.ranks.size() >= most_ranks) {
        return nullptr;
    }
    rank_progress fresh;
    fresh.rank = rank;
    return &*of.ranks.insert(it, fresh);
}

template <class Value>
bool take(std::optional<Value>& into, const std::optional<Value>& said) {
    if (!said || into == said) {
        return false;
    }
    into = said;
    return true;
}

}  // namespace

bool take_message(progress_report& into, const progress_message& said, instant now) {
    if (said.attempt < into.attempt || said.attempt <= 0 || said.rank < 0) {
        return false;
    }
    if (said.attempt > into.attempt) {
        into = {};
        into.attempt = said.attempt;
        into.advanced = now;
    }
    into.time = std::max(into.time, now);
    bool advanced = !said.current_step && !said.percentage;
    rank_progress* rank = rank_of(into, said.rank);
    if (rank != nullptr && take(rank->step, said.current_step)) {
        rank->advanced = now;
        advanced = true;
    }
    const bool leads = !said.current_step || !into.current_step || said.rank == into.rank ||
                       *said.current_step > *into.current_step;
    if (leads) {
        advanced = take(into.current_step, said.current_step) || advanced;
        advanced = take(into.percentage, said.percentage) || advanced;
        take(into.total_steps, said.total_steps);
        into.remaining_seconds = said.remaining_seconds;
        into.rank = said.rank;
        if (!said.metrics.empty()) {
            into.metrics = said.metrics;
            into.metrics.resize(std::min(into.metrics.size(), most_metrics));
        }
    }
    if (said.checkpoint_step &&
        (!into.checkpoint_step || *said.checkpoint_step > *into.checkpoint_step)) {
        into.checkpoint_step = said.checkpoint_step;
        into.checkpoint_time = now;
        into.checkpoint_seconds = said.checkpoint_seconds;
    }
    into.advanced = advanced ? std::max(into.advanced, now) : into.advanced;
    return true;
}

}  // namespace signalbox::core
