// SPDX-License-Identifier: Apache-2.0
//
// How connections come about: several addresses, proxies, keys that rotate. Real sockets of the
// loopback interface, plain and TLS, port 0.
#include "client/surroundings.hpp"
#include "transport/loopback_world.hpp"
#include "transport/tcp_race.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

using namespace signalbox::k8sio;
using namespace std::chrono_literals;
using test::after;
using test::certificate;
using test::ok;
using test::raw_server;
using test::reply;
namespace asio = boost::asio;
namespace ssl = boost::asio::ssl;

namespace {

using world = test::loopback_world;

using endpoints = std::vector<asio::ip::tcp::endpoint>;

boost::asio::awaitable<void> race_into(
    std::optional<result<asio::ip::tcp::socket>>& outcome,
    boost::asio::io_context& loop,
    virtual_clock& time,
    const endpoints& all,
    endpoints& losers
) {
    const steady_time until = time.steady_now() + 30s;
    auto got = co_await connect_to_any(loop.get_executor(), time, all, until, losers);
    outcome.emplace(std::move(got));
}

}  // namespace

TEST_CASE_METHOD(world, "[requirement C3] rotated certificates are picked up on new connections") {
    const certificate next_authority("authority", "", nullptr);
    const certificate old_server("server", "IP:127.0.0.1", &authority);
    const certificate new_server("server", "IP:127.0.0.1", &next_authority);
    const certificate old_user("jane", "DNS:jane", &authority);
    const certificate new_user("june", "DNS:june", &next_authority);
    const test::folder dir;
    const auto write = [&](const std::string& name, const std::string& text) {
        return dir.write(name, text);
    };
    use_tls(old_server, &authority);
    config.ca_file = write("ca", authority.pem());
    config.client_cert_pem = old_user.pem();
    config.client_key_pem = secret_text(old_user.key_pem());
    config.client_cert_file = write("cert", old_user.pem());
    config.client_key_file = write("key", old_user.key_pem());
    serve([](int, const std::string&) { return ok(); });
    CHECK(exchange().has_value());
    CHECK(exchange().has_value());
    CHECK(server->connections == 1);

    // Half of a rotation: the key is not yet that of the certificate. All goes on as before.
    write("cert", new_user.pem());
    time.advance(60s);
    CHECK(exchange().has_value());
    CHECK(server->client_names.back() == "/CN=jane");

    // The rest, and a server with a new certificate.
    write("key", new_user.key_pem());
    write("ca", next_authority.pem());
    auto rotated = std::make_shared<ssl::context>(ssl::context::tls_server);
    rotated->use_certificate(asio::buffer(new_server.pem()), ssl::context::pem);
    rotated->use_private_key(asio::buffer(new_server.key_pem()), ssl::context::pem);
    rotated->set_verify_mode(ssl::verify_peer | ssl::verify_fail_if_no_peer_cert);
    rotated->add_certificate_authority(asio::buffer(next_authority.pem()));
    server->rotate(rotated);
    time.advance(60s);
    CHECK(exchange().has_value());
    CHECK(server->client_names.back() == "/CN=june");
}

TEST_CASE_METHOD(
    world, "[requirement C3] after a failed handshake the authority's file is read again soon"
) {
    const certificate next_authority("authority", "", nullptr);
    const certificate old_server("server", "IP:127.0.0.1", &authority);
    const certificate new_server("server", "IP:127.0.0.1", &next_authority);
    const test::folder dir;
    use_tls(old_server);
    config.ca_file = dir.write("ca", authority.pem());
    options.max_idle = 0;
    serve([](int, const std::string&) { return ok(); });
    CHECK(exchange().has_value());
    auto rotated = std::make_shared<ssl::context>(ssl::context::tls_server);
    rotated->use_certificate(asio::buffer(new_server.pem()), ssl::context::pem);
    rotated->use_private_key(asio::buffer(new_server.key_pem()), ssl::context::pem);
    server->rotate(rotated);
    dir.write("ca", next_authority.pem());
    const auto refused = exchange();
    REQUIRE(refused.has_error());
    CHECK(refused.error().code == errc::tls);
    time.advance(1s);
    CHECK(exchange().has_value());
}

