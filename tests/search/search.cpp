// SPDX-License-Identifier: Apache-2.0
//
// The search as a program: every configuration, breadth first, then random walks; prints what was
// searched and what was found. README.md has its options.
#include "explorer.hpp"
#include "known_violations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <string_view>
#include <vector>

using namespace signalbox::search;

namespace {

struct options {
    limits bounds;
    std::string only;          ///< a configuration's name, or its beginning
    std::string replay;        ///< choices with semicolons between them
    bool expect_known = true;  ///< a known violation that is not found is a failure
    bool traces = false;       ///< of known violations too
};

constexpr const char* usage =
    "usage: search [--steps N] [--walks N] [--walk-length N] [--seed N] [--only NAME]\n"
    "              [--traces] [--new-only] [--replay TRACE]\n"
    "  --steps        of each configuration, breadth first (about)\n"
    "  --walks        random runs of each configuration\n"
    "  --only         configurations whose name begins so\n"
    "  --traces       of known violations too\n"
    "  --new-only     known violations may stay unfound\n"
    "  --replay       with --only and a whole name: what these choices lead to, and where they "
    "fail;\n"
    "                 e.g. --replay \"pass; pass; pass; pass; all start; exits worker-0 1\"\n";

bool read_number(const char* text, std::uint64_t& out) {
    const char* end = text + std::strlen(text);
    const auto [at, error] = std::from_chars(text, end, out);
    return error == std::errc{} && at == end;
}

bool read_options(int argc, char** argv, options& out) {
    for (int i = 1; i < argc; ++i) {
        const std::string_view name = argv[i];
        if (name == "--new-only") {
            out.expect_known = false;
            continue;
        }
        if (name == "--traces") {
            out.traces = true;
            continue;
        }
        if (i + 1 == argc) {
            return false;
        }
        const char* value = argv[++i];
        std::uint64_t number = 0;
        if (name == "--replay") {
            out.replay = value;
            continue;
        }
        if (name == "--only") {
            out.only = value;
            out.expect_known = false;
            continue;
        }
        if (!read_number(value, number)) {
            return false;
        }
        if (name == "--steps") {
            out.bounds.steps = number;
        } else if (name == "--walks") {
            out.bounds.walks = number;
        } else if (name == "--walk-length") {
            out.bounds.walk_length = static_cast<int>(number);
        } else if (name == "--seed") {
            out.bounds.seed = number;
        } else {
            return false;
        }
    }
    return true;
}

std::string fired_text(const configuration& c, const report& r) {
    std::string text;
    for (const op o : c.faults) {
        const auto n = r.fired[static_cast<std::size_t>(o)];
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", to_string(o), n);
    }
    return text;
}

/// Faults of the configuration that never happened.
std::vector<op> idle_faults(const configuration& c, const report& r) {
    std::vector<op> out;
    std::ranges::copy_if(c.faults, std::back_inserter(out), [&](op o) {
        return r.fired[static_cast<std::size_t>(o)] == 0;
    });
    return out;
}

struct totals {
    std::uint64_t states = 0;
    std::uint64_t steps = 0;
    int configurations = 0;
    int failures = 0;
    std::set<std::string_view> known_found;
};

void search_one(const configuration& c, const options& o, totals& sum) {
    const auto known = [&](const std::string& violation) {
        return find_known(c.name, kind_of(violation)) != nullptr;
    };
    const report r = explore(c, o.bounds, known);
    sum.states += r.states;
    sum.steps += r.steps;
    ++sum.configurations;
    fmt::print(
        "{:<34} {:>8} states {:>9} steps  depth {}  {}\n",
        c.name,
        r.states,
        r.steps,
        r.complete_depth,
        fired_text(c, r)
    );
    for (const finding& f : r.findings) {
        if (const known_violation* k = find_known(c.name, kind_of(f.violation))) {
            sum.known_found.insert(k->name);
            fmt::print("  known: {}, after {} choices of the adversary\n", k->name, f.faults);
            if (o.traces) {
                fmt::print("{}{}\n", tell(c, f), as_test(c.name, f));
            }
            continue;
        }
        ++sum.failures;
        fmt::print("VIOLATION {}\n{}\n", tell(c, f), as_test(c.name, f));
    }
    for (const op idle : idle_faults(c, r)) {
        ++sum.failures;
        fmt::print("FAULT NEVER FIRED: {} in {}\n", to_string(idle), c.name);
    }
    std::fflush(stdout);
}

std::vector<std::string> split(std::string_view text) {
    std::vector<std::string> out;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(';'), text.size());
        std::string_view one = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        one.remove_prefix(std::min(one.find_first_not_of(' '), one.size()));
        if (!one.empty()) {
            out.emplace_back(one);
        }
    }
    return out;
}

int replay_one(const options& o) {
    const configuration* c = find_configuration(o.only);
    if (c == nullptr) {
        fmt::print(stderr, "search: there is no configuration named {}\n", o.only);
        return 2;
    }
    const finding f{"as given", split(o.replay)};
    fmt::print("{}", tell(*c, f));
    const auto found = replay(*c, f.choices);
    for (const std::string& violation : found) {
        fmt::print("violated: {}\n", violation);
    }
    return found.empty() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    options o;
    if (!read_options(argc, argv, o)) {
        std::fputs(usage, stderr);
        return 2;
    }
    if (!o.replay.empty()) {
        return replay_one(o);
    }
    totals sum;
    for (const configuration& c : all_configurations()) {
        if (c.name.starts_with(o.only)) {
            search_one(c, o, sum);
        }
    }
    if (sum.configurations == 0) {
        fmt::print(stderr, "search: no configuration's name begins with {}\n", o.only);
        return 2;
    }
    if (o.expect_known) {
        for (const known_violation& k : all_known_violations()) {
            if (!sum.known_found.contains(k.name)) {
                ++sum.failures;
                fmt::print("NOT FOUND ANY MORE: {}: {}\n", k.name, k.what);
            }
        }
    }
    fmt::print(
        "{} configurations, {} states, {} steps, {} known violations found, {} failures\n",
        sum.configurations,
        sum.states,
        sum.steps,
        sum.known_found.size(),
        sum.failures
    );
    return sum.failures == 0 ? 0 : 1;
}
