// SPDX-License-Identifier: Apache-2.0
//
// Watches that are cut, and watches that send what is no event.
#include "protocol/reflector_fsm.hpp"
#include "runtime/recording_sink.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <set>

using namespace signalbox::k8sio;
using namespace std::chrono_literals;
using protocol::reflector_action;
using protocol::reflector_fsm;
using test::event;
using test::pod;
using kind = reflector_action::kind;

namespace {

/// A reflector whose watches end as a test says, in virtual time.
struct trouble_fixture {
    trouble_fixture() : fsm(resources::pods(), sink, reflector_options()) {
        REQUIRE(fsm.next(now).what == kind::list);
        list(100);
    }

    void list(int version) {
        list_page page;
        page.resource_version = std::to_string(version);
        newest = std::max(newest, version);
        fsm.on_list(now, page);
    }
    /// Waits as it is told. Gives what comes then, and how long that took.
    std::chrono::nanoseconds wait() {
        const steady_time since = now;
        action = fsm.next(now);
        while (action.what == kind::sleep) {
            now += std::chrono::duration_cast<steady_time::duration>(action.wait);
            action = fsm.next(now);
        }
        return now - since;
    }
    void watching() {
        wait();
        REQUIRE(action.what == kind::watch);
        fsm.on_watch_open(now);
    }
    bool send(const std::string& bytes) { return fsm.on_bytes(now, bytes); }
    void cut() {
        api_error lost;
        lost.code = errc::connection_lost;
        fsm.on_watch_error(now, lost);
    }
    std::string next_version() { return std::to_string(++newest); }

    test::recording_sink sink;
    reflector_fsm fsm;
    steady_time now{};
    reflector_action action;
    int newest = 100;
};

}  // namespace

TEST_CASE_METHOD(
    trouble_fixture,
    "[requirement R6] [requirement W6] a watch that is cut behind each event goes on at once"
) {
    std::chrono::nanoseconds longest{};
    for (int i = 0; i < 200; ++i) {
        watching();
        now += std::chrono::milliseconds{i % 7 * 100};
        REQUIRE(send(event("ADDED", pod("p", next_version()))));
        cut();
        longest = std::max(longest, wait());
        REQUIRE(action.version == std::to_string(newest));
    }
    CHECK(longest <= 200ms);
    CHECK(fsm.counters().lists == 1);
    CHECK(now.time_since_epoch() >= 200 * 200ms);  // and yet it is no loop at full speed
}

TEST_CASE_METHOD(
    trouble_fixture,
    "[requirement R6] [requirement W6] one that is cut every 45 s goes on at once, if silent"
) {
    const auto how = GENERATE(as<std::string>{}, "cut", "ended within an event", "garbled");
    CAPTURE(how);
    for (int i = 0; i < 100; ++i) {
        watching();
        now += 45s;
        if (how == "cut") {
            cut();
        } else if (how == "ended within an event") {
            REQUIRE(send("{"));
            fsm.on_watch_end(now);
        } else {
            REQUIRE_FALSE(send("null\n"));
        }
        CHECK(wait() == 0ns);
        if (action.what == kind::list) {
            list(newest);
        }
    }
}

TEST_CASE_METHOD(
    trouble_fixture,
    "[requirement R6] [requirement W2] a server that takes watches and ends them at once is backed "
    "off from"
) {
    const auto sent = GENERATE(as<std::string>{}, "nothing", "an old event", "new bookmarks");
    const bool in_order = GENERATE(false, true);
    CAPTURE(sent, in_order);
    std::chrono::nanoseconds last{};
    for (int i = 0; i < 12; ++i) {
        watching();
        if (sent == "an old event") {
            REQUIRE(send(event("MODIFIED", pod("p", "100"))));
        } else if (sent == "new bookmarks") {
            REQUIRE(send(event("BOOKMARK", pod("", next_version()))));
        }
        in_order ? fsm.on_watch_end(now) : cut();
        last = wait();
        if (action.what == kind::list) {
            list(newest);
        }
    }
    CHECK(last >= 30s);
    CHECK(last <= 60s);
}

TEST_CASE_METHOD(
    trouble_fixture, "[requirement R6] watches that deliver and end are some way apart, no more"
) {
    const auto open = GENERATE(0ms, 150ms, 200ms, 3000ms);
    const bool in_order = GENERATE(false, true);
    CAPTURE(open.count(), in_order);
    for (int i = 0; i < 12; ++i) {
        watching();
        REQUIRE(send(event("MODIFIED", pod("p", next_version()))));
        now += open;
        in_order ? fsm.on_watch_end(now) : cut();
        CHECK(wait() == std::max(200ms - open, 0ms));
    }
}

