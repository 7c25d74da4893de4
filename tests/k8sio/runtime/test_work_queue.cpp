// SPDX-License-Identifier: Apache-2.0
#include "k8sio/work_queue.hpp"

#include <catch2/catch.hpp>

using namespace signalbox::k8sio;
using namespace std::chrono_literals;

namespace {

const steady_time work_start{};

std::string pop_all(work_queue& queue, steady_time now) {
    std::string out;
    while (auto key = queue.pop(now)) {
        out += *key;
        queue.done(*key);
    }
    return out;
}

}  // namespace

TEST_CASE("[requirement Q1] a key is in the queue once, in order of its first arrival") {
    work_queue queue;
    for (const char* key : {"a", "b", "a", "c", "b"}) {
        queue.add(key);
    }
    CHECK(queue.ready_size() == 3);
    CHECK(pop_all(queue, work_start) == "abc");
    CHECK(queue.idle());
}

TEST_CASE("[requirement Q1] a key added while it is processed runs again after, not beside") {
    work_queue queue;
    queue.add("a");
    REQUIRE(queue.pop(work_start) == "a");
    queue.add("a");
    queue.add("a");
    CHECK_FALSE(queue.pop(work_start));
    CHECK_FALSE(queue.idle());
    queue.done("a");
    CHECK(pop_all(queue, work_start) == "a");
    CHECK(queue.idle());
}

TEST_CASE("[requirement Q11] groups take turns, and each group's keys come in order of arrival") {
    work_queue queue(backoff_policy(), [](const std::string& key) { return key.substr(0, 1); });
    for (const char* key : {"a1", "a2", "a3", "a4", "b1", "c1", "b2"}) {
        queue.add(key);
    }
    CHECK(pop_all(queue, work_start) == "a1b1c1a2b2a3a4");
    // No turn is saved up by a group that had nothing to do.
    for (const char* key : {"a5", "a6", "b3", "d1", "d2"}) {
        queue.add(key);
    }
    CHECK(pop_all(queue, work_start) == "b3d1a5d2a6");
}

TEST_CASE("[requirement Q11] who joins while others wait does not come before their next turn") {
    work_queue queue(backoff_policy(), [](const std::string& key) { return key.substr(0, 1); });
    for (const char* key : {"a1", "a2", "a3"}) {
        queue.add(key);
    }
    for (const char* key : {"a1", "a2"}) {
        REQUIRE(queue.pop(work_start) == key);
        queue.done(key);
    }
    queue.add("b1");
    queue.add("b2");
    queue.add("a4");
    CHECK(pop_all(queue, work_start) == "b1a3b2a4");
}

TEST_CASE("[requirement Q11] what costs much lets the other groups go first, so often") {
    work_queue queue(backoff_policy(), [](const std::string& key) { return key.substr(0, 1); });
    queue.add("a1");
    REQUIRE(queue.pop(work_start) == "a1");
    queue.charge("a1", 3);
    queue.add("a1");  // again, after done()
    queue.done("a1");
    std::string served;
    for (int i = 0; i < 6; ++i) {
        queue.add("b1");
        const auto key = queue.pop(work_start);
        REQUIRE(key);
        served += *key;
        queue.done(*key);
    }
    CHECK(served == "b1b1b1b1a1b1");
    queue.charge("a1", 1000);
    queue.add("a1");
    queue.add("b1");
    CHECK(pop_all(queue, work_start) == "b1a1");  // and no turn is left unused
}

TEST_CASE(
    "[requirement Q11] of groups at rest nothing is remembered, of one that is behind its turn"
) {
    work_queue queue(backoff_policy(), [](const std::string& key) { return key; });
    queue.charge("loud", 5000);
    for (int i = 0; i < 1000; ++i) {
        queue.add(std::to_string(i));
        REQUIRE(queue.pop(work_start) == std::to_string(i));
        queue.done(std::to_string(i));
        queue.add("next to it");
        REQUIRE(queue.pop(work_start) == "next to it");
        queue.done("next to it");
    }
    CHECK(queue.remembered_groups() <= 128);
    queue.add("loud");
    queue.add("quiet");
    CHECK(queue.pop(work_start) == "quiet");
}

