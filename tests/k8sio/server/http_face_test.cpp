// SPDX-License-Identifier: Apache-2.0
//
// The HTTP face as bytes on a connection, in virtual time.
#include "client/surroundings.hpp"
#include "k8sio/config.hpp"
#include "k8sio/connect.hpp"
#include "server/pod_world.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>

#include <catch2/catch.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace signalbox::k8sio::server::test {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

class raw_client {
public:
    raw_client(pod_world& w, std::uint16_t port) : world_(&w), socket_(w.loop.loop) {
        socket_.open(tcp::v4());
        // So that little is under way to a client that does not read.
        socket_.set_option(asio::socket_base::receive_buffer_size(4096));
        socket_.connect({asio::ip::make_address("127.0.0.1"), port});
        socket_.non_blocking(true);
    }

    void send(const std::string& text) { asio::write(socket_, asio::buffer(text)); }

    /// Whether `part` comes, within a minute; what came up to its end is taken.
    bool receives(const std::string& part) {
        const auto end = std::chrono::steady_clock::now() + std::chrono::minutes{1};
        while (std::chrono::steady_clock::now() < end) {
            if (const std::size_t at = text_.find(part); at != std::string::npos) {
                text_.erase(0, at + part.size());
                return true;
            }
            world_->loop.settle();
            char bytes[4096];
            boost::system::error_code error;
            const std::size_t got = socket_.read_some(asio::buffer(bytes), error);
            text_.append(bytes, got);
            if (error && error != asio::error::would_block) {
                ended_ = true;
                return text_.find(part) != std::string::npos;
            }
        }
        return false;
    }

    /// Whether a whole answer in chunks came, and then the end of the connection.
    bool ended() const { return ended_ && text_.ends_with("\r\n0\r\n\r\n"); }

private:
    pod_world* world_;
    tcp::socket socket_;
    std::string text_;
    bool ended_ = false;
};

std::string request(const std::string& target, const std::string& headers = "") {
    return "GET " + target + " HTTP/1.1\r\nHost: 127.0.0.1\r\n" + headers + "\r\n";
}

}  // namespace

TEST_CASE("[requirement A8] a session speaks a protocol that the client offers, and pings it") {
    pod_world w;
    const auto process = w.pods.prepare();
    raw_client client(w, *w.server.listen("127.0.0.1", 0));
    client.send(request(
        pods_path + "/w/exec?command=x&stdout=1",
        "Connection: keep-alive, Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
        "Sec-WebSocket-Protocol: other.example.org,v5.channel.k8s.io\r\n"
    ));
    REQUIRE(client.receives("HTTP/1.1 101 "));
    CHECK(client.receives("Sec-WebSocket-Protocol: v5.channel.k8s.io\r\n"));
    REQUIRE(client.receives("\r\n\r\n"));
    const std::string ping("\x89\0", 2);
    for (int i = 0; i < 3; ++i) {
        w.loop.settle();
        w.loop.run_for(std::chrono::seconds{15});
        CHECK(client.receives(ping));
    }
    REQUIRE(w.pods.processes.size() == 1);
    CHECK(w.pods.processes[0].command == std::vector<std::string>{"x"});
    w.server.stop();
    w.loop.settle();
    CHECK(process->closed);
}

TEST_CASE("what a client sends while it watches does not end the watch") {
    pod_world w;
    raw_client client(w, *w.server.listen("127.0.0.1", 0));
    client.send(request("/api/v1/namespaces/default/configmaps?watch=1"));
    REQUIRE(client.receives("HTTP/1.1 200 OK"));
    REQUIRE(client.receives("\r\n\r\n"));
    client.send("x");
    for (const char* name : {"a", "b"}) {
        w.send(
            "POST",
            "/api/v1/namespaces/default/configmaps",
            R"({"metadata":{"name":")" + std::string(name) + R"("}})"
        );
        CHECK(client.receives(R"("name":")" + std::string(name)));
    }
    w.server.stop();
}

TEST_CASE("a broken watch that a client reads slowly sends no mark of an end that did not come") {
    pod_world w;
    const std::string large(512 * 1024, 'x');
    for (int i = 0; i < 16; ++i) {
        w.send(
            "POST",
            "/api/v1/namespaces/default/configmaps",
            R"({"metadata":{"generateName":"a-"},"data":{"a":")" + large + "\"}}"
        );
    }
    raw_client client(w, *w.server.listen("127.0.0.1", 0));
    client.send(
        request("/api/v1/namespaces/default/configmaps?watch=1&sendInitialEvents=true"
                "&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true")
    );
    REQUIRE(client.receives(R"({"type":"ADDED")"));
    w.server.break_watches();
    CHECK_FALSE(client.receives(R"({"type":"BOOKMARK")"));
    CHECK(client.ended());
}