TEST_CASE_METHOD(
    trouble_fixture,
    "[requirement W4] [requirement R6] 410 on every watch at once makes no storm of lists"
) {
    const auto first = GENERATE(
        as<std::string>{}, "nothing", "a new bookmark", "a new bookmark, on a watch before"
    );
    CAPTURE(first);
    std::chrono::nanoseconds last{};
    for (int i = 0; i < 12; ++i) {
        watching();
        now += 100ms;
        if (first != "nothing") {
            REQUIRE(send(event("BOOKMARK", pod("", next_version()))));
        }
        if (first == "a new bookmark, on a watch before") {
            fsm.on_watch_end(now);
            watching();
        }
        REQUIRE_FALSE(send(event("ERROR", R"({"kind":"Status","code":410})")));
        last = wait();
        REQUIRE(action.what == kind::list);
        list(newest);
    }
    CHECK(last >= 30s);
    CHECK(last <= 60s);
}

TEST_CASE_METHOD(
    trouble_fixture,
    "[requirement W4] [requirement R6] where a watch served, 410 makes a list at once, or 200 ms "
    "after the begin of the last one"
) {
    struct row {
        const char* first;
        std::chrono::nanoseconds waits;
    };
    const auto [first, waits] = GENERATE(
        row{"an event after 50 ms", 150ms},
        row{"five seconds", 0ms},
        row{"five seconds, ended in order", 200ms},
        row{"five seconds, cut", 200ms},
        row{"an event, cut", 200ms},
        row{"an event, garbled", 200ms},
        row{"an event, 429", 200ms},
        row{"an event, 500", 200ms},
        row{"an event, ended in order, and a bookmark for three seconds", 200ms}
    );
    const std::string how = first;
    CAPTURE(how);
    for (int i = 0; i < 12; ++i) {
        watching();
        if (how.starts_with("an event")) {
            now += 50ms;
            REQUIRE(send(event("ADDED", pod("p", next_version()))));
        } else {
            now += 5s;
        }
        if (how.find("cut") != how.npos) {
            cut();
            watching();
        } else if (how.find("garbled") != how.npos) {
            REQUIRE_FALSE(send("null\n"));
            watching();
        } else if (how.find("429") != how.npos || how.find("500") != how.npos) {
            const std::string code = how.substr(how.size() - 3);
            REQUIRE_FALSE(send(event("ERROR", R"({"kind":"Status","code":)" + code + "}")));
            watching();
        } else if (how.find("ended") != how.npos) {
            fsm.on_watch_end(now);
            watching();
        }
        if (how.find("bookmark") != how.npos) {
            now += 3s;
            REQUIRE(send(event("BOOKMARK", pod("", next_version()))));
            fsm.on_watch_end(now);
            watching();
        }
        REQUIRE_FALSE(send(event("ERROR", R"({"kind":"Status","code":410})")));
        CHECK(wait() == waits);
        REQUIRE(action.what == kind::list);
        list(newest);
    }
}

TEST_CASE_METHOD(
    trouble_fixture,
    "[requirement W4] [requirement R6] a fault of the server behind a watch that served is the "
    "first"
) {
    const auto code = GENERATE(as<std::string>{}, "500", "503", "504");
    CAPTURE(code);
    const std::string fault =
        event("ERROR", R"({"kind":"Status","reason":"Timeout","code":)" + code + "}");
    for (int i = 0; i < 20; ++i) {
        watching();
        now += 5min;
        REQUIRE_FALSE(send(fault));
        CHECK(wait() == 0ns);
        REQUIRE(action.what == kind::watch);
        CHECK(action.version == "100");
    }
    CHECK(fsm.counters().lists == 1);
    // Four more do, if they serve nothing.
    for (int i = 0; i < 4; ++i) {
        REQUIRE(action.what == kind::watch);
        fsm.on_watch_open(now);
        REQUIRE_FALSE(send(fault));
        CHECK(wait() >= 800ms);
    }
    CHECK(action.what == kind::list);
}

TEST_CASE_METHOD(
    trouble_fixture, "[requirement R6] behind a watch that served and ended, delays begin anew"
) {
    for (int i = 0; i < 6; ++i) {
        watching();
        cut();
    }
    watching();
    now += 5s;
    fsm.on_watch_end(now);
    watching();
    cut();
    const auto delay = wait();
    CHECK(delay >= 800ms);
    CHECK(delay <= 1600ms);
}

