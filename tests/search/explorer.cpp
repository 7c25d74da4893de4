// SPDX-License-Identifier: Apache-2.0
#include "explorer.hpp"

#include "canonical.hpp"
#include "checks.hpp"
#include "events.hpp"
#include "groupings.hpp"
#include "property/dice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace signalbox::search {

using namespace core;

namespace {

class explorer {
public:
    explorer(const configuration& c, const limits& l, const is_known& known)
        : config_(c), limits_(l), known_(known), context_(c) {
        out_.name = c.name;
    }

    report run() {
        const world first = first_world(context_);
        nodes_.push_back({});
        visited_.emplace(digest(first), 0);
        frontier_.push_back({first, 0, 0});
        follow(first, 0);
        if (config_.grouping) {
            try_groupings(first);
        }
        for (int depth = 1; depth <= config_.depth && !frontier_.empty(); ++depth) {
            if (!expand_level()) {
                break;
            }
            out_.complete_depth = depth;
        }
        out_.states = nodes_.size();
        walk_all();
        return std::move(out_);
    }

private:
    struct node {
        std::uint32_t parent = 0;
        choice how{};
        bool wrote = false;  ///< something changed on the server
    };
    struct place {
        world w;
        std::uint32_t node = 0;
        std::uint64_t digest = 0;
    };

    /// False if the bound on steps was reached first.
    bool expand_level() {
        // By digest: if the bound ends the level early, what was tried is spread over all of it.
        std::vector<place> level = std::exchange(frontier_, {});
        std::ranges::sort(level, {}, &place::digest);
        for (place& p : level) {
            if (out_.steps > limits_.steps) {
                return false;
            }
            expand(p);
            p.w = {};
        }
        return true;
    }

    void expand(const place& p) {
        for (const choice& c : all_choices(p.w)) {
            world next = p.w;
            take(std::move(next), p.node, c);
        }
    }

    /// Failures of running pods at several distances, seen in one look and in several.
    void try_groupings(world w) {
        outcome ignored;
        run_by_itself(w, ignored, [](const choice& next, int) { return next.what == op::wake; });
        for (const std::vector<timed_exit>& exits : schedules(w)) {
            const std::string found = compare_looks(w, exits, out_.steps);
            if (!found.empty() && is_new(found)) {
                out_.findings.push_back({found, {"by itself"}, 2, to_words(exits)});
            }
        }
    }

    /// One step. True if it led to a state that may be gone on from.
    bool step(world& w, std::uint32_t from, const choice& c, outcome& done) {
        ++out_.steps;
        apply(w, c, done);
        return std::ranges::all_of(done.violations, [&](const std::string& violation) {
            note(violation, from, &c);
            return known_(violation);
        });
    }

    void take(world w, std::uint32_t from, const choice& c) {
        outcome done;
        ++out_.fired[static_cast<std::size_t>(c.what)];
        if (!step(w, from, c, done)) {
            return;
        }
        const std::uint32_t id = next_node();
        const auto [it, fresh] = visited_.try_emplace(digest(w), id);
        if (!fresh) {
            return;
        }
        nodes_.push_back({from, c, done.writes > 0});
        frontier_.push_back({w, id, it->first});
        follow(std::move(w), id);
    }

    std::uint32_t next_node() const { return static_cast<std::uint32_t>(nodes_.size()); }

    /// The natural run from a new state to a known one, or to rest. Its states are new ones of the
    /// same distance.
    void follow(world w, std::uint32_t id) {
        const std::uint32_t begin = id;
        for (int i = 0; i < natural_limit; ++i) {
            const auto next = natural_choice(w);
            if (!next) {
                rest(w, id);
                return;
            }
            outcome done;
            if (!step(w, id, *next, done)) {
                return;
            }
            const std::uint32_t fresh_id = next_node();
            const auto [it, fresh] = visited_.try_emplace(digest(w), fresh_id);
            if (!fresh) {
                // A known state's run has been followed, unless it is of this very run: then time
                // passes forever, and the job waits.
                if (it->second >= begin) {
                    close_circle(w, id, it->second, next->what, done.writes > 0);
                }
                return;
            }
            nodes_.push_back({id, *next, done.writes > 0});
            id = fresh_id;
            frontier_.push_back({w, id, it->first});
        }
        note("I18 the job does not come to rest", id, nullptr);
    }

