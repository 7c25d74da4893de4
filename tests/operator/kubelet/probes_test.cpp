// SPDX-License-Identifier: Apache-2.0
//
// Hooks and probes, over scripted containers.
#include "kubelet/life/termination.hpp"
#include "kubelet/machine/restart.hpp"
#include "node_fixture.hpp"

#include <csignal>

using namespace signalbox;
using namespace signalbox::op;
using namespace signalbox::op::test;
using namespace std::chrono_literals;

namespace {

const std::string first_state = "/status/containerStatuses/0/state";
const std::string first_ready = "/status/containerStatuses/0/ready";
const std::string first_restarts = "/status/containerStatuses/0/restartCount";

std::string always(const std::string& more) {
    return R"("containers":[)" + container(more) + "]";
}

process_script answers(int code, const std::string& text = "") {
    process_script out;
    out.lasts = 10ms;
    out.code = code;
    out.says = text;
    return out;
}

kubelet::probe limits(int successes, int failures) {
    kubelet::probe out;
    out.successes = successes;
    out.failures = failures;
    return out;
}

}  // namespace

TEST_CASE("a probe decides after its threshold in a row") {
    kubelet::probe_count readiness(false);
    const kubelet::probe wanted = limits(2, 3);
    CHECK_FALSE(readiness.add(true, wanted));
    CHECK_FALSE(readiness.add(false, wanted));
    CHECK_FALSE(readiness.add(true, wanted));
    CHECK(readiness.add(true, wanted));
    CHECK(readiness.good());
    CHECK_FALSE(readiness.add(false, wanted));
    CHECK_FALSE(readiness.add(false, wanted));
    CHECK(readiness.good());
    CHECK(readiness.add(false, wanted));
    CHECK_FALSE(readiness.good());
    CHECK(readiness.failed());
}

TEST_CASE("delays double from ten seconds to five minutes, and are forgotten after a good run") {
    kubelet::restart_delay delay;
    k8sio::steady_time now{};
    std::vector<std::int64_t> seconds;
    for (int i = 0; i < 8; ++i) {
        seconds.push_back(
            std::chrono::duration_cast<std::chrono::seconds>(delay.next(now, now) - now).count()
        );
    }
    CHECK(seconds == std::vector<std::int64_t>{0, 10, 20, 40, 80, 160, 300, 300});
    CHECK(delay.next(now, now + 9min) == now + 9min + 5min);
    CHECK(delay.next(now, now + 10min) == now + 10min);
}

TEST_CASE("the end of a log is a message of at most 80 lines and 2,048 bytes") {
    const std::string start = "2023-11-14T22:13:20.000000000Z stdout ";
    CHECK(kubelet::message_of_log("").empty());
    CHECK(kubelet::message_of_log(start + "F a\n" + start + "F \n") == "a\n\n");
    CHECK(kubelet::message_of_log(start + "P ab\n" + start + "F c\n") == "abc\n");
    std::string many;
    for (int i = 0; i < 100; ++i) {
        many += start + "F " + std::to_string(i) + "\n";
    }
    const std::string message = kubelet::message_of_log(many);
    CHECK(message.starts_with("20\n21\n"));
    CHECK(message.ends_with("99\n"));
    CHECK(kubelet::message_of_log(start + "F " + std::string(5000, 'x') + "\n").size() == 2048);
    // Cut off in the middle of an entry.
    CHECK_NOTHROW(kubelet::message_of_log("x"));
    CHECK_NOTHROW(kubelet::message_of_log("\n\n"));
    CHECK(kubelet::message_limit(1) == 4096);
    CHECK(kubelet::message_limit(6) == 2048);
}

