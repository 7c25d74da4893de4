// SPDX-License-Identifier: Apache-2.0
//
// exec and attach without a socket: what reaches the process, and what the client.
#include "server/streams/container_session.hpp"

#include "server/scripted_socket.hpp"

#include <catch2/catch.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace signalbox::k8sio::server::test {
namespace {

using k8sio::test::virtual_loop;
using messages = std::vector<std::string>;

const std::string success = "\3{\"metadata\":{},\"status\":\"Success\"}";
const std::string end_of_input("\377\0", 2);

process_options wanted() {
    process_options o;
    o.container = "main";
    o.command = {"sh"};
    o.in = o.out = o.err = true;
    return o;
}

std::string input(const std::string& text) {
    return std::string(1, '\0') + text;
}

struct session_world {
    explicit session_world(
        process_options options = wanted(),
        container_verb verb = container_verb::exec,
        std::string protocol = "v5.channel.k8s.io"
    )
        : pods(loop.loop.get_executor()), process(pods.prepare()) {
        client = std::make_unique<running_session>(
            loop,
            make_container_session(
                loop.loop.get_executor(),
                pods,
                verb,
                pod_ref("default", "w", "uid"),
                std::move(options),
                std::move(protocol)
            )
        );
    }
    void end_outputs() {
        process->out->end();
        process->err->end();
        loop.settle();
    }

    virtual_loop loop;
    scripted_pods pods;
    std::shared_ptr<scripted> process;
    std::unique_ptr<running_session> client;
};

}  // namespace

TEST_CASE("[requirement A8] a command's outputs and its success reach the client") {
    session_world w;
    CHECK(w.client->got() == messages{"\1"});
    w.process->out->put("one");
    CHECK(w.client->got() == messages{"\1one"});
    w.process->err->put("two");
    CHECK(w.client->got() == messages{"\2two"});
    w.end_outputs();
    CHECK(w.client->got().empty());
    w.process->exit->put("0");
    CHECK(w.client->got() == messages{success});
    CHECK(w.client->done());
    CHECK(w.client->socket.finished);
    CHECK(w.process->closed);
    CHECK(w.process->destroyed);
    REQUIRE(w.pods.processes.size() == 1);
    CHECK(w.pods.verbs == messages{"exec"});
    CHECK(w.pods.processes[0].command == messages{"sh"});
    CHECK(w.pods.pods[0].uid == "uid");
}

TEST_CASE("an exit code is told as the kubelet tells it") {
    session_world w;
    w.end_outputs();
    w.process->exit->put("137");
    const messages got = w.client->got();
    REQUIRE(got.size() == 2);
    CHECK(
        got[1] ==
        "\3{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\","
        "\"message\":\"command terminated with non-zero exit code: command terminated with exit "
        "code 137\",\"reason\":\"NonZeroExitCode\",\"details\":{\"causes\":[{\"reason\":"
        "\"ExitCode\",\"message\":\"137\"}]}}"
    );
}

TEST_CASE("the first message goes to the first output that is wanted") {
    for (const auto& [out, err, first] : std::vector<std::tuple<bool, bool, std::string>>{
             {true, true, "\1"}, {false, true, "\2"}, {false, false, "\3"}}) {
        process_options o = wanted();
        o.out = out;
        o.err = err;
        session_world w(o);
        CHECK(w.client->got() == messages{first});
        CHECK(w.process->out->reads == (out ? 1 : 0));
        CHECK(w.process->err->reads == (err ? 1 : 0));
    }
}

TEST_CASE("a runtime that refuses a command says why in the Status") {
    virtual_loop loop;
    scripted_pods pods(loop.loop.get_executor());
    pods.prepare(status_error(400, "BadRequest", "container not found (\"main\")"));
    running_session client(
        loop,
        make_container_session(
            loop.loop.get_executor(),
            pods,
            container_verb::exec,
            pod_ref("default", "w", "uid"),
            wanted(),
            "v5.channel.k8s.io"
        )
    );
    const messages got = client.got();
    REQUIRE(got.size() == 2);
    CHECK(got[1].find("container not found (\\\"main\\\")") != std::string::npos);
    CHECK(got[1].find(R"("reason":"BadRequest")") != std::string::npos);
    CHECK(client.done());
    CHECK(client.socket.finished);
}

TEST_CASE("input reaches the process until its end, which only v5 can tell") {
    session_world w;
    w.client->send(input("abc"));
    w.client->send(input(""));
    w.client->send(input("def"));
    CHECK(w.process->written == "abcdef");
    CHECK_FALSE(w.process->finished);
    w.client->send(end_of_input);
    CHECK(w.process->finished);
    w.client->send(input("late"));
    w.client->send(end_of_input);
    CHECK(w.process->written == "abcdef");

    session_world older(wanted(), container_verb::exec, "v4.channel.k8s.io");
    older.client->send(end_of_input);
    older.client->send(input("on"));
    CHECK_FALSE(older.process->finished);
    CHECK(older.process->written == "on");

    process_options o = wanted();
    o.in = false;
    session_world deaf(o);
    deaf.client->send(input("abc"));
    deaf.client->send(end_of_input);
    CHECK(deaf.process->written.empty());
    CHECK_FALSE(deaf.process->finished);
}

