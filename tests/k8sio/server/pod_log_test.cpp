// SPDX-License-Identifier: Apache-2.0
//
// Logs of pods in process: what is asked of the runtime, and what of it reaches the client.
#include "k8sio/client.hpp"
#include "server/pod_world.hpp"
#include "signalbox_test/text.hpp"

#include <catch2/catch.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace signalbox::k8sio::server::test {
namespace {

using k8sio::test::task;

const std::string log_of_w = pods_path + "/w/log";

using signalbox::test::contains;

/// One read of a stream, which may take until something comes.
class reading {
public:
    reading(pod_world& w, response_stream& stream) : w_(&w), task_(w.loop, stream.read_some()) {
        w.loop.settle();
    }
    bool done() const { return task_.done; }
    /// The piece, or the error in words.
    std::string text() {
        w_->loop.settle();
        return !task_.done                ? "nothing yet"
               : task_.result.has_value() ? std::string(*task_.result)
                                          : std::string(to_string(task_.result.error().code));
    }
    void cancel() { task_.cancel(); }

private:
    pod_world* w_;
    task<result<std::string_view>> task_;
};

}  // namespace

TEST_CASE("a log is the pieces that the runtime gives, as text") {
    pod_world w;
    const auto log = w.pods.prepare();
    log->out->put("one\n");
    log->out->put("two\n");
    log->out->end();
    const http_response answer = w.send("GET", log_of_w);
    CHECK(answer.status == 200);
    CHECK(answer.body == "one\ntwo\n");
    CHECK(answer.header("Content-Type") == "text/plain");
    w.loop.settle();
    CHECK(log->closed);
    CHECK(log->destroyed);
    REQUIRE(w.pods.pods.size() == 1);
    CHECK(w.pods.pods[0].ns == "default");
    CHECK(w.pods.pods[0].name == "w");
    CHECK(w.pods.pods[0].uid.size() == 36);
}

TEST_CASE("[requirement A8] the query of a log becomes options of the runtime") {
    pod_world w;
    const wall_time now = w.loop.time.wall_now();
    for (const char* query :
         {"",
          "?container=init&follow=true&previous=1&timestamps",
          "?follow=false&previous=0&timestamps=False&tailLines=0&sinceSeconds=60",
          "?sinceTime=2023-11-14T22:00:00Z&tailLines=7",
          "?sinceSeconds=9223372036854775807"}) {
        w.pods.prepare()->out->end();
        INFO(query);
        CHECK(w.send("GET", log_of_w + query).status == 200);
    }
    const auto& got = w.pods.logs;
    REQUIRE(got.size() == 5);
    CHECK(got[0].container == "main");
    CHECK_FALSE((got[0].follow || got[0].previous || got[0].timestamps));
    CHECK_FALSE((got[0].since || got[0].tail_lines));
    CHECK(got[1].container == "init");
    CHECK((got[1].follow && got[1].previous && got[1].timestamps));
    CHECK_FALSE((got[2].follow || got[2].previous || got[2].timestamps));
    CHECK(got[2].tail_lines == 0);
    CHECK(got[2].since == now - std::chrono::seconds{60});
    CHECK(got[3].tail_lines == 7);
    CHECK(got[3].since == wall_time(std::chrono::seconds{1699999200}));
    CHECK_FALSE(got[4].since);
}

