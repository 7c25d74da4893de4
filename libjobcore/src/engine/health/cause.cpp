// SPDX-License-Identifier: Apache-2.0
//
// Which of several failures is named, and what pods that still run say of it (BEHAVIOUR.md 3.13).
#include "engine/facts/pod_facts.hpp"
#include "engine/facts/signals.hpp"
#include "engine/facts/termination.hpp"
#include "engine/health/health.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <tuple>
#include <utility>

namespace signalbox::core::engine {
namespace {

/// How near a failure is to the cause, by what it is.
int distance(const loss& l) {
    return l.secondary           ? (l.signal != 0 ? 5 : 6)
           : l.out_of_memory     ? 0
           : l.signal == sigkill ? 1
           : l.overcome          ? 4
           : l.says_nothing      ? 3
                                 : 2;
}

/// The second in which it happened: ends are told in whole ones.
instant second_of(const loss& l) {
    return round_down_to_second(l.said_at.value_or(l.end));
}

/// All ranks run into a mistake of the script: which of them is first is chance, and a moment's
/// later end is no other failure. Nor is the same end as that of one that left no words.
bool is_same_failure(const loss& l, const loss& first) {
    const milliseconds between = second_of(l) - second_of(first);
    const bool says_same = first.sameness != 0 && first.sameness == l.sameness;
    const bool unsaid = first.sameness == 0 && first.way != 0;
    return (says_same || unsaid) && l.way == first.way && distance(l) == distance(first) &&
           std::chrono::abs(between) <= seconds(2);
}

}  // namespace

const loss* first_failure(std::span<const loss> losses) {
    const auto counts = [](const loss& l) { return !l.disrupted && !l.unreachable(); };
    const auto order = [](const loss& l) {
        return std::tuple(
            distance(l),
            second_of(l),
            l.signal == 0,
            l.said_at.value_or(second_of(l) + milliseconds(999)),
            l.suffered,
            l.type,
            l.index
        );
    };
    const loss* out = nullptr;
    for (const loss& l : losses) {
        if (counts(l) && (out == nullptr || order(l) < order(*out))) {
            out = &l;
        }
    }
    for (const loss& l : losses) {
        if (counts(l) && is_same_failure(l, *out) &&
            std::pair(l.type, l.index) < std::pair(out->type, out->index)) {
            return &l;  // they are in that order
        }
    }
    return out;
}

const log_evidence* evidence_of(const context& c, const std::string& uid) {
    const auto& logs = c.in.seen.logs;
    const auto found = std::ranges::find(logs, uid, &log_evidence::pod_uid);
    return found == logs.end() ? nullptr : &*found;
}

namespace {

/// What the log of a pod that still runs says, of what was before the first failure.
struct witness {
    const replica_view* replica = nullptr;
    const log_evidence* said = nullptr;
    instant time{};
};

const log_evidence* testimony_of(const context& c, const replica_view& s) {
    const bool runs = s.is_up() && !s.done();
    const log_evidence* said = runs ? evidence_of(c, s.current->uid) : nullptr;
    const bool tells = said != nullptr && said->names_error && !said->secondary && said->time;
    return tells ? said : nullptr;
}

/// An error that was said long before may well have been overcome.
bool is_before(instant t, instant failure) {
    constexpr seconds longest{60}, inaccuracy{2};
    return t <= failure + inaccuracy && failure - t <= longest;
}

bool is_moment_of(instant t, instant failure) {
    return std::chrono::abs(t - failure) <= seconds(2);
}

/// Of a failure that follows from another's end the first who says what was before; of any other
/// the lowest that says the same.
witness find_witness(const context& c, const loss& first) {
    const instant failure = first.said_at.value_or(first.end);
    witness out;
    for_each_replica(c.view, [&](std::size_t type, std::int32_t index, const replica_view& s) {
        const log_evidence* said = testimony_of(c, s);
        if (said == nullptr) {
            return;
        }
        const instant t = told_by_node(*said->time, *s.current, c.in.now);
        const bool same = first.sameness != 0 && said->sameness == first.sameness &&
                          std::pair(type, index) < std::pair(first.type, first.index);
        const bool counts =
            first.secondary ? is_before(t, failure) : same && is_moment_of(t, failure);
        const bool better = out.said == nullptr || (first.secondary && t < out.time);
        if (counts && better) {
            out = {&s, said, t};
        }
    });
    return out;
}

}  // namespace

void hear_witnesses(const context& c, health& out) {
    const loss* first = c.in.seen.logs.empty() ? nullptr : first_failure(out.losses);
    if (first == nullptr) {
        return;
    }
    const witness found = find_witness(c, *first);
    if (found.said == nullptr) {
        return;
    }
    loss& named = out.losses[static_cast<std::size_t>(first - out.losses.data())];
    // Who says the same ends in the same way, be it a moment later.
    std::string end;
    if (!named.secondary && named.exit_code) {
        termination_note said;
        take_words(*found.said, said);
        end = describe_code(*named.exit_code, said, {});
    }
    named.message = fmt::format(
        "pod {}, container {}{}: {}",
        found.replica->current->name,
        found.replica->training->name,
        end,
        found.said->text
    );
    named.told_by = found.replica->current->uid;
    named.secondary = false;
    named.rank.reset();
    named.said_at = found.time;
    named.sameness = found.said->sameness;
}

}  // namespace signalbox::core::engine
