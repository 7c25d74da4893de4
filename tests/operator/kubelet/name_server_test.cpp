// SPDX-License-Identifier: Apache-2.0
//
// The name server on sockets of the loopback interface; its patience is in virtual time.
#include "kubelet/names/name_server.hpp"

#include "dns_query.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/udp.hpp>

#include <catch2/catch.hpp>

#include <functional>

using namespace signalbox;
using namespace signalbox::op::kubelet;
using namespace signalbox::op::test;
using boost::asio::ip::udp;

namespace {

/// A pod, the name server that it asks, and the server that this one asks.
struct names_world {
    explicit names_world(bool offline = false) {
        udp::socket own(loop, loopback());
        address = own.local_endpoint();
        name_server_options options;
        options.offline = offline;
        options.uplink = "127.0.0.1";
        options.uplink_port = uplink.address().port();
        const name_lookup find = [](std::string_view name) {
            return name == "svc.ns.svc.cluster.local" ? name_result{true, {"10.1.2.3"}, {}}
                                                      : name_result{};
        };
        server = std::make_unique<name_server>(
            loop.get_executor(), time, own.release(), find, std::move(options)
        );
        boost::asio::co_spawn(loop, server->run(), [this](std::exception_ptr) { ended = true; });
    }
    ~names_world() {
        server->stop();
        CHECK(until([this] { return ended; }));
    }
    bool until(const std::function<bool()>& done) {
        while (!done() && loop.run_one_for(std::chrono::seconds(60)) > 0) {
        }
        return done();
    }
    /// What the uplink is asked, once the pod has asked for that.
    std::string forwarded(const std::string& query) {
        const std::size_t before = uplink.heard.size();
        pod.send(query, address);
        REQUIRE(until([&] { return uplink.heard.size() > before; }));
        return uplink.heard.back();
    }
    std::string answer() {
        const std::size_t before = read++;
        REQUIRE(until([&] { return pod.heard.size() > before; }));
        return pod.heard[before];
    }

    boost::asio::io_context loop;
    k8sio::virtual_clock time{loop.get_executor(), {}};
    peer pod{loop}, uplink{loop};
    udp::endpoint address;
    std::unique_ptr<name_server> server;
    std::size_t read = 0;  ///< answers
    bool ended = false;
};

}  // namespace

TEST_CASE("the machine's server is asked at the port of DNS (RFC 1035 4.2)") {
    CHECK(name_server_options().uplink_port == 53);
}

TEST_CASE("names of the cluster are answered, others by the server of the machine") {
    names_world w;
    w.pod.send("x", w.address);  // nothing to answer
    w.pod.send(query_for("svc.ns.svc.cluster.local"), w.address);
    CHECK(answers_of(w.answer()) == 1);
    const std::string query = query_for("example.com");
    const std::string asked = w.forwarded(query);
    CHECK(asked.substr(2) == query.substr(2));
    CHECK(asked.substr(0, 2) != query.substr(0, 2));
    std::string answer = asked;
    answer[2] = static_cast<char>(0x81);
    w.uplink.send("?", w.uplink.from);
    w.uplink.send("xy", w.uplink.from);
    w.uplink.send("xy and nothing that was asked for", w.uplink.from);
    w.uplink.send(answer, w.uplink.from);
    CHECK(w.answer() == "\x12\x34" + answer.substr(2));
    // Once is enough.
    w.uplink.send(answer, w.uplink.from);
    w.pod.send(query_for("no.ns.svc.cluster.local"), w.address);
    CHECK(code_of(w.answer()) == 3);
}

TEST_CASE("a server of the machine that is silent is waited for three seconds") {
    names_world w;
    const std::string asked = w.forwarded(query_for("example.com"));
    const std::string other = w.forwarded(query_for("example.org"));
    CHECK(asked.substr(0, 2) != other.substr(0, 2));
    w.time.advance(std::chrono::milliseconds(2900));
    w.pod.send(query_for("no.ns.svc.cluster.local"), w.address);
    CHECK(code_of(w.answer()) == 3);
    w.time.advance(std::chrono::milliseconds(200));
    for (int i = 0; i < 2; ++i) {
        const std::string failed = w.answer();
        CHECK(failed.substr(0, 2) == "\x12\x34");
        CHECK(code_of(failed) == 2);
    }
    // Too late: no one asks any more.
    w.uplink.send(asked, w.uplink.from);
    w.pod.send(query_for("no.ns.svc.cluster.local"), w.address);
    CHECK(code_of(w.answer()) == 3);
}

TEST_CASE("of queries that are forwarded without end the first ones give way") {
    names_world w;
    for (int i = 0; i < 512; ++i) {
        w.forwarded(query_for("n" + std::to_string(i) + ".example.com"));
    }
    CHECK(w.pod.heard.empty());
    w.forwarded(query_for("one.more.example.com"));
    const std::string given_up = w.answer();
    CHECK(code_of(given_up) == 2);
    CHECK(given_up.substr(12) == query_for("n0.example.com").substr(12));
}

TEST_CASE("nothing leaves a machine that is offline") {
    names_world w(true);
    w.pod.send(query_for("example.com"), w.address);
    CHECK(code_of(w.answer()) == 3);
    CHECK(w.uplink.heard.empty());
}

TEST_CASE("the server for other names is the first of resolv.conf") {
    CHECK(first_name_server("search x\nnameserver ::1\nnameserver \t 10.0.2.3\n") == "10.0.2.3");
    CHECK(first_name_server("nameserver 1.2.3.4") == "1.2.3.4");
    CHECK(first_name_server("nameservers 1.2.3.4\n#nameserver 1.1.1.1\nnameserver\n").empty());
    CHECK(first_name_server("").empty());
}
