// SPDX-License-Identifier: Apache-2.0
#include "runtime/pass_schedule.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <initializer_list>
#include <map>
#include <string>
#include <utility>
#include <vector>

using namespace signalbox::k8sio;
using namespace std::chrono_literals;

namespace {

constexpr steady_time start{1h};

/// Changes of one key are gathered for so long; the first `characters` of a key are its group.
controller_options gathering(std::chrono::nanoseconds gather, std::size_t characters = 0) {
    controller_options out;
    out.gather = gather;
    if (characters > 0) {
        out.group_of = [characters](const std::string& key) { return key.substr(0, characters); };
    }
    return out;
}

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
    pass_schedule s(gathering(25ms));
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
    pass_schedule s(gathering(25ms));
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

TEST_CASE("[requirement Q3] what a pass writes does not hurry a key that does not come to rest") {
    pass_schedule s(gathering(25ms));
    reconcile_result wrote;
    wrote.requeue = true;
    steady_time now = start;
    std::chrono::nanoseconds delay{};
    s.add("busy", false, steady_time{});
    for (int i = 0; i < 24; ++i) {
        REQUIRE(s.pop(now) == "busy");
        s.begin("busy", now);
        s.add_gathered("busy", now);  // the watch tells what it wrote
        s.end("busy", wrote, now);
        if (s.ready() == 0) {
            REQUIRE(s.next_time());
            delay = *s.next_time() - now;
            now = *s.next_time();
        }
    }
    CHECK(delay == 5ms * 256);  // doubled from the sixteenth pass on
}

TEST_CASE("[requirement Q11] a pass is charged to its group") {
    pass_schedule s(gathering(0ms, 1));
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

namespace {

/// Keys are a group and a load: `a30`.
controller_options with_load(std::size_t max_passes) {
    controller_options out = gathering(0ms, 1);
    out.load_of = [](const std::string& key) { return std::stoul(key.substr(1)); };
    out.max_load = 100;
    out.max_concurrent_reconciles = max_passes;
    return out;
}

struct loaded {
    explicit loaded(std::size_t max_passes = 64) : s(with_load(max_passes)) {}

    pass_schedule s;

    void add(std::initializer_list<const char*> keys) {
        for (const char* key : keys) {
            s.add(key, false);
        }
    }
    /// Begins what may begin.
    std::string begin() {
        std::string begun;
        while (const auto key = s.pop(start)) {
            if (s.may_begin(*key)) {
                s.begin(*key, start);
                begun += *key + " ";
            }
        }
        return begun;
    }
    std::string end(const std::string& key) {
        s.end(key, {}, start);
        return begin();
    }
};

}  // namespace

TEST_CASE("[requirement Q13] passes that take much wait for each other, and others pass them") {
    loaded w;
    w.add({"a40", "b60", "c30", "d0", "e1"});
    CHECK(w.begin() == "a40 b60 d0 ");
    CHECK(w.end("d0").empty());
    CHECK(w.end("a40") == "c30 e1 ");
    w.add({"f500"});
    CHECK(w.begin().empty());
    w.end("b60");
    w.end("c30");
    CHECK(w.end("e1") == "f500 ");  // alone, as it must go some time
    w.end("f500");
    CHECK(w.s.ready() == 0);
}

TEST_CASE("[requirement Q13] one group gets half of what passes may take") {
    loaded w;
    w.add({"a30", "a31", "a20", "b40"});
    CHECK(w.begin() == "a30 b40 a20 ");
    CHECK(w.end("b40").empty());
    CHECK(w.end("a20").empty());
    w.add({"a19"});
    CHECK(w.begin() == "a19 ");
    CHECK(w.end("a30") == "a31 ");
}

TEST_CASE("[requirement Q13] a key that waits for room is there once, and may be forgotten") {
    loaded w;
    w.add({"a90", "b20", "c20"});
    CHECK(w.begin() == "a90 ");
    w.add({"b20", "c20"});
    CHECK(w.begin().empty());
    w.add({"d0"});
    CHECK(w.begin() == "d0 ");
    w.s.end("d0", {}, start);
    CHECK(w.s.ready() == 2);
    w.s.forget("c20");
    CHECK(w.end("a90") == "b20 ");
    CHECK(w.s.ready() == 0);
}

TEST_CASE("[requirement Q13] room for a large pass is room for several small ones") {
    loaded w;
    w.add({"a50", "b50", "c9", "c10", "c11"});
    CHECK(w.begin() == "a50 b50 ");
    CHECK(w.end("a50") == "c9 c10 c11 ");
}

TEST_CASE("[requirement Q13] what takes nothing waits for no room") {
    loaded w;
    w.add({"f500", "a0"});
    CHECK(w.begin() == "f500 a0 ");
}

TEST_CASE("[requirement Q11] however many passes a group has under way, the next finds a place") {
    loaded w(8);
    w.add({"a01", "a02", "a03", "a04", "a05", "a06"});
    CHECK(w.begin() == "a01 a02 a03 a04 ");
    CHECK(w.s.ready() == 2);
    w.add({"b01", "b02", "b03"});
    CHECK(w.begin() == "b01 b02 ");
    w.add({"c01", "c02"});
    CHECK(w.begin() == "c01 ");
    w.add({"d01"});
    CHECK(w.begin() == "d01 ");
    // Who has fewest gets the next place.
    CHECK(w.end("a01").empty());
    CHECK(w.end("d01") == "c02 ");
    w.s.end("a02", {}, start);
    w.s.end("a03", {}, start);
    w.s.end("b01", {}, start);
    CHECK(w.end("b02") == "a05 b03 a06 ");
}

TEST_CASE("[requirement Q11] a key whose turn has come and that does not begin holds up no other") {
    for (const bool is_gone : {true, false}) {
        CAPTURE(is_gone);
        loaded w(2);
        w.add({"a01", "a02", "a03"});
        CHECK(w.begin() == "a01 ");
        w.s.end("a01", {}, start);
        if (is_gone) {
            w.s.forget("a02");
        } else {
            CHECK(w.s.pop(start) == "a02");
            w.s.block("a02");
        }
        CHECK(w.begin() == "a03 ");
        w.s.release([](const std::string&) { return true; });
        CHECK(w.end("a03") == (is_gone ? "" : "a02 "));
        CHECK(w.s.ready() == 0);
    }
}

TEST_CASE("[requirement H3] the time for which a key waits for a place counts as its wait") {
    loaded w(2);
    w.s.add("a01", false, start - 3s);
    w.s.add("a02", false, start - 2s);
    w.s.add("a03", false, start - 1s);
    CHECK(w.begin() == "a01 ");
    w.s.end("a01", {}, start);
    CHECK(w.s.pop(start) == "a02");
    CHECK(w.s.waited_since() == start - 2s);
    REQUIRE(w.s.may_begin("a02"));
    w.s.begin("a02", start);
    w.s.end("a02", {}, start);
    CHECK(w.s.pop(start) == "a03");
    CHECK(w.s.waited_since() == start - 1s);
}

TEST_CASE("[requirement Q11] without groups all places are for all") {
    controller_options one_group = gathering(0ms);
    one_group.max_concurrent_reconciles = 4;
    pass_schedule s(one_group);
    for (const char* key : {"a", "b", "c", "d"}) {
        s.add(key, false);
        REQUIRE(s.pop(start) == key);
        CHECK(s.may_begin(key));
        s.begin(key, start);
    }
}

TEST_CASE("[requirement Q11] of a thousand keys that wait for a place one is tried for each end") {
    std::size_t asked = 0;
    controller_options counted = gathering(0ms, 1);
    counted.max_concurrent_reconciles = 2;
    counted.load_of = [&asked](const std::string&) {
        ++asked;
        return std::size_t{1};
    };
    pass_schedule s(counted);
    for (int i = 0; i < 1000; ++i) {
        s.add("a" + std::to_string(i), false);
    }
    std::string running;
    const auto begin_all = [&] {
        while (const auto key = s.pop(start)) {
            if (s.may_begin(*key)) {
                s.begin(*key, start);
                running = *key;
            }
        }
    };
    begin_all();
    for (int i = 0; i < 999; ++i) {
        s.end(running, {}, start);
        begin_all();
        CHECK(running == "a" + std::to_string(i + 1));
    }
    CHECK(asked <= 4 * 1000);
}

namespace {

/// One worker, twenty namespaces, and time that passes while it works. `00/large` is a job of
/// 1.3 MB that is edited 24 times a second, `01/...` are three thousand jobs that each need five
/// passes; each other namespace has a job that changes once a second.
struct twenty_tenants {
    static constexpr auto large_pass = 40ms;
    static constexpr auto small_pass = 1ms;

    pass_schedule s{gathering(25ms, 2)};
    steady_time now = start;
    std::multimap<steady_time, std::string> events;
    std::map<std::string, steady_time> changed;  ///< and not looked at since
    std::map<std::string, int> passes;           ///< by namespace
    std::chrono::nanoseconds longest{};          ///< that a quiet job waited

    twenty_tenants() {
        for (int i = 0; i < 24 * 10; ++i) {
            events.emplace(start + i * 1000ms / 24, "00/large");
        }
        for (int i = 0; i < 3000; ++i) {
            s.add("01/" + std::to_string(i), false, start);
        }
        for (int tenant = 2; tenant < 20; ++tenant) {
            for (int second = 0; second < 10; ++second) {
                const std::string key = std::to_string(100 + tenant).substr(1) + "/job";
                events.emplace(start + second * 1000ms + tenant * 37ms, key);
            }
        }
    }
    void bring_events() {
        while (!events.empty() && events.begin()->first <= now) {
            const auto [at, key] = *events.begin();
            events.erase(events.begin());
            changed.emplace(key, at);
            s.add(key, false, at);
        }
    }
    void work() {
        const auto key = s.pop(now);
        if (!key) {
            now += small_pass;
            return;
        }
        const std::string tenant = key->substr(0, 2);
        const auto since = changed.find(*key);
        if (since != changed.end()) {
            longest = tenant == "00" ? longest : std::max(longest, now - since->second);
            changed.erase(since);
        }
        s.begin(*key, now);
        ++passes[tenant];
        reconcile_result result;
        result.cost = tenant == "00" ? 318 : 1;
        result.requeue = tenant == "01" && passes[tenant] <= 12000;
        now += tenant == "00" ? large_pass : small_pass;
        bring_events();
        s.end(*key, result, now);
    }
};

}  // namespace

TEST_CASE("[requirement Q11] among twenty tenants two loud ones delay the others by a pass") {
    twenty_tenants w;
    while (w.now < start + 10s) {
        w.bring_events();
        w.work();
    }
    // One pass over the large job, and one of each other namespace.
    CHECK(w.longest <= w.large_pass + 19 * w.small_pass);
    for (const auto& [tenant, passes] : w.passes) {
        CAPTURE(tenant);
        CHECK(passes >= 10);
    }
    // Who has many jobs gets what the others leave, and the large one a pass for many of them.
    CHECK(w.passes["01"] > 7000);
    CHECK(w.passes["00"] < 60);
}