    /// The natural run is back at a state of its own: only time may pass on such a way.
    void close_circle(
        const world& w, std::uint32_t last, std::uint32_t first, op next, bool wrote
    ) {
        bool waits = nodes_[last].how.what == op::wake || next == op::wake;
        for (std::uint32_t id = last; id > first; id = nodes_[id].parent) {
            wrote = wrote || nodes_[id].wrote;
            waits = waits || nodes_[id].how.what == op::wake;
        }
        if (wrote || !waits) {
            note("I19 the job never comes to rest", last, nullptr);
        } else {
            rest(w, last);
        }
    }

    void rest(const world& w, std::uint32_t id) {
        violations found;
        check_at_rest(w, found);
        if (!found.empty()) {
            note(found.front(), id, nullptr);
        }
    }

    void note(const std::string& violation, std::uint32_t from, const choice* last) {
        if (is_new(violation)) {
            out_.findings.push_back(trace_of(violation, from, last));
        }
    }

    bool is_new(const std::string& violation) const {
        return std::ranges::none_of(out_.findings, [kind = kind_of(violation)](const finding& f) {
            return kind_of(f.violation) == kind;
        });
    }

    finding trace_of(const std::string& violation, std::uint32_t from, const choice* last) {
        std::vector<node> path;
        for (std::uint32_t id = from; id != 0; id = nodes_[id].parent) {
            path.push_back(nodes_[id]);
        }
        std::ranges::reverse(path);
        if (last != nullptr) {
            path.push_back({from, *last, false});
        }
        finding out{violation, {}, 0};
        world w = first_world(context_);
        std::size_t by_itself = 0;
        for (const node& n : path) {
            const auto natural = natural_choice(w);
            out.faults += natural && *natural == n.how ? 0 : 1;
            out.choices.push_back(to_words(w, n.how));
            outcome ignored;
            apply(w, n.how, ignored);
            by_itself = natural && *natural == n.how ? by_itself + 1 : 0;
        }
        if (last == nullptr) {
            // The natural run is followed after a trace anyhow.
            out.choices.resize(out.choices.size() - by_itself);
        }
        return out;
    }

    /// Deep random runs: faults and natural steps mixed, then the natural run to its end.
    void walk_all() {
        for (std::uint64_t i = 0; i < limits_.walks; ++i) {
            walk(limits_.seed * 1'000'003 + i);
        }
    }

    void walk(std::uint64_t seed) {
        test::dice d(seed);
        world w = first_world(context_);
        std::vector<choice> path;
        for (int i = 0; i < limits_.walk_length; ++i) {
            const auto natural = natural_choice(w);
            const auto choices = all_choices(w);
            const bool interfere = !choices.empty() && (!natural || d.once_in(3));
            if (!interfere && !natural) {
                break;
            }
            const choice c =
                interfere
                    ? choices[static_cast<std::size_t>(d.roll(static_cast<int>(choices.size())))]
                    : *natural;
            out_.fired[static_cast<std::size_t>(c.what)] += interfere ? 1 : 0;
            path.push_back(c);
            if (!walk_step(w, c, path)) {
                return;
            }
        }
        for (int i = 0; i < natural_limit; ++i) {
            const auto natural = natural_choice(w);
            if (!natural || waits_for_ever(*natural, i)) {
                violations found;
                check_at_rest(w, found);
                if (!found.empty()) {
                    note_walk(found.front(), path);
                }
                return;
            }
            path.push_back(*natural);
            if (!walk_step(w, *natural, path)) {
                return;
            }
        }
    }

    /// False if the walk ends here.
    bool walk_step(world& w, const choice& c, const std::vector<choice>& path) {
        outcome done;
        ++out_.steps;
        apply(w, c, done);
        return std::ranges::all_of(done.violations, [&](const std::string& violation) {
            note_walk(violation, path);
            return known_(violation);
        });
    }

    void note_walk(const std::string& violation, const std::vector<choice>& path) {
        if (!is_new(violation)) {
            return;
        }
        finding f{violation, {}, 0};
        world w = first_world(context_);
        for (const choice& c : path) {
            f.choices.push_back(to_words(w, c));
            outcome ignored;
            apply(w, c, ignored);
        }
        out_.findings.push_back(shortened(config_, std::move(f)));
    }

    const configuration& config_;
    const limits& limits_;
    const is_known& known_;
    search_context context_;
    report out_;
    std::vector<node> nodes_;
    std::unordered_map<std::uint64_t, std::uint32_t> visited_;
    std::vector<place> frontier_;
};

}  // namespace

report explore(const configuration& c, const limits& l, const is_known& known) {
    return explorer(c, l, known).run();
}

}  // namespace signalbox::search