TEST_CASE("a pod is Ready when its readiness probe says so") {
    node_fixture n;
    int code = 1;
    n.containers().exec_script = [&](const containers::process_spec& spec) {
        CHECK(spec.argv == std::vector<std::string>{"check", "it"});
        return answers(code, "not yet");
    };
    n.create(
        "a",
        always(
            R"(,"readinessProbe":{"exec":{"command":["check","it"]},"periodSeconds":2,"failureThreshold":2})"
        )
    );
    n.run_for(1s);
    CHECK(n.phase("a") == "Running");
    CHECK(n.field("a", first_ready) == "false");
    CHECK(n.field("a", "/status/conditions/3/message") == "containers with unready status: [c]");
    CHECK(n.has_event("a", "Unhealthy: Readiness probe failed: not yet"));
    code = 0;
    n.run_for(2s);
    CHECK(n.field("a", first_ready) == "true");
    CHECK(n.field("a", "/status/conditions/3/status") == "True");
    code = 1;
    n.run_for(2s);
    CHECK(n.field("a", first_ready) == "true");
    n.run_for(2s);
    CHECK(n.field("a", first_ready) == "false");
    CHECK(n.field("a", first_restarts) == "0");
}

TEST_CASE("a container that fails its liveness probe is restarted") {
    node_fixture n;
    process_script main;
    main.stops_after = 1s;
    n.containers().script = [&](const auto&) { return main; };
    n.containers().exec_script = [](const auto&) { return answers(1, "dead"); };
    n.create(
        "a",
        always(
            R"(,"livenessProbe":{"exec":{"command":["x"]},"initialDelaySeconds":5,"periodSeconds":1})"
        )
    );
    n.run_for(7900ms);
    CHECK(n.process(0).signals == std::vector<int>{SIGTERM});
    n.run_for(600ms);
    CHECK(n.field("a", first_restarts) == "1");
    CHECK(n.has_event("a", "Killing: Container c failed liveness probe, will be restarted"));
    CHECK(n.field("a", "/status/containerStatuses/0/lastState/terminated/exitCode") == "143");
}

TEST_CASE("other probes wait for the startup probe") {
    node_fixture n;
    int code = 1;
    int asked = 0;
    n.containers().exec_script = [&](const containers::process_spec& spec) {
        asked += spec.argv.front() == "live" ? 1 : 0;
        return answers(spec.argv.front() == "up" ? code : 0);
    };
    n.create(
        "a",
        always(
            R"(,"startupProbe":{"exec":{"command":["up"]},"periodSeconds":1,"failureThreshold":5},)"
            R"("livenessProbe":{"exec":{"command":["live"]},"periodSeconds":1})"
        )
    );
    n.run_for(3500ms);
    CHECK(asked == 0);
    CHECK(n.field("a", "/status/containerStatuses/0/started") == "false");
    code = 0;
    n.run_for(3s);
    CHECK(asked > 0);
    CHECK(n.field("a", "/status/containerStatuses/0/started") == "true");
    CHECK(n.field("a", first_ready) == "true");
}

TEST_CASE("a probe that takes too long has failed, and what it started is killed") {
    node_fixture n;
    n.containers().exec_script = [](const auto&) { return process_script(); };
    n.create("a", always(R"(,"readinessProbe":{"exec":{"command":["hang"]},"timeoutSeconds":3})"));
    n.run_for(4s);
    CHECK(n.has_event(
        "a", "Unhealthy: Readiness probe failed: command timed out: \"hang\" timed out after 3s"
    ));
}

TEST_CASE("a port that no one listens on is named") {
    node_fixture n;
    n.create(
        "a",
        always(
            R"(,"ports":[{"name":"web","containerPort":80}],"readinessProbe":{"tcpSocket":{"port":"web"}})"
        )
    );
    n.run_for(1s);
    CHECK(n.has_event(
        "a", "Unhealthy: Readiness probe failed: dial tcp 10.88.0.2:80: connect: connection refused"
    ));
    n.containers().listens = [](std::uint16_t port) { return port == 80; };
    n.run_for(10s);
    CHECK(n.field("a", first_ready) == "true");
}

