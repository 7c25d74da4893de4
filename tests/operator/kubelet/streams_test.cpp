// SPDX-License-Identifier: Apache-2.0
//
// What clients get of pods that run: logs, processes, connections.
#include "node_fixture.hpp"

#include <fmt/format.h>

using namespace signalbox;
using namespace signalbox::op;
using namespace signalbox::op::test;
using namespace std::chrono_literals;
using k8sio::server::log_options;
using k8sio::server::pod_ref;
using k8sio::server::process_output;
using exec_options = k8sio::server::process_options;

namespace {

/// What did not work begins so (k8sio::server::pod_failure).
const std::string internal = "Internal error occurred: ";

class client_of_pods : public node_fixture {
public:
    pod_ref ref(const std::string& name) { return {"default", name, field(name, "/metadata/uid")}; }
    /// The whole log of the container `c`, or why there is none.
    std::string log(const std::string& pod, bool previous = false, const std::string& of = "c") {
        log_options options;
        options.container = of;
        options.previous = previous;
        auto source = runtime().streams()->open_log(ref(pod), options);
        if (source.has_error()) {
            CHECK(source.error().http_status == 400);
            return source.error().message;
        }
        std::string out;
        std::string piece;
        do {
            piece = wait((*source)->read_some()).value();
            out += piece;
        } while (!piece.empty());
        return out;
    }
    k8sio::result<std::unique_ptr<k8sio::server::container_process>> exec(
        const pod_ref& pod, const exec_options& options
    ) {
        return wait(runtime().streams()->exec(pod, options));
    }
};

exec_options of_container(const std::string& name) {
    exec_options out;
    out.container = name;
    out.command = {"look", "around"};
    out.in = out.out = true;
    return out;
}

}  // namespace

TEST_CASE("a log is that of the last run, or of the one before it") {
    client_of_pods n;
    int runs = 0;
    n.containers().script = [&](const auto&) {
        process_script out = ends_after(1s, 1);
        out.says = fmt::format("run {}\n", ++runs);
        return out;
    };
    n.create("a", R"("restartPolicy":"OnFailure","containers":[)" + container() + "]");
    n.run_for(500ms);
    CHECK(n.log("a") == "run 1\n");
    CHECK(n.log("a", true) == "previous terminated container \"c\" in pod \"a\" not found");
    n.run_for(1s);
    CHECK(n.log("a") == "run 2\n");
    CHECK(n.log("a", true) == "run 1\n");
    n.run_for(15s);
    REQUIRE(runs == 3);
    CHECK(n.log("a") == "run 3\n");
    CHECK(n.log("a", true) == "run 2\n");
}

TEST_CASE("a log that is not there yet says for what its container waits") {
    client_of_pods n;
    const auto waiting = [](const std::string& why) {
        return "container \"c\" in pod \"a\" is waiting to start: " + why;
    };
    SECTION("for the node") {
        n.create("a", one("", R"(,"schedulingGates":[{"name":"x"}])"));
        n.run_for(1s);
        CHECK(n.log("a") == "pod a does not run on this node");
    }
    SECTION("for a volume") {
        n.create("a", one("", R"(,"volumes":[{"name":"v","configMap":{"name":"none"}}])"));
        n.run_for(1s);
        CHECK(n.log("a") == waiting("ContainerCreating"));
    }
    SECTION("for a Secret") {
        n.create("a", one(R"(,"envFrom":[{"secretRef":{"name":"none"}}])"));
        n.run_for(1s);
        CHECK(n.log("a") == waiting("CreateContainerConfigError"));
    }
}