TEST_CASE("a terminal has the size that the client last told, however it is told") {
    process_options o = wanted();
    o.tty = true;
    o.err = false;
    session_world w(o);
    const messages all = {
        R"({"Width":80,"Height":24})",
        R"({"Width":0,"Height":24})",
        R"({"Width":80,"Height":-1})",
        R"({"Width":65536,"Height":24})",
        R"({"Width":80})",
        R"({"Width":"80","Height":24})",
        "[]",
        "{",
        "",
        "\xff\xfe",
        std::string(10000, '['),
        R"({"Width":65535,"Height":1})",
    };
    for (const std::string& each : all) {
        w.client->send("\4" + each);
    }
    CHECK(w.process->sizes == std::vector<std::pair<int, int>>{{80, 24}, {65535, 1}});
    session_world plain;
    plain.client->send("\4" + all[0]);
    CHECK(plain.process->sizes.empty());
}

TEST_CASE("[requirement A8] messages on channels that are not the client's do nothing") {
    session_world w;
    for (int channel = 1; channel < 256; ++channel) {
        for (const char* text : {"", "x", "\1", "\377"}) {
            w.client->send(std::string(1, static_cast<char>(channel)) + text);
        }
    }
    w.client->send("");
    CHECK(w.process->written.empty());
    CHECK_FALSE(w.process->finished);
    CHECK_FALSE(w.client->done());
}

TEST_CASE("[requirement A8] a client that leaves takes its process along, at any moment") {
    const std::vector<std::function<void(session_world&)>> moments = {
        [](session_world&) {},
        [](session_world& w) { w.process->out->put("x"); },
        [](session_world& w) { w.client->send(input("x")); },
        [](session_world& w) {
            w.process->slow = true;
            w.client->send(input("x"));
        },
        [](session_world& w) {
            w.client->socket.slow = true;
            w.process->out->put("x");
            w.process->err->put("y");
        },
        [](session_world& w) { w.process->out->end(); },
        [](session_world& w) { w.end_outputs(); },
    };
    for (const bool told : {true, false}) {
        for (std::size_t i = 0; i < moments.size(); ++i) {
            INFO(i);
            session_world w;
            moments[i](w);
            w.loop.settle();
            CHECK_FALSE(w.client->done());
            if (told) {
                w.client->leave();
            } else if (i == 3 || i == 4) {
                continue;  // nothing is read or written: only the face can tell
            } else {
                w.client->socket.from_client->close();
            }
            CHECK(w.client->done());
            CHECK(w.process->closed);
            CHECK(w.process->destroyed);
            CHECK_FALSE(w.client->socket.finished);
        }
    }
}

TEST_CASE("a client that was gone before the session began starts no process") {
    virtual_loop loop;
    scripted_pods pods(loop.loop.get_executor());
    const auto process = pods.prepare();
    const auto session = make_container_session(
        loop.loop.get_executor(),
        pods,
        container_verb::exec,
        pod_ref("default", "w", "uid"),
        wanted(),
        "v5.channel.k8s.io"
    );
    session->stop();
    running_session client(loop, session);
    CHECK(client.done());
    CHECK(pods.verbs.empty());
}

TEST_CASE(
    "[requirement A8] who is slow is waited for: one piece of each output and one message are held"
) {
    session_world w;
    (void)w.client->got();
    w.client->socket.slow = true;
    for (int i = 0; i < 100; ++i) {
        w.process->out->put("x");
        w.process->err->put("y");
    }
    w.loop.settle();
    CHECK(w.process->out->reads == 1);
    CHECK(w.process->err->reads == 1);
    w.client->socket.taking->put("go");
    CHECK(w.client->got() == messages{"\1x"});
    CHECK(w.process->out->reads == 2);

    session_world slow;
    slow.process->slow = true;
    for (int i = 0; i < 100; ++i) {
        slow.client->send(input("x"));
    }
    CHECK(slow.client->socket.from_client->reads == 1);
    slow.process->taking->put("go");
    slow.loop.settle();
    CHECK(slow.client->socket.from_client->reads == 2);
    CHECK(slow.process->written == "x");
}

TEST_CASE("a process that takes no more input goes on") {
    session_world w;
    w.process->slow = true;
    w.client->send(input("x"));
    w.process->taking->fail(of_code(errc::connection_lost));
    w.client->send(input("y"));
    w.process->out->put("alive");
    CHECK(w.client->got() == messages{"\1", "\1alive"});
    w.end_outputs();
    w.process->exit->put("0");
    CHECK(w.client->got() == messages{success});
    CHECK(w.process->written.empty());
}

TEST_CASE("a process that ends while its input waits ends the session") {
    session_world w;
    w.process->slow = true;
    w.client->send(input("x"));
    w.end_outputs();
    w.process->exit->put("0");
    CHECK(w.client->got() == messages{"\1", success});
    CHECK(w.client->done());
}

TEST_CASE("an output that breaks off ends the session with the reason") {
    session_world w;
    api_error error = of_code(errc::connection_lost);
    error.message = "the pipe burst";
    w.process->err->fail(error);
    const messages got = w.client->got();
    REQUIRE(got.size() == 2);
    CHECK(got[1].find("Internal error occurred: the pipe burst") != std::string::npos);
    CHECK(w.client->done());
    CHECK(w.process->closed);
}

TEST_CASE("what was attached to ends with its outputs; its exit code is the pod's to tell") {
    session_world w(wanted(), container_verb::attach);
    CHECK(w.pods.verbs == messages{"attach"});
    w.process->out->put("x");
    w.end_outputs();
    CHECK(w.client->got() == messages{"\1", "\1x", success});
    CHECK(w.process->exit->reads == 0);
    CHECK(w.client->done());
}

}  // namespace signalbox::k8sio::server::test
