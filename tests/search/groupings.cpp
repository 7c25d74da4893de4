// SPDX-License-Identifier: Apache-2.0
#include "groupings.hpp"

#include "configurations.hpp"
#include "events.hpp"
#include "process.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <numeric>
#include <optional>

namespace signalbox::search {

using namespace core;

namespace {

/// Seconds between two exits: within and beyond what counts as first, and as one incident.
constexpr std::array gaps{0, 1, 2, 3, 5, 14, 15, 16, 25, 40, 60};
constexpr std::array few_gaps{1, 5, 16, 30};

struct run_of_looks {
    world w;
    std::uint64_t& steps;
    outcome ignored{};

    bool step(const choice& c) {
        ++steps;
        apply(w, c, ignored);
        return true;
    }

    /// What comes by itself until `end`; time passes no further.
    void until(instant end) {
        for (int i = 0; i < natural_limit; ++i) {
            const auto next = natural_choice(w);
            if (!next || (next->what == op::wake && *decision_of(w).wake_up > end)) {
                return;
            }
            step(*next);
        }
    }

    void to_rest() {
        run_by_itself(w, ignored, [&](const choice& next, int number) {
            ++steps;
            return waits_for_ever(next, number);
        });
    }

    /// The pod of that UID ends, if it still runs: a look may have taken it away.
    void end(const std::string& uid, int code) {
        for (std::size_t i = 0; i < w.pods.size(); ++i) {
            const pod_record& pod = *w.pods[i];
            if (pod.uid == uid && pod.phase == pod_phase::running && !pod.deletion) {
                step({op::exits, static_cast<std::uint8_t>(i), static_cast<std::int16_t>(code)});
                return;
            }
        }
    }
};

std::string uid_of(const world& w, std::string_view pod) {
    const auto it = std::ranges::find_if(w.pods, [&](const pod_ptr& p) {
        return short_name(w, p->name) == pod;
    });
    return it == w.pods.end() ? std::string() : std::string((*it)->uid);
}

/// How it ends with a look at every exit whose bit is set, and after the last one.
std::string end_of(
    const world& from, const std::vector<timed_exit>& exits, unsigned looks, std::uint64_t& steps
) {
    run_of_looks run{from, steps};
    instant at = from.now;
    for (std::size_t i = 0; i < exits.size(); ++i) {
        at += seconds(exits[i].after);
        if (i > 0 && (looks >> (i - 1) & 1U) != 0) {
            run.until(at);
        }
        run.w.now = std::max(run.w.now, at);
        run.w.decided.reset();
        run.end(uid_of(from, exits[i].pod), exits[i].code);
        if ((looks >> i & 1U) != 0) {
            run.until(run.w.now);
        }
    }
    run.to_rest();
    const job_status& s = run.w.job->status;
    std::string given_up;
    for (const typed_indexes& t : s.restarts.given_up) {
        given_up += fmt::format(" without {} {}", t.type, t.indexes.text());
    }
    const bool ended = is_final(s.phase);
    return fmt::format(
        "{}{}, backoffCount {}{}",
        to_string(s.phase),
        ended ? "/" + s.reason : "",
        s.backoff_count,
        ended ? "" : given_up
    );
}

std::optional<std::vector<timed_exit>> read_exits(std::string_view words) {
    std::vector<timed_exit> out;
    while (!words.empty()) {
        std::string_view one = words.substr(0, words.find(", "));
        words.remove_prefix(std::min(one.size() + 2, words.size()));
        timed_exit e;
        if (one.starts_with('+')) {
            const auto [rest, error] = std::from_chars(one.data() + 1, one.end(), e.after);
            one.remove_prefix(static_cast<std::size_t>(rest - one.data()) + 1);
        }
        const std::size_t gap = one.find(' ');
        if (gap == one.npos) {
            return std::nullopt;
        }
        e.pod = one.substr(0, gap);
        std::from_chars(one.data() + gap + 1, one.end(), e.code);
        out.push_back(std::move(e));
    }
    return out;
}

}  // namespace

std::string to_words(const std::vector<timed_exit>& exits) {
    std::string out;
    for (const timed_exit& e : exits) {
        out += out.empty() ? "" : fmt::format(", +{} ", e.after);
        out += fmt::format("{} {}", e.pod, e.code);
    }
    return out;
}

std::string compare_looks(
    const world& from, const std::vector<timed_exit>& exits, std::uint64_t& steps
) {
    const std::string together = end_of(from, exits, 0, steps);
    for (unsigned looks = 1; looks < 1U << (exits.size() - 1); ++looks) {
        const std::string apart = end_of(from, exits, looks, steps);
        if (apart != together) {
            return fmt::format(
                "5.5 the same exits end otherwise by how they are seen: {} in one look, {} with "
                "looks {:b} ({})",
                together,
                apart,
                looks,
                to_words(exits)
            );
        }
    }
    return {};
}

std::string compare_looks(std::string_view name, const trace& choices, std::string_view exits) {
    const configuration* c = find_configuration(name);
    const auto known = read_exits(exits);
    if (c == nullptr || !known) {
        return fmt::format("there is no {}", c == nullptr ? name : exits);
    }
    search_context context(*c);
    world w = first_world(context);
    for (const std::string& words : choices) {
        outcome ignored;
        if (!take_words(w, words, ignored)) {
            return "impossible here: " + words;
        }
    }
    for (const timed_exit& e : *known) {
        if (uid_of(w, e.pod).empty()) {
            return "there is no pod " + e.pod;
        }
    }
    std::uint64_t steps = 0;
    return compare_looks(w, *known, steps);
}

std::vector<std::vector<timed_exit>> schedules(const world& running) {
    std::vector<std::string> pods;
    for (const pod_ptr& p : running.pods) {
        pods.emplace_back(short_name(running, p->name));
    }
    std::vector<int> codes = running.context->config().codes;
    std::erase(codes, 0);
    std::vector<std::vector<timed_exit>> out;
    for (const std::string& a : pods) {
        for (const std::string& b : pods) {
            for (const int gap : gaps) {
                for (const int x : codes) {
                    for (const int y : codes) {
                        if (a != b) {
                            out.push_back({{a, x, 0}, {b, y, gap}});
                        }
                    }
                }
            }
        }
    }
    std::vector<std::size_t> order(pods.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    do {
        for (const int first : few_gaps) {
            for (const int second : few_gaps) {
                if (pods.size() > 2) {
                    out.push_back(
                        {{pods[order[0]], codes.front(), 0},
                         {pods[order[1]], codes.front(), first},
                         {pods[order[2]], codes.front(), second}}
                    );
                }
            }
        }
    } while (std::ranges::next_permutation(order).found);
    return out;
}

}  // namespace signalbox::search
