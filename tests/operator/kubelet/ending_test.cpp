// SPDX-License-Identifier: Apache-2.0
//
// How pods and containers are brought to their end, over scripted containers.
#include "node_fixture.hpp"

#include <csignal>

using namespace signalbox;
using namespace signalbox::op;
using namespace signalbox::op::test;
using namespace std::chrono_literals;

namespace {

using signals = std::vector<int>;

/// Never ends by itself.
process_script stubborn() {
    process_script out;
    out.ignores_term = true;
    return out;
}

}  // namespace

TEST_CASE("a deleted pod gets SIGTERM, its grace, and SIGKILL") {
    node_fixture n;
    process_script script;
    script.stops_after = 2s;
    n.containers().script = [&](const auto&) { return script; };
    SECTION("it stops") {
        n.create("a", one());
        n.run_for(1s);
        n.remove("a");
        n.run_for(1s);
        CHECK(n.process(0).signals == std::vector<int>{SIGTERM});
        CHECK(n.phase("a") == "Running");
        CHECK(n.has_event("a", "Killing: Stopping container c"));
        n.run_for(2s);
        CHECK(n.pod("a").empty());
        CHECK(n.containers().sandboxes.empty());
    }
    SECTION("it does not") {
        script.ignores_term = true;
        n.create("a", one("", R"(,"terminationGracePeriodSeconds":5)"));
        n.run_for(1s);
        n.remove("a");
        n.run_for(4s);
        CHECK_FALSE(n.pod("a").empty());
        n.run_for(2s);
        CHECK(n.pod("a").empty());
    }
    SECTION("a shorter grace comes later") {
        script.ignores_term = true;
        n.create("a", one());
        n.run_for(1s);
        n.remove("a");
        n.run_for(1s);
        n.remove("a", 2);
        n.run_for(3s);
        CHECK(n.pod("a").empty());
    }
    SECTION("the object goes at once, and the processes with it") {
        script.ignores_term = true;
        n.create("a", one());
        n.run_for(1s);
        n.remove("a", 0);
        n.run_for(1s);
        CHECK(n.pod("a").empty());
        CHECK(n.containers().sandboxes.empty());
        CHECK(n.runtime().counters().removed == 1);
    }
    SECTION("the object goes while they are told to end") {
        script.ignores_term = true;
        n.create("a", one());
        n.run_for(1s);
        n.remove("a");
        n.run_for(1s);
        n.remove("a", 0);
        n.run_for(1s);
        CHECK(n.pod("a").empty());
        CHECK(n.containers().sandboxes.empty());
    }
    SECTION("the one of that UID") {
        n.create("a", one());
        n.run_for(1s);
        n.remove("a", 0);
        n.create("a", one());
        n.run_for(5s);
        CHECK(n.phase("a") == "Running");
        CHECK(n.containers().runs.size() == 2);
        CHECK(n.containers().sandboxes == std::set<std::string>{"sandbox-2"});
        CHECK(n.process(1).signals.empty());
    }
    SECTION("while it waits for a volume") {
        n.create("a", one("", R"(,"volumes":[{"name":"v","configMap":{"name":"none"}}])"));
        n.run_for(10min);
        CHECK(n.phase("a") == "Pending");
        n.remove("a");
        n.run_for(1s);
        CHECK(n.pod("a").empty());
    }
    SECTION("before it has a process") {
        n.create(
            "a", one(R"(,"env":[{"name":"A","valueFrom":{"secretKeyRef":{"name":"s","key":"k"}}}])")
        );
        n.run_for(1s);
        n.remove("a");
        n.run_for(1s);
        CHECK(n.pod("a").empty());
    }
}

TEST_CASE("a container that outlasts its grace is killed, and not before") {
    node_fixture n;
    n.containers().script = [](const auto&) { return stubborn(); };
    n.create("a", one("", R"(,"terminationGracePeriodSeconds":5,"activeDeadlineSeconds":10)"));
    n.run_for(14s);
    REQUIRE(n.containers().runs.size() == 1);
    CHECK(n.process(0).signals == signals{SIGTERM});
    CHECK(n.phase("a") == "Running");
    n.run_for(2s);
    CHECK(n.phase("a") == "Failed");
    CHECK(n.field("a", "/status/reason") == "DeadlineExceeded");
    CHECK(n.field("a", "/status/containerStatuses/0/state/terminated/exitCode") == "137");
}

TEST_CASE("what was told to end is not waited for when all ends") {
    node_fixture n;
    n.containers().script = [](const auto&) { return stubborn(); };
    n.create("a", one());
    n.run_for(1s);
    n.remove("a");
    n.run_for(1s);
    CHECK(n.process(0).signals == signals{SIGTERM});
    n.stop();
    CHECK(n.containers().sandboxes.empty());
}

TEST_CASE("a deletion shortens the grace of what was told to end before") {
    node_fixture n;
    n.containers().script = [](const auto&) { return stubborn(); };
    SECTION("by the deadline of the pod") {
        n.create(
            "a", one("", R"(,"terminationGracePeriodSeconds":600,"activeDeadlineSeconds":10)")
        );
        n.run_for(15s);
    }
    SECTION("by a probe") {
        n.containers().exec_script = [](const auto&) { return ends_after(10ms, 1); };
        n.create(
            "a",
            one(R"(,"livenessProbe":{"exec":{"command":["x"]},"periodSeconds":1,)"
                R"("terminationGracePeriodSeconds":600})")
        );
        n.run_for(15s);
    }
    CHECK(n.process(0).signals == signals{SIGTERM});
    n.remove("a", 3);
    n.run_for(2s);
    CHECK(n.process(0).signals == signals{SIGTERM});
    n.run_for(2s);
    CHECK(n.pod("a").empty());
}

TEST_CASE("a hook that fails when its container was told to end already changes nothing") {
    node_fixture n;
    n.containers().script = [](const auto&) { return stubborn(); };
    n.containers().exec_script = [](const auto&) { return ends_after(5s, 1); };
    n.create(
        "a",
        one(R"(,"lifecycle":{"postStart":{"exec":{"command":["begin"]}}})",
            R"(,"terminationGracePeriodSeconds":6)")
    );
    n.run_for(2s);
    n.remove("a");
    n.run_for(4s);
    CHECK(n.process(0).signals == signals{SIGTERM});
    n.run_for(3s);
    CHECK(n.pod("a").empty());
}

TEST_CASE("a container with a terminal has one output, and ends with it") {
    node_fixture n;
    n.containers().script = [](const auto&) { return ends_after(1s, 0); };
    n.create("a", one(R"(,"tty":true)"));
    n.run_for(2s);
    CHECK(n.containers().runs.at(0).process.terminal);
    CHECK(n.phase("a") == "Succeeded");
}
