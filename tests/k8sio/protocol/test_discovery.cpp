// SPDX-License-Identifier: Apache-2.0
//
// What a server serves, asked again and again: the machine alone, step by step.
#include "k8sio/discovery.hpp"
#include "protocol/discovery_fsm.hpp"

#include <catch2/catch.hpp>

#include <string>
#include <variant>

using namespace signalbox::k8sio;
using namespace std::chrono_literals;
using protocol::discovery_fsm;

namespace {

/// Times as text: `ask 0`, or `sleep 60s`, counted from now.
struct discovery_fixture {
    explicit discovery_fixture(std::size_t resources) : fsm(discovery_timing(), resources) {}

    std::string next(bool lists_complete = true) {
        const auto action = fsm.next(now, lists_complete);
        if (const auto* ask = std::get_if<discovery_fsm::ask>(&action)) {
            return "ask " + std::to_string(ask->resource);
        }
        const auto pause = std::get<discovery_fsm::sleep>(action).until - now;
        return "sleep " + std::to_string(pause / 1s) + "s";
    }
    /// A whole look at two resources, from its first question on.
    std::string look(std::optional<bool> first, std::optional<bool> second, bool lists = true) {
        REQUIRE(next(lists) == "ask 0");
        fsm.answered(first);
        REQUIRE(next(lists) == "ask 1");
        fsm.answered(second);
        return next(lists);
    }

    discovery_fsm fsm;
    steady_time now{100s};
};

}  // namespace

TEST_CASE("[requirement Q12] every resource is asked for, then after each interval") {
    discovery_fixture f(2);
    CHECK_FALSE(f.fsm.settled(true));
    CHECK(f.look(true, false) == "sleep 60s");
    CHECK(f.fsm.settled(true));
    f.now += 59s;
    CHECK(f.next() == "sleep 1s");
    f.now += 1s;
    CHECK(f.look(true, true) == "sleep 60s");
    CHECK(f.fsm.settled(false));  // only the first lists are waited for
}

TEST_CASE("[requirement Q12] without resources there is nothing to wait for") {
    discovery_fixture f(0);
    CHECK(f.next() == "sleep 60s");
    CHECK(f.fsm.settled(true));
}

TEST_CASE("[requirement Q12] after no answer it is asked again sooner, then later each time") {
    discovery_fixture f(2);
    CHECK(f.look(true, std::nullopt) == "sleep 1s");
    for (const int seconds : {2, 4, 8, 16, 32, 60, 60}) {
        f.now += 60s;
        CHECK(f.look(std::nullopt, true) == "sleep " + std::to_string(seconds) + "s");
    }
    f.now += 60s;
    CHECK(f.look(false, true) == "sleep 60s");
    f.now += 60s;
    CHECK(f.look(false, std::nullopt) == "sleep 1s");
}

TEST_CASE("[requirement Q12] the first lists of what is served get their time") {
    discovery_fixture f(2);
    CHECK(f.look(true, true, false) == "sleep 2s");
    CHECK_FALSE(f.fsm.settled(false));
    CHECK(f.fsm.settled(true));
    f.now += 1s;
    CHECK(f.next(false) == "sleep 1s");
    f.now += 1s;
    CHECK(f.next(false) == "sleep 60s");
    CHECK(f.fsm.settled(false));
    f.now += 60s;
    CHECK(f.look(true, true, false) == "sleep 60s");
}

TEST_CASE("[requirement Q12] a first look without all answers waits for lists, then asks soon") {
    discovery_fixture f(2);
    CHECK(f.look(true, std::nullopt, false) == "sleep 2s");
    f.now += 2s;
    CHECK(f.next(false) == "sleep 1s");
    f.now += 1s;
    CHECK(f.look(true, std::nullopt, false) == "sleep 2s");
}

TEST_CASE("[requirement Q12] what a discovery document says") {
    const char* const lists =
        R"({"kind":"APIResourceList","resources":[{"name":"queues"},{"name":"podgroups"}]})";
    const char* const lists_others = R"({"resources":[{"name":"podgroups/status"},7,{}]})";
    CHECK(find_in_discovery(lists, "podgroups") == true);
    CHECK(find_in_discovery(lists_others, "podgroups") == false);
    CHECK(find_in_discovery(R"({"resources":[]})", "podgroups") == false);
    for (const char* const none : {"", "[]", "{}", R"({"resources":{}})", "{\"resources\":["}) {
        CAPTURE(none);
        CHECK_FALSE(find_in_discovery(none, "podgroups"));
    }
}
