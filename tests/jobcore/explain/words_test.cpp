// SPDX-License-Identifier: Apache-2.0
//
// How times and lists are said; and that no reason of the engine is without a sentence.
#include "explain/words.hpp"

#include "explain/tables.hpp"
#include "jobcore/policy_fields.hpp"
#include "signalbox_test/source_files.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <regex>
#include <set>

using namespace signalbox::core;
using namespace signalbox::core::explaining;
using signalbox::test::source_text;

namespace {

template <class Value>
std::set<Value> all_values() {
    std::set<Value> out;
    for (const auto& w : engine::word_table(Value{})) {
        out.insert(w.is);
    }
    return out;
}

template <class Value>
std::set<Value> explained_values(std::span<const meaning<Value>> table) {
    std::set<Value> out;
    for (const meaning<Value>& m : table) {
        out.insert(m.what);
    }
    CHECK(out.size() == table.size());
    return out;
}

template <class Value>
void check_citations(std::span<const meaning<Value>> table, const std::string& rules) {
    constexpr std::string_view prefix = "behaviour ";
    for (const meaning<Value>& m : table) {
        CAPTURE(to_string(m.what), m.rule);
        const bool of_api = m.rule.starts_with("api ");
        REQUIRE((of_api || m.rule.starts_with(prefix)));
        const std::string number(m.rule.substr(of_api ? 0 : prefix.size()));
        CHECK(rules.find("\n### " + number + " ") != std::string::npos);
        CHECK_FALSE(m.text.ends_with('.'));
    }
}

}  // namespace

TEST_CASE("durations are said in the two units that matter", "[explain]") {
    const auto [length, said] = GENERATE(table<milliseconds, std::string>({
        {milliseconds(0), "0 s"},
        {milliseconds(999), "0 s"},
        {seconds(119), "119 s"},
        {seconds(120), "2 min"},
        {seconds(320), "5 min 20 s"},
        {seconds(2 * 3600), "2 h"},
        {seconds(26 * 3600 + 61), "26 h 1 min"},
        {seconds(52 * 3600), "2 d 4 h"},
        {-seconds(320), "5 min 20 s"},
    }));
    CHECK(words_of(length) == said);
}

TEST_CASE("times are said absolutely and from now", "[explain]") {
    const instant now = *parse_time("2026-01-31T12:00:00Z");
    CHECK(words_of(now + seconds(40), now) == "2026-01-31T12:00:40Z (in 40 s)");
    CHECK(words_of(now - seconds(300), now) == "2026-01-31T11:55:00Z (5 min ago)");
    CHECK(words_of(now, now) == "2026-01-31T12:00:00Z (now)");
}

TEST_CASE("lists name a few and count the rest", "[explain]") {
    const std::vector<std::string> names{"a", "b", "c", "d", "e"};
    CHECK(list_of({names.data(), 0}) == "");
    CHECK(list_of({names.data(), 1}) == "a");
    CHECK(list_of({names.data(), 2}) == "a and b");
    CHECK(list_of(names) == "a, b, c, d and e");
    CHECK(list_of(names, 4) == "a, b, c, d and e");
    CHECK(list_of(names, 3) == "a, b, c and 2 more");
}

TEST_CASE("what others wrote fits into one line", "[explain]") {
    CHECK(quoted_text("exit\n\tstatus 1. \n") == "exit  status 1");
    const std::string umlauts = [] {
        std::string out;
        for (int i = 0; i < 700; ++i) {
            out += "\xC3\xA4";
        }
        return out;
    }();
    CHECK(quoted_text(umlauts) == umlauts.substr(0, 1280));
    CHECK(quoted_text("x" + umlauts).size() == 1279);  // no half character
}

TEST_CASE("a sentence begins with a capital, a path does not", "[explain]") {
    CHECK(sentence("create Pod a") == "Create Pod a");
    CHECK(sentence("spec.scheduler asks") == "spec.scheduler asks");
    CHECK(sentence("").empty());
}

TEST_CASE("every reason that the engine gives has a sentence", "[explain]") {
    CHECK(explained_values(cause_meanings()) == all_values<engine::cause>());
    CHECK(explained_values(transition_meanings()) == all_values<engine::awaited>());

    // Reasons of conditions, of a TensorBoard, of events and of the phase Resuming: never of a
    // phase alone.
    using engine::reason;
    std::set<reason> expected = all_values<reason>();
    for (const reason other :
         {reason::none,
          reason::failed,
          reason::no_failure,
          reason::not_created,
          reason::not_finished,
          reason::not_ready,
          reason::replica_cannot_start,
          reason::replica_failed,
          reason::replicas_accepted,
          reason::replicas_running,
          reason::resuming,
          reason::trains,
          reason::waiting_for_discovery,
          reason::waiting_for_training,
          reason::admitted,
          reason::cleaned_up,
          reason::created,
          reason::evicted,
          reason::new_replica,
          reason::resumed,
          reason::running,
          reason::scaled,
          reason::spec_changed,
          reason::start,
          reason::status_repaired,
          reason::workers_left_running}) {
        CAPTURE(to_string(other));
        CHECK(expected.erase(other) == 1);
    }
    CHECK(explained_values(phase_meanings()) == expected);
}

TEST_CASE("[behaviour 4.14] every rule that a table cites is a rule of the project", "[explain]") {
    const std::string rules = source_text("libjobcore/BEHAVIOUR.md");
    check_citations(phase_meanings(), rules);
    check_citations(cause_meanings(), rules);
    check_citations(transition_meanings(), rules);
}

TEST_CASE("every constant of policy can be set by its name", "[text]") {
    const std::string header = source_text("libjobcore/include/jobcore/policy.hpp");
    const std::regex member("    (?:milliseconds|std::int32_t) ([a-z_]+) =");
    std::set<std::string> members;
    for (auto it = std::sregex_iterator(header.begin(), header.end(), member);
         it != std::sregex_iterator();
         ++it) {
        members.insert((*it)[1]);
    }
    std::set<std::string> names;
    for (const policy_field& field : policy_fields()) {
        names.insert(std::string(field.name));
    }
    CHECK(names == members);

    policy p;
    CHECK(set_policy_field(p, "settle", 7));
    CHECK(p.settle == milliseconds(7));
    CHECK(set_policy_field(p, "replica_events", 3));
    CHECK(p.replica_events == 3);
    CHECK_FALSE(set_policy_field(p, "settles", 7));
}