TEST_CASE_METHOD(
    trouble_fixture,
    "[requirement W3] [requirement R6] silent ends make no list hasty, whatever was served before"
) {
    watching();
    REQUIRE(send(event("ADDED", pod("p", next_version()))));
    now += 1s;
    fsm.on_watch_end(now);
    for (int i = 0; i < 3; ++i) {
        watching();
        now += 1500ms;
        fsm.on_watch_end(now);
    }
    CHECK(wait() >= 800ms);
    CHECK(action.what == kind::list);
}

TEST_CASE_METHOD(
    trouble_fixture, "[requirement R6] what a watch has delivered makes no list or probe hasty"
) {
    watching();
    REQUIRE(send(event("ADDED", pod("p", next_version()))));
    now += 10s;
    REQUIRE_FALSE(send(event("ERROR", R"({"kind":"Status","code":410})")));
    std::chrono::nanoseconds last{};
    for (int i = 0; i < 8; ++i) {
        last = wait();
        REQUIRE(action.what == kind::list);
        api_error lost;
        lost.code = errc::connection_lost;
        fsm.on_list(now, lost);
    }
    CHECK(last >= 30s);
}

TEST_CASE_METHOD(
    trouble_fixture, "[requirement W3] an old event is no word that makes a short watch good"
) {
    for (const auto lasted : {0ms, 1500ms, 1500ms}) {
        watching();
        REQUIRE(send(event("MODIFIED", pod("p", "100"))));
        now += lasted;
        fsm.on_watch_end(now);
        CHECK((wait() >= 800ms || lasted > 0ms));
    }
    CHECK(action.what == kind::list);  // the third is taken for an expired version
}

TEST_CASE_METHOD(
    trouble_fixture,
    "[requirement W7] what is no event ends the watch, moves nothing, and makes a list"
) {
    const std::string whole = event("ADDED", pod("lost", "101"));
    const std::string cut_line = whole.substr(0, whole.size() / 2);
    const auto garbage = GENERATE_COPY(
        as<std::string>{},
        "null\n",
        "<html>",
        R"({"type":"ADDED","object":null})",
        R"({"type":"PURGED","object":)" + pod("lost", "101") + "}\n",
        R"({"type":"ADDED","object":{"kind":"Table","metadata":{"resourceVersion":"101"}}})",
        R"({"kind":"Status","code":500})",
        whole.substr(whole.size() / 2),                      // its front is missing
        cut_line + "\n",                                     // its rest is missing
        cut_line + event("ADDED", pod("next", "102")),       // the same, without a line end
        whole.substr(0, whole.find("101")) + "\n" + whole,   // cut within a text
        whole.substr(0, whole.rfind("object") + 8) + "\n{}"  // cut where an object may begin
    );
    CAPTURE(garbage);
    watching();
    REQUIRE(send(event("MODIFIED", pod("kept", "101"))));
    now += 7s;
    CHECK_FALSE(send(garbage));
    CHECK_FALSE(fsm.last_error().empty());
    CHECK(sink.held.count("lost") == 0);
    CHECK(sink.held.count("next") == 0);
    CHECK(wait() == 0ns);
    REQUIRE(action.what == kind::watch);
    CHECK(action.version == "101");
    // More events may be missing: the watch is short, and then everything is listed.
    CHECK(action.timeout == 20s);
    CHECK(fsm.counters().lists == 1);
    fsm.on_watch_open(now);
    now += 20s;
    fsm.on_watch_end(now);
    wait();
    REQUIRE(action.what == kind::list);
    CHECK(action.list.resource_version.empty());
    list(150);
    wait();
    CHECK(action.what == kind::watch);
    CHECK(action.timeout >= 300s);  // once
}

TEST_CASE_METHOD(
    trouble_fixture, "[requirement W7] one list does for all that is garbled in twenty seconds"
) {
    for (int i = 0; i < 20; ++i) {
        watching();
        REQUIRE(send(event("ADDED", pod("p", next_version()))));
        now += 900ms;
        REQUIRE_FALSE(send("null\n"));
    }
    CHECK(fsm.counters().lists == 1);
    now += 3s;
    wait();
    CHECK(action.what == kind::list);
}

TEST_CASE_METHOD(
    trouble_fixture, "[requirement W7] the rest of an event is awaited for a short time only"
) {
    watching();
    REQUIRE(send("{\"type\":"));
    CHECK(fsm.is_within_event());
    REQUIRE(send("\"ADDED\",\"object\":" + pod("p", "101") + "}"));
    CHECK_FALSE(fsm.is_within_event());
    REQUIRE(send("{\"type\":"));
    now += 10s;
    fsm.on_watch_stalled(now);
    CHECK(wait() == 0ns);
    REQUIRE(action.what == kind::watch);
    CHECK(action.version == "101");
    CHECK(action.timeout == 20s);
    CHECK(sink.held.count("p") == 1);
}
