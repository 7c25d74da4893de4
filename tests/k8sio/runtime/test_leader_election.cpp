// SPDX-License-Identifier: Apache-2.0
//
// Two processes around one Lease of the embedded server, in virtual time.
#include "k8sio/leader_election.hpp"
#include "k8sio/server/api_server.hpp"
#include "runtime/virtual_loop.hpp"
#include "signalbox_test/cut_transport.hpp"

#include <catch2/catch.hpp>

#include <string>
#include <vector>

using namespace signalbox::k8sio;
using namespace std::chrono_literals;

namespace {

struct process {
    process(test::virtual_loop& loop, server::api_server& server, const std::string& name)
        : transport(server.connect(), loop.time),
          api(transport, loop.time),
          election(api, options(name)) {
        running = std::make_unique<test::task<void>>(loop, election.run());
    }
    leader_election_options options(const std::string& name) {
        leader_election_options made;
        made.ns = "default";
        made.name = "signalbox";
        made.identity = name;
        made.seed = name == "a" ? 1 : 2;
        made.acquired = [this] { ++acquired; };
        made.observed = [this](const std::string& holder) { holders.push_back(holder); };
        made.failed = [this](const api_error& error) { failures.push_back(error.text()); };
        made.fit = [this] { return fit; };
        return made;
    }

    bool fit = true;
    int acquired = 0;
    std::vector<std::string> holders;
    std::vector<std::string> failures;
    signalbox::test::cut_transport transport;
    client api;
    leader_election election;
    std::unique_ptr<test::task<void>> running;
};

struct election_fixture {
    ~election_fixture() {
        for (process* each : {&a, &b}) {
            each->running->cancel();
        }
        loop.settle();
        server.stop();
    }
    test::virtual_loop loop;
    server::api_server server{loop.loop.get_executor(), loop.time};
    process a{loop, server, "a"};
    process b{loop, server, "b"};

    int leaders() const { return (a.election.leads() ? 1 : 0) + (b.election.leads() ? 1 : 0); }
    /// Lets time pass in small steps; there are never two.
    void pass(std::chrono::seconds duration) {
        for (std::chrono::nanoseconds left = duration; left > 0s; left -= 100ms) {
            loop.run_for(100ms);
            REQUIRE(leaders() <= 1);
        }
    }
};

}  // namespace

TEST_CASE_METHOD(election_fixture, "[requirement B1] one of two leads, and the other knows who") {
    pass(60s);
    REQUIRE(a.election.leads());
    CHECK_FALSE(b.election.leads());
    CHECK(b.election.holder() == "a");
    CHECK(a.acquired == 1);
    CHECK(b.acquired == 0);
    // The first look found no Lease, and nothing else went wrong; each holder is told once.
    REQUIRE(a.failures.size() == 1);
    CHECK(a.failures[0].find("404 NotFound") != std::string::npos);
    CHECK(a.holders == std::vector<std::string>{"a"});
    CHECK(b.holders == std::vector<std::string>{"a"});
    REQUIRE(a.election.leads_until());
    CHECK(*a.election.leads_until() > loop.time.steady_now());
    CHECK_FALSE(b.election.leads_until());
    // Renewed about every two seconds, looked at as often.
    const auto writes = server.count_requests("PATCH", "/leases/signalbox");
    CHECK(writes >= 20);
    CHECK(writes <= 31);
}

TEST_CASE_METHOD(
    election_fixture, "[requirement B4] after a clean stop the next one leads within a retry period"
) {
    pass(10s);
    REQUIRE(a.election.leads());
    const std::int64_t epoch = a.election.epoch();
    a.election.stop();
    CHECK(a.election.leads());
    pass(3s);
    CHECK(a.running->done);
    CHECK_FALSE(a.election.lost());
    CHECK(b.election.leads());
    CHECK(b.election.epoch() > epoch);
    CHECK(b.holders.back() == "b");
}

