// SPDX-License-Identifier: Apache-2.0
#include "runtime/pass_schedule.hpp"

#include <catch2/catch.hpp>

#include <initializer_list>
#include <string>

using namespace signalbox::k8sio;
using namespace std::chrono_literals;

namespace {

constexpr steady_time start{1h};

/// One pass over the key that is next.
std::string pass(pass_schedule& s, steady_time now, const reconcile_result& result = {}) {
    const auto key = s.pop(now);
    REQUIRE(key);
    s.begin(*key, now);
    s.end(*key, result, now);
    return *key;
}

}  // namespace

TEST_CASE("[requirement Q7] of keys that are at rest nothing is remembered") {
    pass_schedule s(backoff_policy(), 25ms);
    steady_time now = start;
    for (int i = 0; i < 1000; ++i) {
        s.add_gathered(std::to_string(i), now);
        pass(s, now);
        now += 1s;
    }
    CHECK(s.remembered() <= 64);
    CHECK_FALSE(s.next_time());
}

TEST_CASE("[requirement Q7] a key that does not come to rest is not forgotten among many others") {
    pass_schedule s(backoff_policy(), 25ms);
    reconcile_result wrote;
    wrote.requeue = true;
    steady_time now = start;
    s.add("busy", false, steady_time{});
    for (int i = 0; i < 15; ++i) {
        CHECK(pass(s, now, wrote) == "busy");
        now += 1s;
    }
    CHECK(s.pop(now) == "busy");
    s.begin("busy", now);
    for (int i = 0; i < 1000; ++i) {
        s.add_gathered(std::to_string(i), now);
        pass(s, now);
        now += 1s;
    }
    CHECK(s.end("busy", wrote, now));  // the sixteenth
    for (int i = 0; i < 1000; ++i) {
        s.add(std::to_string(i), false, steady_time{});
        pass(s, now);
    }
    s.add_gathered("busy", now);
    CHECK_FALSE(s.pop(now));
    REQUIRE(s.next_time());
    CHECK(*s.next_time() == now + 5ms);
}

TEST_CASE("[requirement Q11] a pass is charged to its group") {
    pass_schedule s(backoff_policy(), 0ms, [](const std::string& key) { return key.substr(0, 1); });
    const auto add_all = [&s](std::initializer_list<const char*> keys) {
        for (const char* key : keys) {
            s.add(key, false);
        }
    };
    reconcile_result costly;
    costly.cost = 3;
    add_all({"a1"});
    CHECK(pass(s, start, costly) == "a1");
    add_all({"a2", "b1", "b2", "b3", "b4"});
    std::string served;
    while (s.ready() > 0) {
        served += pass(s, start);
    }
    CHECK(served == "b1b2b3a2b4");
}
