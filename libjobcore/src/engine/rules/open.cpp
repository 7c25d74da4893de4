// SPDX-License-Identifier: Apache-2.0
#include "engine/rules/open.hpp"

#include "engine/rules/verdict.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace signalbox::core::engine {
namespace {

/// Counted from the exit that is on record, else from the first that is seen.
instant first_exit(const context& c, const health& h) {
    if (const auto& settling = c.status.restarts.settling) {
        return settling->time.value_or(c.in.now);
    }
    instant first = instant::max();
    for (const loss& l : h.losses) {
        first = l.exited() ? std::min(first, l.end) : first;
    }
    return round_down_to_second(first);
}

/// An exit settles where its replica could be replaced alone, and only if there will be a restart.
std::optional<instant> settle_time(const context& c, const judgement& j) {
    const bool exits = std::ranges::any_of(j.lost.losses, &loss::exited);
    if (!exits || c.in.plan.run.scope || !can_replace_one(c, j.lost) || j.ends) {
        return std::nullopt;
    }
    const instant due = first_exit(c, j.lost) + c.in.policy.settle;
    return c.in.now < due ? std::optional(due) : std::nullopt;
}

/// Somebody still runs, or is about to, and may end in the same moment. `servers`: those who only
/// serve the ranks of others count too.
bool others_may_end(const context& c, bool servers) {
    bool out = false;
    for_each_replica(c.view, [&](std::size_t type, std::int32_t index, const replica_view& s) {
        const bool counts =
            !out && s.current != nullptr && (servers || !c.view.types[type].plan->serves(index));
        out = out || (counts && !end_of(*s.current, s.training, c.in.now));
    });
    return out;
}

/// How many times as many logs were read as are read at once.
std::size_t rounds_read(const context& c) {
    constexpr std::size_t most = 3;  // then the last
    const auto at_once = static_cast<std::size_t>(std::max(c.in.policy.evidence_pods, 1));
    return std::min(c.in.seen.logs.size() / at_once, most);
}

/// What would be named is no consequence, and not only because its log was not read.
bool knows_cause(const context& c, const loss* named) {
    return named == nullptr || (!named->secondary && !named->says_nothing &&
                                (!named->has_log() || evidence_of(c, named->pod->uid) != nullptr));
}

/// What would be named follows from others, as its log says too.
bool knows_victims_alone(const context& c, const loss* named) {
    const log_evidence* said = named != nullptr && named->secondary && named->has_log()
                                   ? evidence_of(c, named->pod->uid)
                                   : nullptr;
    return said != nullptr && said->names_error;
}

/// What logs say is asked for once, when the pods have ended that end in the same moment, before
/// anything comes of it (3.13). A pause does not wait for it.
void ask_for_logs(const context& c, const health& h, open_questions& out) {
    const bool disrupted = std::ranges::find(h.losses, true, &loss::disrupted) != h.losses.end();
    if (!c.in.seen.reads_logs || c.in.plan.paused || disrupted) {
        return;
    }
    instant first = instant::max();
    bool timeless = false;
    for (const loss& l : h.losses) {
        first = l.has_log() ? std::min(first, l.end) : first;
        timeless = timeless || (l.has_log() && l.at_unknown_time);
    }
    if (first == instant::max()) {
        return;
    }
    out.about_logs = true;
    const policy& rules = c.in.policy;
    const instant due = first + rules.evidence_wait;
    if (c.in.now < due && !timeless && others_may_end(c, true)) {
        out.ends_until = due;
        return;
    }
    const milliseconds least =
        std::max(rules.evidence_limit - rules.evidence_wait, milliseconds(0));
    const instant limit = first + rules.evidence_limit;
    const std::size_t rounds = rounds_read(c);
    const loss* named = first_failure(h.losses);
    if (rounds == 0 || (!knows_cause(c, named) && c.in.now < limit)) {
        const instant until = rounds > 0 ? limit : std::max(limit, c.in.now + least);
        for (log_wanted& log : logs_that_tell(c, h, rounds + 1)) {
            if (evidence_of(c, log.pod_uid) == nullptr) {
                log.until = until;
                out.logs.push_back(std::move(log));
            }
        }
    }
    const instant last = first + rules.evidence_of_agents;
    if (c.in.now < last && knows_victims_alone(c, named) && others_may_end(c, false)) {
        out.ends_until = last;
    }
}

}  // namespace

std::vector<log_wanted> logs_that_tell(const context& c, const health& h, std::size_t rounds) {
    std::vector<const loss*> failed;
    for (const loss& l : h.losses) {
        if (l.has_log()) {
            failed.push_back(&l);
        }
    }
    std::ranges::sort(failed, {}, [](const loss* l) {
        return std::tuple(l->secondary_by_message, l->end, l->type, l->index);
    });
    std::vector<log_wanted> out;
    for (const loss* l : failed) {
        out.push_back({l->name, l->pod->uid, l->container});
    }
    if (!failed.empty()) {
        for_each_replica(c.view, [&](std::size_t type, std::int32_t index, const replica_view& s) {
            if (s.is_up() && !s.done() && !c.view.types[type].plan->serves(index)) {
                out.push_back({s.current->name, s.current->uid, s.training->name});
            }
        });
    }
    out.resize(std::min(out.size(), rounds * static_cast<std::size_t>(c.in.policy.evidence_pods)));
    return out;
}

std::optional<instant> open_questions::until() const {
    return std::max({settles_until, refused_until, ends_until});
}

open_questions find_open_questions(const context& c, const health& h) {
    if (c.in.was_paused() || c.in.invalid || c.status.attempt == 0) {
        return {};
    }
    open_questions out{!h.unconfirmed.empty()};
    if (!h.losses.empty()) {
        const judgement j = judge(c, h);
        out.settles_until = settle_time(c, j);
        out.refused_until = open_until(c, j);
        ask_for_logs(c, h, out);
    }
    return out;
}

}  // namespace signalbox::core::engine