TEST_CASE_METHOD(world, "[requirement T10] a proxy is asked for the way, then TLS begins") {
    const std::string which = GENERATE(as<std::string>(), "TCP", "TLS");
    INFO(which);
    const certificate own("server", "DNS:api.example", &authority);
    if (which == "TLS") {
        use_tls(own);
    }
    const auto answer = [](int, const std::string& head) {
        const bool connect = head.substr(0, 7) == "CONNECT";
        return connect ? reply("HTTP/1.1 200 OK\r\n\r\n", after::keep) : ok();
    };
    server = std::make_unique<raw_server>(loop, answer, tls, "127.0.0.1", true);
    config.host = "api.example";
    config.port = "6443";
    config.proxy.emplace();
    config.proxy->host = "127.0.0.1";
    config.proxy->port = server->port();
    config.proxy->authorization = secret_text("Basic dTpw");
    connect();
    CHECK(exchange().has_value());
    CHECK(exchange().has_value());
    CHECK(server->connections == 1);
    REQUIRE(server->requests.size() == 3);
    CHECK(
        server->requests[0] ==
        "CONNECT api.example:6443 HTTP/1.1\r\nHost: api.example:6443\r\n"
        "Proxy-Authorization: Basic dTpw\r\n\r\n"
    );
    CHECK(server->requests[1].find("Host: api.example:6443\r\n") != std::string::npos);
    CHECK(server->requests[1].find("dTpw") == std::string::npos);
}

TEST_CASE_METHOD(
    world, "[requirement T10] [requirement T3] a proxy that refuses, or says nothing"
) {
    const std::string which =
        GENERATE(as<std::string>(), "refuses", "ends", "says nothing", "is not there");
    INFO(which);
    server = std::make_unique<raw_server>(loop, [&](int, const std::string&) {
        return which == "refuses" ? reply("HTTP/1.1 407 Who are\tyou\r\n\r\n", after::keep)
                                  : reply("", which == "ends" ? after::close : after::quiet);
    });
    config.host = "api.example";
    config.proxy.emplace();
    config.proxy->host = "127.0.0.1";
    config.proxy->port = server->port();
    if (which == "is not there") {
        server->stop();
    }
    connect();
    const std::function<bool()> asked = [&] { return !server->requests.empty(); };
    auto answer = exchange(which == "says nothing" ? asked : nullptr);
    REQUIRE(answer.has_error());
    CHECK(answer.error().code == errc::connect);
    const std::string& text = answer.error().message;
    INFO(text);
    const char* expected = which == "refuses" ? "the proxy gave 'HTTP/1.1 407 Who are you'"
                           : which == "says nothing"
                               ? "no answer from the proxy"
                               : "api.example port 443 by the proxy 127.0.0.1";
    CHECK(text.find(expected) != std::string::npos);
    answer.error().method = "POST";
    CHECK(classify(answer.error()) == retry_class::retry_later);
}

TEST_CASE_METHOD(
    world, "[requirement T3] one dead address of several does not take the time of the others"
) {
    serve([](int, const std::string&) { return ok(); });
    const auto loopback = asio::ip::make_address("127.0.0.1");
    // A listener that no one accepts from: once its queue is full it answers no one.
    asio::ip::tcp::acceptor full(loop);
    full.open(asio::ip::tcp::v4());
    full.bind({loopback, 0});
    full.listen(0);
    const asio::ip::tcp::endpoint dead = full.local_endpoint();
    std::vector<asio::ip::tcp::socket> queue;
    for (int i = 0; i < 8; ++i) {
        queue.emplace_back(loop).async_connect(dead, [](boost::system::error_code) {});
    }
    asio::ip::tcp::acceptor closed(loop, {loopback, 0});
    const asio::ip::tcp::endpoint refusing = closed.local_endpoint();
    closed.close();
    const asio::ip::tcp::endpoint good(
        loopback, static_cast<std::uint16_t>(std::stoi(server->port()))
    );
    endpoints losers;
    const auto try_all = [&](const endpoints& all) {
        losers.clear();
        std::optional<result<asio::ip::tcp::socket>> outcome;
        boost::asio::co_spawn(
            loop, race_into(outcome, loop, time, all, losers), boost::asio::detached
        );
        // Time passes only when nothing else does: poll() runs what the kernel has ready.
        while (!outcome) {
            loop.restart();
            if (loop.poll() == 0) {
                time.advance(50ms);
            }
        }
        return std::move(*outcome);
    };
    SECTION("dead, then refusing, then good") {
        const auto begin = time.steady_now();
        const auto made = try_all({dead, refusing, good});
        REQUIRE(made.has_value());
        CHECK(made->remote_endpoint() == good);
        CHECK(time.steady_now() - begin < 30s);
        CHECK(losers == endpoints{dead, refusing});
    }
    SECTION("all dead") {
        const auto begin = time.steady_now();
        const auto made = try_all({dead, dead});
        REQUIRE(made.has_error());
        CHECK(made.error().code == errc::connect);
        CHECK(made.error().message == "127.0.0.1: no answer, 127.0.0.1: no answer");
        CHECK(time.steady_now() - begin >= 30s);
    }
    SECTION("all refusing: at once") {
        const auto begin = time.steady_now();
        const auto made = try_all({refusing, refusing});
        REQUIRE(made.has_error());
        CHECK(
            made.error().message == "127.0.0.1: Connection refused, 127.0.0.1: Connection refused"
        );
        CHECK(time.steady_now() - begin < 250ms);
    }
}