TEST_CASE(
    "[requirement A8] a request for a log that cannot be served says why, before the runtime is "
    "asked"
) {
    pod_world w;
    struct row {
        std::string target;
        int status;
        std::string words;
    };
    const std::vector<row> rows = {
        {"/none/log", 404, R"(pods \"none\" not found)"},
        {"/w/log?container=side", 400, "container side is not valid for pod w"},
        {"/two/log",
         400,
         "a container name must be specified for pod two, choose one of: [init main side]"},
        {"/w/log?tailLines=-1", 422, "must be greater than or equal to 0"},
        {"/w/log?tailLines=x", 400, "invalid syntax"},
        {"/w/log?limitBytes=0", 422, "limitBytes: Invalid value: 0: must be greater than 0"},
        {"/w/log?sinceSeconds=0", 422, "sinceSeconds: Invalid value: 0: must be greater than 0"},
        {"/w/log?sinceSeconds=1&sinceTime=2023-11-14T22:00:00Z",
         422,
         "at most one of `sinceTime` or `sinceSeconds` may be specified"},
        {"/w/log?sinceTime=yesterday", 400, "yesterday"},
    };
    for (const row& r : rows) {
        const http_response answer = w.send("GET", pods_path + r.target);
        INFO(r.target << ": " << answer.body);
        CHECK(answer.status == r.status);
        CHECK(contains(answer.body, r.words));
    }
    CHECK(w.send("POST", log_of_w).status == 405);
    const http_response unbound = w.send("GET", pods_path + "/unbound/log");
    CHECK(unbound.status == 204);
    CHECK(unbound.body.empty());
    CHECK(w.pods.logs.empty());
}

TEST_CASE("[requirement A8] what the runtime refuses is the answer") {
    pod_world w;
    w.pods.prepare(status_error(
        400, "BadRequest", "container \"main\" in pod \"w\" is waiting to start: ContainerCreating"
    ));
    w.pods.prepare(pod_failure("the disk is full"));
    w.pods.prepare(of_code(errc::connection_lost));
    const http_response waiting = w.send("GET", log_of_w);
    CHECK(waiting.status == 400);
    CHECK(contains(waiting.body, R"("reason":"BadRequest")"));
    CHECK(contains(waiting.body, "is waiting to start: ContainerCreating"));
    const http_response failed = w.send("GET", log_of_w);
    CHECK(failed.status == 500);
    CHECK(contains(failed.body, "Internal error occurred: the disk is full"));
    CHECK(contains(failed.body, R"("reason":"InternalError")"));
    CHECK(w.send("GET", log_of_w).status == 500);
}

TEST_CASE("without a runtime nothing of it is available") {
    pod_world w;
    w.server.set_pod_streams(nullptr);
    for (const std::string door : {"log", "exec", "attach", "portforward", "proxy"}) {
        const http_response answer = w.send("GET", pods_path + "/w/" + door + "?stdin=1");
        CHECK(answer.status == 501);
        CHECK(contains(answer.body, "pods/" + door + " is not available"));
        CHECK(w.send("GET", pods_path + "/none/" + door).status == 404);
    }
}

TEST_CASE("what needs a connection of its own is refused in process") {
    pod_world w;
    for (const std::string door : {"exec?stdout=1", "attach?stdout=1", "portforward"}) {
        const http_response answer = w.send("POST", pods_path + "/w/" + door);
        CHECK(answer.status == 400);
        CHECK(contains(answer.body, "Upgrade request required"));
    }
    CHECK(
        contains(w.send("POST", pods_path + "/w/exec").body, "at least 1 of stdin, stdout, stderr")
    );
}

TEST_CASE("limitBytes cuts a log, also within a piece") {
    for (const auto& [limit, text] : std::vector<std::pair<std::string, std::string>>{
             {"1", "a"}, {"3", "abc"}, {"4", "abcd"}, {"6", "abcdef"}, {"7", "abcdef"}}) {
        pod_world w;
        const auto log = w.pods.prepare();
        log->out->put("abc");
        log->out->put("def");
        log->out->end();
        CHECK(w.send("GET", log_of_w + "?limitBytes=" + limit).body == text);
        w.loop.settle();
        CHECK(log->closed);
        CHECK(log->out->reads == (limit < "4" ? 1 : limit < "7" ? 2 : 3));
    }
}

