// SPDX-License-Identifier: Apache-2.0
#include "explorer.hpp"

#include "canonical.hpp"
#include "checks.hpp"
#include "events.hpp"
#include "property/dice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace signalbox::search {

using namespace core;

namespace {

/// Choices of a natural run, at most: what takes longer does not come to rest.
constexpr int natural_limit = 400;

/// In a trace written by hand: what happens by itself before time has to pass.
constexpr std::string_view by_itself_words = "by itself";

/// Carries out one entry of a trace. False if it is not possible here.
bool take_words(world& w, const std::string& words, outcome& done) {
    if (words == by_itself_words) {
        for (int i = 0; i < natural_limit; ++i) {
            const auto next = natural_choice(w);
            if (!next || next->what == op::wake) {
                break;
            }
            apply(w, *next, done);
        }
        return true;
    }
    const auto next = find_choice(w, words);
    if (next) {
        apply(w, *next, done);
    }
    return next.has_value();
}

/// The world at the end of the natural run.
world at_rest(world w, std::uint64_t& steps) {
    for (int i = 0; i < natural_limit; ++i) {
        const auto next = natural_choice(w);
        if (!next || (next->what == op::wake && i > natural_limit / 2)) {
            break;
        }
        outcome ignored;
        ++steps;
        apply(w, *next, ignored);
    }
    return w;
}

/// The process looks until it has nothing to do at this instant.
void look(world& w, std::uint64_t& steps) {
    for (int i = 0; i < natural_limit; ++i) {
        const auto next = natural_choice(w);
        if (!next || next->what != op::pass) {
            return;
        }
        outcome done;
        ++steps;
        apply(w, *next, done);
    }
}

std::string differ(const world& from, const choice& a, const choice& b, std::uint64_t& steps) {
    outcome ignored;
    world together = from;
    apply(together, a, ignored);
    apply(together, b, ignored);
    world apart = from;
    const std::string second = to_words(from, b);
    apply(apart, a, ignored);
    look(apart, steps);
    const auto then = find_choice(apart, second);
    if (!then) {
        return {};
    }
    apply(apart, *then, ignored);
    violations found;
    check_grouping(at_rest(std::move(together), steps), at_rest(std::move(apart), steps), found);
    return found.empty() ? "" : found.front();
}

/// Of a trace and the natural run after it, in their order.
violations all_violations(const configuration& c, const std::vector<std::string>& trace) {
    stage_set set(c);
    world w = first_world(set);
    outcome done;
    for (const std::string& words : trace) {
        if (!take_words(w, words, done)) {
            done.violations.push_back("impossible here: " + words);
            return std::move(done.violations);
        }
    }
    for (int i = 0; i < natural_limit; ++i) {
        const auto next = natural_choice(w);
        if (!next || (next->what == op::wake && i > natural_limit / 2)) {
            check_at_rest(w, done.violations);
            return std::move(done.violations);
        }
        apply(w, *next, done);
    }
    done.violations.push_back("I18 the job does not come to rest");
    return std::move(done.violations);
}

class explorer {
public:
    explorer(const configuration& c, const limits& l, const is_known& known)
        : config_(c), limits_(l), known_(known), set_(c) {
        out_.name = c.name;
    }

    report run() {
        const world first = first_world(set_);
        nodes_.push_back({});
        visited_.emplace(digest(first), 0);
        frontier_.push_back({first, 0, 0});
        follow(first, 0);
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
        if (config_.grouping && p.w.past.disruptions == 0) {
            try_groupings(p);
        }
        for (const choice& c : all_choices(p.w)) {
            world next = p.w;
            take(std::move(next), p.node, c);
        }
    }

    /// Failures of two pods at the same time, seen in one look and in two.
    void try_groupings(const place& p) {
        std::vector<choice> ends;
        for (const choice& c : all_choices(p.w)) {
            if (c.what == op::exits && c.value == 1 && !p.w.pods[c.at]->deletion) {
                ends.push_back(c);
            }
        }
        for (std::size_t i = 0; i < ends.size(); ++i) {
            for (std::size_t k = 0; k < ends.size(); ++k) {
                const auto found =
                    i == k ? std::string() : differ(p.w, ends[i], ends[k], out_.steps);
                if (!found.empty() && is_new(found)) {
                    finding f = trace_of(found, p.node, nullptr);
                    f.grouped = {to_words(p.w, ends[i]), to_words(p.w, ends[k])};
                    f.faults += 2;
                    out_.findings.push_back(std::move(f));
                }
            }
        }
    }

    /// One step. True if it led to a state that may be gone on from.
    bool step(world& w, std::uint32_t from, const choice& c, outcome& done) {
        ++out_.steps;
        ++out_.fired[static_cast<std::size_t>(c.what)];
        apply(w, c, done);
        return std::ranges::all_of(done.violations, [&](const std::string& violation) {
            note(violation, from, &c);
            return known_(violation);
        });
    }

