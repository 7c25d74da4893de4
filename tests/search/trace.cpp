// SPDX-License-Identifier: Apache-2.0
#include "trace.hpp"

#include "checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace signalbox::search {

using namespace core;

namespace {

/// In a trace written by hand: what happens by itself before time has to pass.
constexpr std::string_view by_itself_words = "by itself";
/// Of a trace that ends before its last choice.
constexpr std::string_view impossible = "impossible here";

/// Of a trace and the natural run after it, in their order.
violations all_violations(const configuration& c, const trace& choices) {
    search_context context(c);
    world w = first_world(context);
    outcome done;
    for (const std::string& words : choices) {
        if (!take_words(w, words, done)) {
            done.violations.push_back(fmt::format("{}: {}", impossible, words));
            return std::move(done.violations);
        }
    }
    if (run_by_itself(w, done, waits_for_ever)) {
        check_at_rest(w, done.violations);
    } else {
        done.violations.push_back("I18 the job does not come to rest");
    }
    return std::move(done.violations);
}

int count_faults(const configuration& c, const trace& choices) {
    search_context context(c);
    world w = first_world(context);
    int n = 0;
    for (const std::string& words : choices) {
        const auto natural = natural_choice(w);
        n += natural && to_words(w, *natural) == words ? 0 : 1;
        outcome ignored;
        take_words(w, words, ignored);
    }
    return n;
}

}  // namespace

bool take_words(world& w, const std::string& words, outcome& done) {
    if (words == by_itself_words) {
        run_by_itself(w, done, [](const choice& next, int) { return next.what == op::wake; });
        return true;
    }
    const auto next = find_choice(w, words);
    if (next) {
        apply(w, *next, done);
    }
    return next.has_value();
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

std::vector<std::string> replay(const configuration& c, const trace& choices) {
    std::vector<std::string> out;
    for (std::string& violation : all_violations(c, choices)) {
        if (std::ranges::find(out, violation) == out.end()) {
            out.push_back(std::move(violation));
        }
    }
    return out;
}

std::vector<std::string> replay(std::string_view name, const trace& choices) {
    const configuration* c = find_configuration(name);
    return c == nullptr ? violations{fmt::format("there is no configuration {}", name)}
                        : replay(*c, choices);
}

finding shortened(const configuration& c, finding f) {
    const std::string kind = kind_of(f.violation);
    for (std::size_t i = f.choices.size(); i-- > 0;) {
        trace less = f.choices;
        less.erase(less.begin() + static_cast<std::ptrdiff_t>(i));
        const auto found = all_violations(c, less);
        const bool possible = std::ranges::none_of(found, [](const std::string& v) {
            return v.starts_with(impossible);
        });
        const auto same = std::ranges::find(found, kind, kind_of);
        if (possible && same != found.end()) {
            f.choices = std::move(less);
            f.violation = *same;
        }
    }
    f.faults = count_faults(c, f.choices);
    return f;
}

std::string tell(const configuration& c, const finding& f) {
    search_context context(c);
    world w = first_world(context);
    std::string out = fmt::format("{}: {}\n", c.name, f.violation);
    for (const std::string& words : f.choices) {
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
    if (!f.exits.empty()) {
        out += fmt::format("  then these exits, in one look or in several: {}\n", f.exits);
    }
    return out;
}

std::string as_test(const std::string& name, const finding& f) {
    std::string out = fmt::format(
        "TEST_CASE(\"[behaviour {}] ...\", \"[search]\") {{\n    CHECK({}(\"{}\", {{\n",
        f.violation.substr(0, f.violation.find(' ')),
        f.exits.empty() ? "replay" : "compare_looks",
        name
    );
    for (const std::string& words : f.choices) {
        out += fmt::format("        \"{}\",\n", words);
    }
    out += "    }";
    if (!f.exits.empty()) {
        out += fmt::format(", \"{}\"", f.exits);
    }
    return out + (f.exits.empty() ? ") == violations{});\n}\n" : ") == \"\");\n}\n");
}

}  // namespace signalbox::search