TEST_CASE(
    "[requirement A8] a log that is followed comes as it is written, and one piece is read ahead"
) {
    pod_world w;
    const auto log = w.pods.prepare();
    const auto stream = w.open(log_of_w + "?follow=true");
    REQUIRE(stream != nullptr);
    CHECK(stream->status() == 200);
    reading first(w, *stream);
    CHECK(first.text() == "nothing yet");
    log->out->put("a");
    CHECK(first.text() == "a");
    // No one reads: of a million pieces one is taken.
    const int before = log->out->reads;
    for (int i = 0; i < 1000; ++i) {
        log->out->put("b");
    }
    w.loop.settle();
    CHECK(log->out->reads == before);
    CHECK(reading(w, *stream).text() == "b");
    w.loop.settle();
    CHECK(log->out->reads == before + 1);
    stream->close();
    w.loop.settle();
    CHECK(log->closed);
    CHECK(log->destroyed);
}

TEST_CASE("[requirement A8] whoever leaves a log closes it, in every state of the read") {
    for (const int pieces : {0, 1, 2}) {
        pod_world w;
        const auto log = w.pods.prepare();
        for (int i = 0; i < pieces; ++i) {
            log->out->put("x");
        }
        auto stream = w.open(log_of_w + "?follow=true");
        std::optional<reading> pending;
        if (pieces == 0) {
            pending.emplace(w, *stream);
            pending->cancel();
            CHECK(pending->text() == to_string(errc::cancelled));
        }
        stream.reset();
        w.loop.settle();
        CHECK(log->closed);
        CHECK(log->destroyed);
    }
}

TEST_CASE("a log that breaks off is not taken for a whole one") {
    pod_world w;
    const auto log = w.pods.prepare();
    log->out->put("half a li");
    log->out->fail(of_code(errc::connection_lost));
    const auto stream = w.open(log_of_w);
    CHECK(reading(w, *stream).text() == "half a li");
    CHECK(reading(w, *stream).text() == to_string(errc::connection_lost));
    const auto again = w.pods.prepare();
    again->out->put("half");
    again->out->fail(of_code(errc::connection_lost));
    CHECK(w.send("GET", log_of_w).body == to_string(errc::connection_lost));
}

TEST_CASE("a log that goes on is no whole answer at the deadline") {
    pod_world w;
    const auto log = w.pods.prepare();
    log->out->put("x");
    CHECK(w.send("GET", log_of_w + "?follow=true").body == to_string(errc::timeout));
    w.loop.settle();
    CHECK(log->closed);
}

TEST_CASE("a server that ends its streams ends logs, and one that is destroyed closes them") {
    pod_world w;
    const auto log = w.pods.prepare();
    const auto stream = w.open(log_of_w + "?follow=true");
    reading pending(w, *stream);
    w.server.break_watches();
    CHECK(pending.text().empty());
    w.loop.settle();
    CHECK(log->closed);
    CHECK(log->destroyed);
}

TEST_CASE("[requirement T15] a client reads a log in process") {
    pod_world w;
    client api(*w.to_server, w.loop.time);
    const auto log = w.pods.prepare();
    log_query query;
    query.follow = true;
    query.tail_lines = 3;
    auto opened = k8sio::test::run(w.loop, api.open_log("default", "w", query));
    REQUIRE(opened.has_value());
    CHECK(w.pods.logs.at(0).tail_lines == 3);
    CHECK(w.pods.logs.at(0).follow);
    log->out->put("one");
    CHECK(reading(w, **opened).text() == "one");
    reading pending(w, **opened);
    w.loop.run_for(std::chrono::hours{23});
    CHECK_FALSE(pending.done());
    (*opened)->close();
    CHECK(pending.text() == to_string(errc::cancelled));
    w.loop.settle();
    CHECK(log->closed);

    w.pods.prepare(status_error(400, "BadRequest", "container \"main\" is waiting to start"));
    const auto refused = k8sio::test::run(w.loop, api.open_log("default", "w", query));
    REQUIRE(refused.has_error());
    CHECK(refused.error().http_status == 400);
    CHECK(refused.error().reason == "BadRequest");
    CHECK(contains(refused.error().message, "waiting to start"));
}

}  // namespace signalbox::k8sio::server::test