TEST_CASE_METHOD(
    election_fixture,
    "[requirement B3] [requirement B6] a leader that is cut off ends before another begins"
) {
    pass(10s);
    REQUIRE(a.election.leads());
    a.transport.cut = true;
    pass(10s);
    CHECK_FALSE(a.election.leads());
    pass(1s);
    CHECK(a.running->done);
    CHECK(a.election.lost());
    CHECK_FALSE(b.election.leads());
    pass(8s);
    CHECK(b.election.leads());
}

TEST_CASE_METHOD(election_fixture, "[requirement B9] an owner that hangs loses its Lease") {
    pass(10s);
    REQUIRE(a.election.leads());
    a.fit = false;
    pass(11s);
    CHECK_FALSE(a.election.leads());
    CHECK_FALSE(a.election.leads_until());
    CHECK(a.running->done);
    CHECK(a.election.lost());
    CHECK(a.failures.back().find("not fit") != std::string::npos);
    pass(8s);
    CHECK(b.election.leads());
}

TEST_CASE_METHOD(election_fixture, "[requirement B9] nor does it take one while it hangs") {
    pass(10s);
    REQUIRE(a.election.leads());
    b.fit = false;
    a.election.stop();
    pass(60s);
    CHECK_FALSE(b.election.leads());
    CHECK_FALSE(b.running->done);
    b.fit = true;
    pass(5s);
    CHECK(b.election.leads());
    b.fit = false;
    b.election.stop();
    pass(1s);
    CHECK(b.running->done);
    CHECK_FALSE(b.election.lost());
    CHECK(b.holders.back().empty());
}

TEST_CASE_METHOD(election_fixture, "[requirement B3] a short cut costs nothing") {
    pass(10s);
    a.transport.cut = true;
    pass(4s);
    a.transport.cut = false;
    pass(60s);
    CHECK(a.election.leads());
    CHECK(a.acquired == 1);
}

TEST_CASE_METHOD(election_fixture, "[requirement B1] what others have put on the Lease stays") {
    pass(10s);
    const resource_type leases("coordination.k8s.io", "v1", "leases", "Lease");
    test::task<result<std::string>> labelled(
        loop,
        b.api.merge_patch(leases, "default", "signalbox", R"({"metadata":{"labels":{"team":"x"}}})")
    );
    pass(30s);
    CHECK(a.election.leads());
    test::task<result<std::string>> read(loop, b.api.get(leases, "default", "signalbox"));
    pass(1s);
    REQUIRE(read.result.has_value());
    CHECK(read.result->find(R"("team":"x")") != std::string::npos);
    CHECK(read.result->find(R"("holderIdentity":"a")") != std::string::npos);
}

TEST_CASE_METHOD(
    election_fixture, "[requirement B1] options that do not fit are named, and nothing is done"
) {
    leader_election_options options;
    options.identity = "";
    leader_election election(a.api, options);
    CHECK(election.problem() == "the identity is empty");
    options.identity = "me";
    CHECK(leader_election(a.api, options).problem() == "the Lease has no name, or no namespace");
    options.ns = "default";
    CHECK_FALSE(leader_election(a.api, options).problem().empty());
    options.name = "signalbox";
    CHECK(leader_election(a.api, options).problem().empty());
    test::task<void> running(loop, election.run());
    loop.settle();
    CHECK(running.done);
    CHECK_FALSE(election.leads());
}

TEST_CASE_METHOD(election_fixture, "[requirement B4] stopped before it runs, it asks no one") {
    leader_election early(a.api, a.options("early"));
    loop.settle();
    const auto before = server.count_requests("GET", "/leases/signalbox");
    early.stop();
    test::task<void> running(loop, early.run());
    loop.settle();
    CHECK(running.done);
    CHECK_FALSE(early.lost());
    CHECK(server.count_requests("GET", "/leases/signalbox") == before);
}

TEST_CASE("[requirement B5] an identity is another one each time, and names the host") {
    const std::string one = make_identity();
    const std::string two = make_identity();
    CHECK(one != two);
    CHECK(one.substr(0, one.rfind('_')) == two.substr(0, two.rfind('_')));
    CHECK(one.size() - one.rfind('_') == 25);
}