TEST_CASE("an answer has its type, beside other headers too") {
    pod_world w;
    raw_client client(w, *w.server.listen("127.0.0.1", 0));
    client.send(request("/api/v1/namespaces/default"));
    CHECK(client.receives("\r\nContent-Type: application/json\r\n"));
    const std::string body = R"({"metadata":{"name":"a"},"typo":1})";
    client.send(
        "POST /api/v1/namespaces/default/configmaps HTTP/1.1\r\nHost: localhost\r\n"
        "Content-Type: application/json\r\nContent-Length: " +
        std::to_string(body.size()) + "\r\n\r\n" + body
    );
    REQUIRE(client.receives("HTTP/1.1 201 "));
    CHECK(client.receives("\r\nWarning: 299 - "));
    CHECK(client.receives("\r\nContent-Type: application/json\r\n"));
    CHECK(client.receives("\r\n\r\n{"));
}

TEST_CASE("each answer has an Audit-Id of its own") {
    pod_world w;
    const http_response one = w.send("GET", pods_path);
    const http_response other = w.send("GET", pods_path);
    CHECK(one.header("Audit-Id").size() == 36);
    CHECK(one.header("Audit-Id") != other.header("Audit-Id"));
}

TEST_CASE(
    "[requirement A1] [requirement H7] a server with a token speaks TLS, and lets no one in "
    "without it"
) {
    asio::io_context io;
    const auto time = make_machine_clock(io.get_executor());
    server_options options;
    options.token = "secret";
    api_server server(io.get_executor(), *time, options);
    const std::uint16_t port = *server.listen("127.0.0.1", 0);
    const k8sio::test::folder dir;
    const auto written =
        load_kubeconfig(dir.write("config", server.kubeconfig("127.0.0.1", port)), "");
    REQUIRE(written.has_value());
    cluster_config config = *written;
    struct row {
        const char* token;
        const char* target;
        const char* body;
        int status;
    };
    const row rows[] = {
        {"", "/api/v1/namespaces", "", 401},
        {"other", "/api/v1/namespaces", "", 401},
        {"secret", "/api/v1/namespaces", "", 200},
        // Open to all, but for what would have to be read.
        {"", "/healthz", "", 200},
        {"", "/healthz", "{}", 401},
        {"secret", "/healthz", "{}", 200},
    };
    for (const auto& [token, target, body, status] : rows) {
        INFO(token << " " << target << " " << body);
        config.token = secret_text(token);
        const auto transport = *make_http_transport(io.get_executor(), *time, config);
        http_request get("GET", target);
        get.body = body;
        std::optional<result<http_response>> answer;
        asio::co_spawn(
            io,
            transport->exchange(get, time->steady_now() + std::chrono::minutes{1}),
            [&answer](std::exception_ptr, result<http_response> got) {
                answer.emplace(std::move(got));
            }
        );
        while (!answer) {
            io.restart();
            io.run_one();
        }
        REQUIRE(answer->has_value());
        CHECK((*answer)->status == status);
        const bool refused =
            (*answer)->body.find(R"("reason":"Unauthorized")") != std::string::npos;
        CHECK(refused == (status == 401));
    }
    server.stop();
}

TEST_CASE("a page of another site is refused, in words") {
    pod_world w;
    raw_client client(w, *w.server.listen("127.0.0.1", 0));
    client.send(request("/version", "Origin: http://example.org\r\n"));
    REQUIRE(client.receives("HTTP/1.1 403 "));
    CHECK(client.receives("\r\nContent-Type: application/json\r\n"));
    CHECK(client.receives("requests from web pages are refused by a server without a token"));
}

TEST_CASE("a server that has stopped gives its port back") {
    pod_world w;
    const std::uint16_t port = *w.server.listen("127.0.0.1", 0);
    w.server.stop();
    w.loop.settle();
    api_server next(w.loop.loop.get_executor(), w.loop.time);
    const auto again = next.listen("127.0.0.1", port);
    REQUIRE(again.has_value());
    CHECK(*again == port);
    next.stop();
}

TEST_CASE("a port that is taken is an error that names it") {
    pod_world w;
    const std::uint16_t port = *w.server.listen("127.0.0.1", 0);
    api_server other(w.loop.loop.get_executor(), w.loop.time);
    const auto refused = other.listen("127.0.0.1", port);
    REQUIRE(refused.has_error());
    CHECK(refused.error().code == errc::connect);
    CHECK(refused.error().message.starts_with(
        "cannot listen on 127.0.0.1:" + std::to_string(port) + ": "
    ));
    const auto named = other.listen("localhost", 0);
    REQUIRE(named.has_error());
    CHECK(named.error().code == errc::connect);
}

}  // namespace signalbox::k8sio::server::test