TEST_CASE("a command runs in a container as that runs") {
    client_of_pods n;
    n.create("a", one(R"(,"env":[{"name":"X","value":"1"}],"workingDir":"/w","stdin":true)"));
    n.run_for(1s);
    std::vector<containers::process_spec> asked;
    n.containers().exec_script = [&](const containers::process_spec& spec) {
        asked.push_back(spec);
        process_script out = ends_after(1s, 3);
        out.says = "here\n";
        return out;
    };
    exec_options options = of_container("c");
    auto made = n.exec(n.ref("a"), options);
    REQUIRE(made.has_value());
    CHECK(n.wait((*made)->read_some(process_output::out)).value() == "here\n");
    CHECK(n.wait((*made)->write("x")).has_value());
    n.run_for(1s);
    CHECK(n.wait((*made)->read_some(process_output::out)).value().empty());
    CHECK(n.wait((*made)->wait()).value() == 3);
    CHECK(n.wait((*made)->write("x")).error().message == internal + "no one reads it any more");
    options.in = false;
    options.tty = true;
    REQUIRE(n.exec(n.ref("a"), options).has_value());
    REQUIRE(asked.size() == 2);
    CHECK(asked[0].argv == std::vector<std::string>{"look", "around"});
    CHECK(asked[0].working_dir == "/w");
    CHECK(asked[0].input);
    CHECK_FALSE(asked[0].terminal);
    CHECK(std::ranges::count(asked[0].env, "X=1") == 1);
    CHECK(std::ranges::count(asked[0].env, "TERM=xterm") == 0);
    CHECK_FALSE(asked[1].input);
    CHECK(asked[1].terminal);
    CHECK(std::ranges::count(asked[1].env, "TERM=xterm") == 1);

    const auto refusal = [&](const pod_ref& pod, const std::string& name) {
        const exec_options other = of_container(name);
        return n.exec(pod, other).error().message;
    };
    CHECK(refusal(n.ref("a"), "d") == internal + "container not found (\"d\")");
    CHECK(refusal({"default", "a", "another"}, "c") == internal + "container not found (\"c\")");
    n.process(0).end(0);
    n.run_for(100ms);
    CHECK(refusal(n.ref("a"), "c") == internal + "container not found (\"c\")");
}

TEST_CASE("who attaches hears what comes from then on, until the end") {
    client_of_pods n;
    n.containers().script = [](const auto&) {
        process_script out;
        out.says = "before\n";
        return out;
    };
    n.create("a", one(R"(,"stdin":true)"));
    n.create("b", one());
    n.run_for(1s);
    const exec_options options = of_container("c");
    const auto attach = [&](const std::string& pod) {
        return n.wait(n.runtime().streams()->attach(n.ref(pod), options));
    };
    auto made = attach("a");
    REQUIRE(made.has_value());
    n.process(0).say("after\n");
    CHECK(n.wait((*made)->read_some(process_output::out)).value() == "after\n");
    CHECK(n.wait((*made)->write("typed")).has_value());
    CHECK(n.process(0).input == "typed");
    // A client that leaves ends nothing.
    (*made)->close();
    CHECK(n.wait((*made)->read_some(process_output::out)).value().empty());
    CHECK_FALSE(n.process(0).ended());

    auto again = attach("a");
    REQUIRE(again.has_value());
    n.process(0).end(0);
    n.settle();
    CHECK(n.wait((*again)->read_some(process_output::err)).value().empty());
    CHECK(
        n.wait((*again)->write("x")).error().message ==
        internal + "the container has no standard input"
    );
    CHECK(attach("a").error().message == internal + "container not found (\"c\")");
    CHECK(
        n.wait(attach("b").value()->write("x")).error().message ==
        internal + "the container has no standard input"
    );
}

TEST_CASE("who attaches and does not read is let go") {
    client_of_pods n;
    n.create("a", one());
    n.run_for(1s);
    const exec_options options = of_container("c");
    auto made = n.wait(n.runtime().streams()->attach(n.ref("a"), options));
    REQUIRE(made.has_value());
    for (int i = 0; i < 5; ++i) {
        n.process(0).say(std::string(1U << 20U, 'x'));
        n.settle();
    }
    const auto first = n.wait((*made)->read_some(process_output::out));
    CHECK(first.value().size() <= 4U << 20U);
    CHECK(
        n.wait((*made)->read_some(process_output::out)).error().message ==
        internal + "the client reads too slowly"
    );
    CHECK(n.log("a").size() == 5U << 20U);
}

TEST_CASE("a port of a pod is reached while the pod is there") {
    client_of_pods n;
    n.create("a", one());
    n.run_for(1s);
    n.containers().listens = [](std::uint16_t port) { return port == 80; };
    n.containers().serves = [](const std::string& request) { return "got " + request; };
    const pod_ref pod = n.ref("a");
    const auto connect = [&](std::uint16_t port) {
        return n.wait(n.runtime().streams()->connect(pod, port));
    };
    auto made = connect(80);
    REQUIRE(made.has_value());
    CHECK(n.wait((*made)->write("x\r\n\r\n")).has_value());
    CHECK(n.wait((*made)->read_some()).value() == "got x\r\n\r\n");
    CHECK(n.wait((*made)->read_some()).value().empty());
    CHECK(connect(81).error().message == internal + "connect: connection refused");
    n.remove("a");
    n.run_for(1s);
    CHECK(connect(80).error().message == internal + "pod a does not run");
}
