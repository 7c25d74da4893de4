// SPDX-License-Identifier: Apache-2.0
//
// The search itself: that choices have names, that states are merged where they may be and no
// further, and that a healthy run is one.
#include "canonical.hpp"
#include "checks.hpp"
#include "events.hpp"
#include "explorer.hpp"
#include "gang.hpp"
#include "property/dice.hpp"

#include <catch2/catch.hpp>

#include <set>

using namespace signalbox;
using namespace signalbox::search;

namespace {

const configuration& named(const char* name) {
    const configuration* c = find_configuration(name);
    REQUIRE(c != nullptr);
    return *c;
}

world after(search_context& context, std::initializer_list<const char*> trace) {
    world w = first_world(context);
    for (const char* words : trace) {
        const auto c = find_choice(w, words);
        INFO(words);
        REQUIRE(c.has_value());
        outcome done;
        apply(w, *c, done);
        REQUIRE(done.violations == violations{});
    }
    return w;
}

}  // namespace

TEST_CASE("there are many configurations, and each has a name of its own") {
    std::set<std::string> names;
    for (const configuration& c : all_configurations()) {
        CHECK(names.insert(c.name).second);
    }
    CHECK(names.size() >= 60);
}

TEST_CASE("every choice is found again by its words, and no two share them") {
    for (const configuration& c : all_configurations()) {
        search_context context(c);
        test::dice d(7);
        world w = first_world(context);
        for (int i = 0; i < 25; ++i) {
            const auto choices = all_choices(w);
            std::set<std::string> words;
            for (const choice& one : choices) {
                const std::string text = to_words(w, one);
                INFO(c.name << ": " << text);
                CHECK(words.insert(text).second);
                CHECK(find_choice(w, text) == one);
            }
            const auto natural = natural_choice(w);
            if (choices.empty() && !natural) {
                break;
            }
            const bool interfere = !choices.empty() && (!natural || d.once_in(2));
            outcome ignored;
            const auto some =
                static_cast<std::size_t>(d.roll(static_cast<int>(choices.size() + 1)));
            apply(w, interfere ? choices[some % choices.size()] : *natural, ignored);
        }
    }
}

TEST_CASE("[behaviour I21] a run without faults makes each child once and few status writes") {
    for (const configuration& c : all_configurations()) {
        search_context context(c);
        world w = first_world(context);
        int writes = 0;
        for (int i = 0; i < 40; ++i) {
            const auto next = natural_choice(w);
            if (!next || next->what == op::wake) {
                break;
            }
            outcome done;
            apply(w, *next, done);
            writes += done.writes;
            CHECK(done.violations == violations{});
        }
        const auto children = static_cast<int>(w.pods.size() + w.children.size());
        INFO(c.name << ": " << writes << " writes for " << children << " children");
        // Kueue is told that all pods are ready.
        CHECK(writes <= children + 9 + (gives_quota(w) ? 1 : 0));
    }
}

TEST_CASE("the time of day and the numbers in UIDs make no other state") {
    search_context context(named("plain: ends"));
    world early = after(context, {"pass", "pass"});
    world late = early;
    late.now += core::seconds(3600);
    late.job = std::make_shared<const core::job_object>([&] {
        core::job_object job = *early.job;
        for (core::condition& each : job.status.conditions) {
            *each.last_transition += core::seconds(3600);
        }
        return job;
    }());
    late.known_job = late.job;
    late.decided.reset();
    late.made += 100;
    CHECK(digest(early) == digest(late));
    for (const char* words : {"pass", "pass", "all start", "pass", "exits worker-0 1"}) {
        for (world* w : {&early, &late}) {
            const auto c = find_choice(*w, words);
            REQUIRE(c.has_value());
            outcome done;
            apply(*w, *c, done);
        }
        CHECK(digest(early) == digest(late));
    }
}

TEST_CASE("what decisions can tell apart is another state") {
    search_context context(named("plain: ends"));
    const world running = after(context, {"pass", "pass", "pass", "pass", "all start", "pass"});
    std::set<std::uint64_t> digests{digest(running)};
    for (const choice& c : all_choices(running)) {
        world next = running;
        outcome ignored;
        apply(next, c, ignored);
        INFO(to_words(running, c));
        CHECK(digests.insert(digest(next)).second);
    }
}

TEST_CASE("what the server refuses is another state") {
    search_context context(named("c10d: refused"));
    const world good = after(context, {"pass"});
    const world quota = after(context, {"pass", "refuse pods: quota"});
    const world invalid = after(context, {"pass", "refuse pods: invalid"});
    CHECK(std::set{digest(good), digest(quota), digest(invalid)}.size() == 3);
}

TEST_CASE("a trace that cannot happen is refused at its place") {
    CHECK(
        replay("plain: ends", {"pass", "exits worker-7 1"}) ==
        violations{"impossible here: exits worker-7 1"}
    );
    CHECK(replay("no such job", {}) == violations{"there is no configuration no such job"});
}

TEST_CASE("the search ends at its bound, counts what it did and finds the same again") {
    const configuration& c = named("plain without budget: ends");
    limits small;
    small.steps = 3'000;
    small.walks = 5;
    const auto none_known = [](const std::string&) { return false; };
    const report a = explore(c, small, none_known);
    const report b = explore(c, small, none_known);
    CHECK(a.steps >= small.steps);
    CHECK(a.steps < 2 * small.steps);
    CHECK(a.steps == b.steps);
    CHECK(a.states == b.states);
    CHECK(a.fired == b.fired);
    CHECK(a.findings.empty());
    CHECK(b.findings.empty());
}

TEST_CASE("a violation is printed as a test that can be pasted") {
    finding found;
    found.violation = "5.3 an incident is judged while an absence is not confirmed";
    found.choices = {"pass", "vanish worker-0"};
    const std::string text = as_test("plain: ends", found);
    CHECK(text.find("[behaviour 5.3]") != std::string::npos);
    CHECK(text.find("replay(\"plain: ends\", {") != std::string::npos);
    CHECK(text.find("\"vanish worker-0\",") != std::string::npos);
}

TEST_CASE("no trace is shortened to one that ends before its last choice") {
    finding found;
    found.choices = {"pass", "vanish nobody"};
    found.violation = "impossible here: vanish nobody";
    CHECK(shortened(named("plain: ends"), found).choices == found.choices);
}
