// SPDX-License-Identifier: Apache-2.0
//
// Logs over a real connection: a client of the library, the HTTP face, a scripted runtime.
#include "k8sio/client.hpp"
#include "k8sio/connect.hpp"
#include "k8sio/server/api_server.hpp"
#include "server/scripted_pods.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <catch2/catch.hpp>

#include <memory>
#include <optional>
#include <string>

namespace signalbox::k8sio::server::test {
namespace {

class http_world {
public:
    http_world()
        : time(make_machine_clock(loop.get_executor())),
          pods(loop.get_executor()),
          server(std::make_unique<api_server>(loop.get_executor(), *time)) {
        server->set_pod_streams(&pods);
        cluster_config config;
        config.scheme = "http";
        config.host = "127.0.0.1";
        config.port = std::to_string(*server->listen("127.0.0.1", 0));
        to_server = *make_http_transport(loop.get_executor(), *time, config, {});
        api = std::make_unique<client>(*to_server, *time);
        const auto made = run(api->create(
            resources::pods(),
            "default",
            R"({"metadata":{"name":"w"},"spec":{"nodeName":"n","containers":[{"name":"main","image":"x"}]}})"
        ));
        REQUIRE(made.has_value());
    }

    template <class T>
    T run(boost::asio::awaitable<T> work) {
        std::optional<T> value;
        boost::asio::co_spawn(loop, std::move(work), [&](std::exception_ptr, T got) {
            value.emplace(std::move(got));
        });
        run_until([&value] { return value.has_value(); });
        return std::move(*value);
    }
    template <class Condition>
    void run_until(Condition condition) {
        while (!condition()) {
            loop.restart();
            loop.run_one();
        }
    }
    /// The whole rest; or why there is no more, in words.
    std::string rest_of(response_stream& stream) {
        std::string all;
        for (;;) {
            const result<std::string_view> piece = run(stream.read_some());
            if (piece.has_error()) {
                return std::string(to_string(piece.error().code));
            }
            if (piece->empty()) {
                return all;
            }
            all += *piece;
        }
    }

    boost::asio::io_context loop;
    std::unique_ptr<clock> time;
    scripted_pods pods;
    std::unique_ptr<api_server> server;
    std::unique_ptr<transport> to_server;
    std::unique_ptr<client> api;
};

}  // namespace

TEST_CASE("[requirement T15] a log over HTTP, to its end") {
    http_world w;
    const auto log = w.pods.prepare();
    std::string all;
    for (int i = 0; i < 20; ++i) {
        const std::string piece(64 * 1024, static_cast<char>('a' + i));
        log->out->put(piece);
        all += piece;
    }
    log->out->end();
    const auto opened = w.run(w.api->open_log("default", "w", log_query()));
    REQUIRE(opened.has_value());
    CHECK((*opened)->header("content-type") == "text/plain");
    CHECK(w.rest_of(**opened) == all);
    w.run_until([&log] { return log->destroyed; });
    CHECK(log->closed);
}

TEST_CASE("[requirement T15] a log over HTTP that breaks off, that is refused, that is left") {
    http_world w;
    const auto broken = w.pods.prepare();
    broken->out->put("half");
    broken->out->fail(of_code(errc::connection_lost));
    const auto opened = w.run(w.api->open_log("default", "w", log_query()));
    REQUIRE(opened.has_value());
    CHECK(w.rest_of(**opened) == to_string(errc::connection_lost));

    w.pods.prepare(status_error(400, "BadRequest", "container is waiting to start"));
    const auto refused = w.run(w.api->open_log("default", "w", log_query()));
    REQUIRE(refused.has_error());
    CHECK(refused.error().http_status == 400);
    CHECK(refused.error().message == "container is waiting to start");

    const auto left = w.pods.prepare();
    left->out->put("x");
    log_query follow;
    follow.follow = true;
    auto stream = w.run(w.api->open_log("default", "w", follow));
    REQUIRE(stream.has_value());
    CHECK(*w.run((*stream)->read_some()) == "x");
    CHECK_FALSE(left->closed);
    (*stream)->close();
    w.run_until([&left] { return left->destroyed; });
    CHECK(left->closed);

    const auto stopped = w.pods.prepare();
    stream = w.run(w.api->open_log("default", "w", follow));
    REQUIRE(stream.has_value());
    w.server->stop();
    CHECK(w.rest_of(**stream) == to_string(errc::connection_lost));
    w.run_until([&stopped] { return stopped->destroyed; });
    CHECK(stopped->closed);
}

TEST_CASE("[requirement A8] a client that reads nothing holds its log back, not the server's memory"
) {
    http_world w;
    const auto log = w.pods.prepare();
    const std::string piece(64 * 1024, 'x');
    const auto opened = w.run(w.api->open_log("default", "w", log_query()));
    REQUIRE(opened.has_value());
    int put = 0;
    // Sockets take some megabytes; a thousand pieces they do not.
    while (put < 1000 && log->out->reads + 10 > put) {
        log->out->put(piece);
        ++put;
        for (int i = 0; i < 100; ++i) {
            w.loop.restart();
            w.loop.poll();
        }
    }
    CHECK(put < 1000);
    log->out->end();
    CHECK(w.rest_of(**opened).size() == piece.size() * static_cast<std::size_t>(put));
}

}  // namespace signalbox::k8sio::server::test