TEST_CASE("[requirement Q11] low priority stays behind, whatever its group has used") {
    work_queue queue(backoff_policy(), [](const std::string& key) { return key.substr(0, 1); });
    queue.charge("a", 100);
    queue.add("b1", true);
    queue.add("a1");
    queue.add("a2");
    CHECK(pop_all(queue, work_start) == "a1a2b1");
}

TEST_CASE("[requirement Q2] a delayed key keeps the earlier of two times") {
    work_queue queue;
    queue.add_at("a", work_start + 10s);
    queue.add_at("a", work_start + 5s);
    queue.add_at("a", work_start + 20s);
    CHECK(queue.next_time() == work_start + 5s);
    CHECK_FALSE(queue.pop(work_start + 4s));
    CHECK(pop_all(queue, work_start + 5s) == "a");
    CHECK_FALSE(queue.next_time());
    CHECK(pop_all(queue, work_start + 60s).empty());
}

TEST_CASE("[requirement Q2] a wake-up for the past runs now") {
    work_queue queue;
    queue.add_at("a", work_start - 1h);
    CHECK(pop_all(queue, work_start) == "a");
}

TEST_CASE("[requirement Q7] a wake-up armed while its key is processed is not lost") {
    work_queue queue;
    queue.add("a");
    REQUIRE(queue.pop(work_start) == "a");
    queue.add_at("a", work_start + 1s);
    CHECK_FALSE(queue.pop(work_start + 2s));  // due, but in processing
    queue.done("a");
    CHECK(pop_all(queue, work_start + 2s) == "a");
}

TEST_CASE("[requirement Q3] what may be over at any time is tried again twice a minute at least") {
    work_queue queue;
    steady_time now = work_start;
    for (int i = 0; i < 20; ++i) {
        now = queue.add_rate_limited("a", now, true);
    }
    CHECK(queue.add_rate_limited("a", now, true) == now + 30s);
    CHECK(queue.add_rate_limited("a", now, false) == now + 5min);
}

TEST_CASE("[requirement Q3] the delay of a failing key doubles to its cap; forget resets it") {
    backoff_policy policy;
    policy.initial = 5ms;
    policy.max = 1s;
    work_queue queue(policy);
    std::vector<std::chrono::nanoseconds> delays;
    for (int i = 0; i < 10; ++i) {
        queue.add_rate_limited("a", work_start);
        delays.emplace_back(*queue.next_time() - work_start);
        REQUIRE(queue.pop(*queue.next_time()) == "a");
        queue.done("a");
    }
    CHECK(
        delays ==
        std::vector<std::chrono::nanoseconds>{
            5ms, 10ms, 20ms, 40ms, 80ms, 160ms, 320ms, 640ms, 1s, 1s}
    );
    queue.forget("a");
    queue.add_rate_limited("a", work_start);
    CHECK(queue.next_time() == work_start + 5ms);
}

TEST_CASE("[requirement Q4] a pass that starts drops the old wake-up of its key") {
    work_queue queue;
    queue.add_at("a", work_start + 10s);
    queue.add("a");
    REQUIRE(queue.pop(work_start) == "a");
    queue.add_at("a", work_start + 30s);
    queue.done("a");
    CHECK(queue.next_time() == work_start + 30s);
}

TEST_CASE("[requirement Q5] low priority comes behind, and rises when the key is wanted") {
    work_queue queue;
    queue.add("low", true);
    queue.add("rising", true);
    queue.add("high");
    queue.add("rising");
    queue.add("high", true);
    CHECK(queue.ready_size() == 3);
    CHECK(pop_all(queue, work_start) == "highrisinglow");
}

TEST_CASE("[requirement Q7] a dropped key leaves nothing behind") {
    work_queue queue;
    queue.add("a");
    queue.add_at("b", work_start + 1s);
    queue.drop("a");
    queue.drop("b");
    CHECK(pop_all(queue, work_start + 1h).empty());
    queue.add("c");
    REQUIRE(queue.pop(work_start) == "c");
    queue.add("c");
    queue.drop("c");
    queue.done("c");
    CHECK(queue.idle());
    CHECK_FALSE(queue.next_time());
}