TEST_CASE("hooks run after the start and before the end") {
    node_fixture n;
    std::vector<std::string> order;
    int code = 0;
    n.containers().exec_script = [&](const containers::process_spec& spec) {
        order.push_back(spec.argv.front());
        process_script out = answers(code, "hook text");
        out.lasts = 2s;
        return out;
    };
    const auto begin = [&] {
        n.create(
            "a",
            always(
                R"(,"lifecycle":{"postStart":{"exec":{"command":["begin"]}},"preStop":{"exec":{"command":["end"]}}})"
            )
        );
    };
    SECTION("in order") {
        begin();
        n.run_for(1s);
        CHECK(order == std::vector<std::string>{"begin"});
        CHECK(n.field("a", first_ready) == "false");
        n.run_for(2s);
        CHECK(n.field("a", first_ready) == "true");
        n.remove("a");
        n.run_for(1s);
        CHECK(order == std::vector<std::string>{"begin", "end"});
        CHECK(n.process(0).signals.empty());
        n.run_for(2s);
        CHECK(n.pod("a").empty());
    }
    SECTION("a failed postStart ends the container") {
        code = 1;
        begin();
        n.run_for(3s);
        CHECK(n.has_event("a", "FailedPostStartHook: PostStartHook failed: hook text"));
        n.run_for(3s);
        CHECK(n.field("a", first_restarts) != "0");
    }
}

TEST_CASE("a probe by HTTP asks for its path, and takes 200 to 399 for an answer that is good") {
    node_fixture n;
    n.containers().listens = [](std::uint16_t) { return true; };
    std::string asked;
    std::string answer;
    n.containers().serves = [&](const std::string& request) {
        asked = request;
        return answer;
    };
    const std::string begins = "Unhealthy: Readiness probe failed: ";
    const auto create = [&](const std::string& how) {
        n.create(
            "a",
            always(
                R"(,"readinessProbe":{"periodSeconds":1,"failureThreshold":1,"httpGet":{)" + how +
                "}}"
            )
        );
        n.run_for(2s);
    };
    SECTION("what it asks") {
        answer = "HTTP/1.1 204 No Content\r\n\r\n";
        create(R"("port":8080,"path":"ready?x=1","httpHeaders":[{"name":"X-A","value":"b"}])");
        CHECK(
            asked ==
            "GET /ready?x=1 HTTP/1.1\r\nHost: 10.88.0.2:8080\r\nX-A: b\r\n"
            "User-Agent: kube-probe/1.34\r\nAccept: */*\r\nConnection: close\r\n\r\n"
        );
        CHECK(n.field("a", first_ready) == "true");
    }
    SECTION("under a name of its own") {
        answer = "HTTP/1.1 200 OK\r\n\r\n";
        create(R"("port":80,"httpHeaders":[{"name":"Host","value":"job"}])");
        CHECK(asked.starts_with("GET / HTTP/1.1\r\nHost: job\r\nUser-Agent: "));
    }
    SECTION("by the code of the answer") {
        answer = "HTTP/1.1 399 x\r\n\r\n";
        create(R"("port":80)");
        CHECK(n.field("a", first_ready) == "true");
        for (const char* code : {"400", "199", "503"}) {
            answer = std::string("HTTP/1.1 ") + code + " x\r\n\r\n";
            n.run_for(1s);
            CHECK(n.field("a", first_ready) == "false");
            CHECK(n.has_event("a", begins + "HTTP probe failed with statuscode: " + code));
        }
        answer = "HTTP/1.1 200 x\r\n\r\n";
        n.run_for(1s);
        CHECK(n.field("a", first_ready) == "true");
    }
    SECTION("that is no answer") {
        answer = "SSH-2.0-OpenSSH 200\r\n";
        create(R"("port":80)");
        CHECK(n.has_event("a", begins + "Get \"http://10.88.0.2:80/\": the answer is not HTTP"));
        answer = "";
        n.run_for(1s);
        CHECK(n.field("a", first_ready) == "false");
    }
    SECTION("not by HTTPS") {
        answer = "HTTP/1.1 200 OK\r\n\r\n";
        create(R"("port":80,"scheme":"HTTPS")");
        CHECK(n.has_event("a", begins + "HTTPS probes are not carried out here"));
        CHECK(asked.empty());
    }
}
