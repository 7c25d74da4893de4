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

/// The values of the constants in a namespace of engine/facts/reasons.hpp.
std::set<std::string> reasons_in(const std::string& space) {
    const std::string text = source_text("libjobcore/src/engine/facts/reasons.hpp");
    const std::size_t begin = text.find("namespace " + space + " {");
    const std::size_t end = text.find("}  // namespace " + space, begin);
    REQUIRE(begin != std::string::npos);
    REQUIRE(end != std::string::npos);
    const std::string part = text.substr(begin, end - begin);
    const std::regex value("= *\n? *\"([A-Za-z]+)\"");
    std::set<std::string> out;
    for (auto it = std::sregex_iterator(part.begin(), part.end(), value);
         it != std::sregex_iterator();
         ++it) {
        out.insert((*it)[1]);
    }
    return out;
}

std::set<std::string> reasons_of(std::span<const meaning> table) {
    std::set<std::string> out;
    for (const meaning& m : table) {
        out.insert(std::string(m.reason));
    }
    CHECK(out.size() == table.size());
    return out;
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
    CHECK(reasons_of(cause_meanings()) == reasons_in("cause"));
    CHECK(reasons_of(transition_meanings()) == reasons_in("awaited"));

    // Reasons of conditions, of a TensorBoard and of the phase Resuming: never of a phase alone.
    std::set<std::string> expected = reasons_in("reason");
    for (const char* other :
         {"Failed",
          "NoFailure",
          "NotCreated",
          "NotFinished",
          "NotReady",
          "ReplicaCannotStart",
          "ReplicaFailed",
          "ReplicasAccepted",
          "ReplicasRunning",
          "Resuming",
          "WaitingForDiscovery",
          "WaitingForTraining"}) {
        CAPTURE(other);
        CHECK(expected.erase(other) == 1);
    }
    CHECK(reasons_of(phase_meanings()) == expected);
}

TEST_CASE("[behaviour 4.14] every rule that a table cites is a rule of the project", "[explain]") {
    const std::string rules = source_text("libjobcore/BEHAVIOUR.md");
    constexpr std::string_view prefix = "behaviour ";
    for (const auto table : {phase_meanings(), cause_meanings(), transition_meanings()}) {
        for (const meaning& m : table) {
            CAPTURE(m.reason, m.rule);
            const bool of_api = m.rule.starts_with("api ");
            REQUIRE((of_api || m.rule.starts_with(prefix)));
            const std::string number(m.rule.substr(of_api ? 0 : prefix.size()));
            CHECK(rules.find("\n### " + number + " ") != std::string::npos);
            CHECK_FALSE(m.text.ends_with('.'));
        }
    }
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
