// SPDX-License-Identifier: Apache-2.0
//
// Names of pods and Services, as a pod hears them from the name server of its node.
#include "dns_query.hpp"
#include "node_fixture.hpp"

#include <fmt/format.h>

using namespace signalbox;
using namespace signalbox::op;
using namespace signalbox::op::test;
using namespace std::chrono_literals;

namespace {

/// Bound on the loopback interface; who holds it knows the address only.
struct name_socket {
    name_socket() {
        boost::asio::io_context none;
        boost::asio::ip::udp::socket made(none, loopback());
        address = made.local_endpoint();
        number = made.release();
    }
    boost::asio::ip::udp::endpoint address;
    int number = -1;
};

class named_node {
public:
    named_node() {
        n.create(
            k8sio::resources::services(),
            R"({"apiVersion":"v1","kind":"Service","metadata":{"name":"job"},)"
            R"("spec":{"clusterIP":"None","selector":{"app":"x"}}})"
        );
    }
    void create(const std::string& name, const std::string& container_more = "") {
        n.create(
            name,
            one(container_more, fmt::format(R"(,"hostname":"{}","subdomain":"job")", name)),
            R"(,"labels":{"app":"x"})"
        );
    }
    /// How many addresses a name has.
    int count(const std::string& name) {
        const std::size_t before = pod.heard.size();
        pod.send(query_for(name + ".default.svc.cluster.local"), socket.address);
        n.loop().restart();
        while (pod.heard.size() == before && n.loop().run_one_for(60s) > 0) {
        }
        REQUIRE(pod.heard.size() > before);
        return answers_of(pod.heard.back());
    }

    name_socket socket;
    node_fixture n{kubelet::process_options(), socket.number};
    peer pod{n.loop()};
};

}  // namespace

TEST_CASE("[launchers 1.2] a pod has its name from the moment that it is Ready to its end") {
    named_node w;
    int code = 1;
    w.n.containers().exec_script = [&](const auto&) { return ends_after(10ms, code); };
    w.create("a", R"(,"readinessProbe":{"exec":{"command":["x"]},"periodSeconds":1})");
    w.n.run_for(2s);
    CHECK(w.n.phase("a") == "Running");
    CHECK(w.count("a.job") == 0);
    CHECK(w.count("job") == 0);
    code = 0;
    w.n.run_for(2s);
    CHECK(w.count("a.job") == 1);
    CHECK(w.count("job") == 1);
    w.create("b");
    w.n.run_for(2s);
    CHECK(w.count("job") == 2);
    code = 1;
    w.n.run_for(5s);
    CHECK(w.count("a.job") == 0);
    CHECK(w.count("job") == 1);
    w.n.remove("b", 0);
    w.n.run_for(1s);
    CHECK(w.count("job") == 0);
}

TEST_CASE("names of a Service that publishes pods before they are Ready are there at once") {
    named_node w;
    std::string patch = R"({"spec":{"publishNotReadyAddresses":true}})";
    const auto done = w.n.wait(
        w.n.user().merge_patch(k8sio::resources::services(), "default", "job", std::move(patch))
    );
    REQUIRE(done.has_value());
    w.create("a", R"(,"readinessProbe":{"tcpSocket":{"port":1}})");
    w.n.run_for(1s);
    CHECK(w.n.field("a", "/status/conditions/3/status") == "False");
    CHECK(w.count("a.job") == 1);
    CHECK(w.count("job") == 1);
    w.create("b");
    w.n.run_for(1s);
    CHECK(w.count("job") == 2);
    w.n.remove("b", 0);
    w.n.run_for(1s);
    CHECK(w.count("job") == 1);
    const k8sio::delete_options now;
    REQUIRE(
        w.n.wait(w.n.user().remove(k8sio::resources::services(), "default", "job", now)).has_value()
    );
    w.n.run_for(1s);
    CHECK(w.count("a.job") == 0);
}