    void take(world w, std::uint32_t from, const choice& c) {
        outcome done;
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
                // passes for ever, and the job waits.
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
        world w = first_world(set_);
        std::size_t by_itself = 0;
        for (const node& n : path) {
            const auto natural = natural_choice(w);
            out.faults += natural && *natural == n.how ? 0 : 1;
            out.trace.push_back(to_words(w, n.how));
            outcome ignored;
            apply(w, n.how, ignored);
            by_itself = natural && *natural == n.how ? by_itself + 1 : 0;
        }
        if (last == nullptr) {
            // The natural run is followed after a trace anyhow.
            out.trace.resize(out.trace.size() - by_itself);
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
        world w = first_world(set_);
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
            path.push_back(c);
            if (!walk_step(w, c, path)) {
                return;
            }
        }
        for (int i = 0; i < natural_limit; ++i) {
            const auto natural = natural_choice(w);
            const bool waits = natural && natural->what == op::wake && i > natural_limit / 2;
            if (!natural || waits) {
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
        ++out_.fired[static_cast<std::size_t>(c.what)];
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
        world w = first_world(set_);
        for (const choice& c : path) {
            f.trace.push_back(to_words(w, c));
            outcome ignored;
            apply(w, c, ignored);
        }
        out_.findings.push_back(shortened(std::move(f)));
    }

    /// Leaves out choices while the same kind of violation is found.
    finding shortened(finding f) const {
        const std::string kind = kind_of(f.violation);
        for (std::size_t i = f.trace.size(); i-- > 0;) {
            std::vector<std::string> less = f.trace;
            less.erase(less.begin() + static_cast<std::ptrdiff_t>(i));
            const auto found = all_violations(config_, less);
            const auto same = std::ranges::find(found, kind, kind_of);
            if (same != found.end()) {
                f.trace = std::move(less);
                f.violation = *same;
            }
        }
        f.faults = count_faults(f.trace);
        return f;
    }

    int count_faults(const std::vector<std::string>& trace) const {
        stage_set set(config_);
        world w = first_world(set);
        int n = 0;
        for (const std::string& words : trace) {
            const auto natural = natural_choice(w);
            n += natural && to_words(w, *natural) == words ? 0 : 1;
            outcome ignored;
            take_words(w, words, ignored);
        }
        return n;
    }

    const configuration& config_;
    const limits& limits_;
    const is_known& known_;
    stage_set set_;
    report out_;
    std::vector<node> nodes_;
    std::unordered_map<std::uint64_t, std::uint32_t> visited_;
    std::vector<place> frontier_;
};

}  // namespace

report explore(const configuration& c, const limits& l, const is_known& known) {
    return explorer(c, l, known).run();
}

std::string kind_of(const std::string& violation) {
    std::string out;
    for (const char c : violation) {
        const bool digit = c >= '0' && c <= '9';
        const bool in_rule = out.find(' ') == out.npos;
        if (!digit || in_rule) {
            out += c;
        }
    }
    const std::size_t colon = out.find(':');
    return out.substr(0, colon);
}

std::vector<std::string> replay(const configuration& c, const std::vector<std::string>& trace) {
    std::vector<std::string> out;
    for (std::string& violation : all_violations(c, trace)) {
        if (std::ranges::find(out, violation) == out.end()) {
            out.push_back(std::move(violation));
        }
    }
    return out;
}

std::vector<std::string> replay(std::string_view name, const std::vector<std::string>& trace) {
    const configuration* c = find_configuration(name);
    return c == nullptr ? violations{fmt::format("there is no configuration {}", name)}
                        : replay(*c, trace);
}

std::string compare_groupings(
    std::string_view name,
    const std::vector<std::string>& trace,
    const std::string& first,
    const std::string& second
) {
    const configuration* c = find_configuration(name);
    if (c == nullptr) {
        return fmt::format("there is no configuration {}", name);
    }
    stage_set set(*c);
    world w = first_world(set);
    for (const std::string& words : trace) {
        outcome ignored;
        if (!take_words(w, words, ignored)) {
            return "impossible here: " + words;
        }
    }
    const auto a = find_choice(w, first);
    const auto b = find_choice(w, second);
    std::uint64_t steps = 0;
    return a && b ? differ(w, *a, *b, steps) : "impossible here: " + (a ? second : first);
}

std::string tell(const configuration& c, const finding& f) {
    stage_set set(c);
    world w = first_world(set);
    std::string out = fmt::format("{}: {}\n", c.name, f.violation);
    for (const std::string& words : f.trace) {
        const auto natural = natural_choice(w);
        const std::string comes = natural ? to_words(w, *natural) : "nothing";
        const bool by_itself = words == comes || words == by_itself_words;
        const job_ptr before = w.job;
        const instant at = w.now;
        outcome done;
        if (!take_words(w, words, done)) {
            return out +
                   fmt::format("  impossible here: {}\n  by itself comes: {}\n", words, comes);
        }
        out += fmt::format("  {} {}", by_itself ? " " : "*", words);
        if (w.now != at) {
            out += fmt::format(" (+{} ms)", (w.now - at).count());
        }
        const job_status& s = w.job->status;
        if (w.job != before) {
            out += fmt::format(
                " -> {} {} attempt {} backoffCount {} disruptions {}",
                to_string(s.phase),
                s.reason,
                s.attempt,
                s.backoff_count,
                s.restarts.disruptions
            );
        }
        out += '\n';
    }
    for (const condition& each : w.job->status.conditions) {
        out += fmt::format("    {} {} {} {}\n", each.type, each.status, each.reason, each.message);
    }
    if (!f.grouped.empty()) {
        out += fmt::format(
            "  then together, or with a look between them: {}, {}\n", f.grouped[0], f.grouped[1]
        );
    }
    return out;
}

std::string as_test(const std::string& name, const finding& f) {
    std::string out = fmt::format(
        "TEST_CASE(\"[behaviour {}] ...\", \"[search]\") {{\n    CHECK({}(\"{}\", {{\n",
        f.violation.substr(0, f.violation.find(' ')),
        f.grouped.empty() ? "replay" : "compare_groupings",
        name
    );
    for (const std::string& words : f.trace) {
        out += fmt::format("        \"{}\",\n", words);
    }
    out += "    }";
    for (const std::string& words : f.grouped) {
        out += fmt::format(", \"{}\"", words);
    }
    return out + (f.grouped.empty() ? ") == violations{});\n}\n" : ") == \"\");\n}\n");
}

}  // namespace signalbox::search
