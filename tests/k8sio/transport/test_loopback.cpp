// SPDX-License-Identifier: Apache-2.0
//
// The real transport over real sockets of the loopback interface, plain and TLS, port 0.
#include "client/surroundings.hpp"
#include "transport/asio_stream.hpp"
#include "transport/loopback_world.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>

#include <catch2/catch.hpp>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/conf.h>

#include <functional>

using namespace signalbox::k8sio;
using namespace std::chrono_literals;
using test::after;
using test::certificate;
using test::ok;
using test::raw_server;
using test::reply;
namespace ssl = boost::asio::ssl;
using world = test::loopback_world;

namespace {

/// A machine whose settings of OpenSSL allow everything, as some do for the sake of old servers.
class lax_openssl {
public:
    lax_openssl() {
        const std::string file = folder_.write(
            "openssl.cnf",
            "openssl_conf = all\n[all]\nssl_conf = ssl\n[ssl]\nsystem_default = lax\n"
            "[lax]\nMinProtocol = TLSv1\nCipherString = ALL:@SECLEVEL=0\n"
        );
        REQUIRE(CONF_modules_load_file(file.c_str(), nullptr, 0) == 1);
    }
    ~lax_openssl() { CONF_modules_finish(); }
    lax_openssl(const lax_openssl&) = delete;
    lax_openssl& operator=(const lax_openssl&) = delete;

private:
    test::folder folder_;
};

}  // namespace

TEST_CASE_METHOD(world, "[requirement T1] real connections are kept, over TCP and TLS") {
    const std::string which = GENERATE(as<std::string>(), "TCP", "TLS");
    INFO(which);
    const certificate own("server", "IP:127.0.0.1", &authority);
    if (which == "TLS") {
        use_tls(own);
    }
    serve([](int, const std::string&) { return ok(); });
    for (int i = 0; i < 3; ++i) {
        const auto answer = exchange();
        REQUIRE(answer.has_value());
        CHECK(answer->body == "{\"kind\":\"Pod\"}");
    }
    CHECK(server->connections == 1);
}

TEST_CASE_METHOD(world, "[requirement T4] a dead peer is noticed without traffic") {
    serve([](int, const std::string&) { return ok(); });
    const auto connector = make_tcp_connector(loop.get_executor(), time, config, options);
    const auto made = run(connector->connect(time.steady_now() + 30s));
    REQUIRE(made.has_value());
    auto* stream = dynamic_cast<asio_stream<asio::ip::tcp::socket>*>(made->get());
    REQUIRE(stream != nullptr);
    const auto option = [&](int level, int name) {
        int value = 0;
        socklen_t size = sizeof value;
        ::getsockopt(stream->socket().native_handle(), level, name, &value, &size);
        return value;
    };
    CHECK(option(SOL_SOCKET, SO_KEEPALIVE) == 1);
    CHECK(option(IPPROTO_TCP, TCP_KEEPIDLE) == 30);
    CHECK(option(IPPROTO_TCP, TCP_KEEPINTVL) == 10);
    CHECK(option(IPPROTO_TCP, TCP_KEEPCNT) == 3);
    CHECK(option(IPPROTO_TCP, TCP_USER_TIMEOUT) == 60000);
}

TEST_CASE_METHOD(
    world, "[requirement R4] a keep-alive connection closed between requests is noticed"
) {
    const std::string which = GENERATE(as<std::string>(), "TCP", "TLS");
    INFO(which);
    const certificate own("server", "IP:127.0.0.1", &authority);
    if (which == "TLS") {
        use_tls(own);
    }
    serve([](int, const std::string&) { return ok(after::close); });
    for (int i = 0; i < 5; ++i) {
        CHECK(get().has_value());
    }
    CHECK(server->connections == 5);
}

TEST_CASE_METHOD(
    world, "[requirement R4] a reset instead of an answer: a read is sent again, once"
) {
    serve([](int connection, const std::string&) {
        return connection == 0 ? reply("", after::reset) : ok();
    });
    CHECK(get().has_value());
    CHECK(server->connections == 2);
}

TEST_CASE_METHOD(world, "[requirement R4] a half answer to a write is reported, never repeated") {
    for (const after how : {after::reset, after::close}) {
        serve([how](int, const std::string&) {
            return reply("HTTP/1.1 201 Created\r\nContent-Length: 14\r\n\r\n{\"kind", how);
        });
        client api(*transport, time);
        const auto outcome = run(api.create(resources::pods(), "a", std::string("{}")));
        REQUIRE(outcome.has_error());
        CHECK(outcome.error().code == errc::connection_lost);
        CHECK(classify(outcome.error()) == retry_class::unknown_outcome);
        CHECK(server->requests.size() == 1);
        server->stop();
    }
}

TEST_CASE_METHOD(world, "[requirement T3] a header that never ends times out") {
    serve([](int, const std::string&) { return reply("HTTP/1.1 200 OK\r\nX: ", after::quiet); });
    const auto answer = exchange([&] { return !server->requests.empty(); });
    REQUIRE(answer.has_error());
    CHECK(answer.error().code == errc::timeout);
}

TEST_CASE_METHOD(world, "[requirement T3] a handshake that never ends times out") {
    serve([](int, const std::string&) { return reply("", after::quiet); });
    config.scheme = "https";
    connect();
    auto answer = exchange([&] { return server->connections > 0; });
    REQUIRE(answer.has_error());
    CHECK(answer.error().code == errc::tls);
    answer.error().method = "POST";
    CHECK(classify(answer.error()) == retry_class::retry_later);  // nothing was sent
}

TEST_CASE_METHOD(world, "[requirement R4] no one listens: an error before anything was sent") {
    serve([](int, const std::string&) { return ok(); });
    server->stop();
    const auto answer = exchange();
    REQUIRE(answer.has_error());
    CHECK(answer.error().code == errc::connect);
    CHECK(answer.error().message.find("127.0.0.1 port") != std::string::npos);
    config.host = "no-such-host.invalid";
    connect();
    CHECK(exchange().error().code == errc::resolve);
}

TEST_CASE_METHOD(
    world, "[requirement T5] a watch that is reset in mid chunk, idle, or ends in order"
) {
    const std::string which = GENERATE(as<std::string>(), "TCP", "TLS");
    INFO(which);
    const std::string head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    struct row {
        std::string rest;
        after next;
        std::optional<errc> expected;
    };
    const certificate own("server", "IP:127.0.0.1", &authority);
    if (which == "TLS") {
        use_tls(own);
    }
    for (const row& r :
         {row{"8\r\nab", after::reset, errc::connection_lost},
          row{"8\r\nab", after::close, errc::connection_lost},
          row{"2\r\nab\r\n", after::quiet, errc::timeout},
          row{"2\r\nab\r\n0\r\n\r\n", after::quiet, std::nullopt}}) {
        serve([&](int, const std::string&) { return reply(head + r.rest, r.next); });
        auto stream = run(transport->open_stream(request, 60s));
        if (r.next == after::reset && stream.has_error()) {
            // A reset may overtake the bytes before it, here those of the header.
            CHECK(stream.error().code == errc::connection_lost);
            server->stop();
            continue;
        }
        REQUIRE(stream.has_value());
        auto piece = run((*stream)->read_some());
        if (piece.has_value()) {
            CHECK(*piece == "ab");
            piece = run((*stream)->read_some(), [&] { return r.next == after::quiet; });
        }
        CHECK(piece.has_error() == r.expected.has_value());
        if (r.expected && piece.has_error()) {
            CHECK(piece.error().code == *r.expected);
        }
        server->stop();
    }
}

TEST_CASE_METHOD(
    world, "[requirement H1] a watch that waits on a real socket is cancelled cleanly"
) {
    const std::string which = GENERATE(as<std::string>(), "TCP", "TLS");
    INFO(which);
    const certificate own("server", "IP:127.0.0.1", &authority);
    if (which == "TLS") {
        use_tls(own);
    }
    serve([](int, const std::string&) {
        return reply("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", after::quiet);
    });
    auto stream = run(transport->open_stream(request, 60s));
    REQUIRE(stream.has_value());
    boost::asio::cancellation_signal signal;
    std::optional<result<std::string_view>> outcome;
    boost::asio::co_spawn(
        loop,
        (*stream)->read_some(),
        boost::asio::bind_cancellation_slot(
            signal.slot(), [&](std::exception_ptr, result<std::string_view> got) { outcome = got; }
        )
    );
    loop.restart();
    loop.poll();
    REQUIRE_FALSE(outcome);
    signal.emit(boost::asio::cancellation_type::terminal);
    while (!outcome) {
        loop.run_one();
    }
    CHECK(outcome->error().code == errc::cancelled);
}

TEST_CASE_METHOD(
    world, "[requirement T9] the name or address is verified, and SNI sent for names only"
) {
    const certificate by_address("server", "IP:127.0.0.1,IP:::1", &authority);
    const certificate by_name("server", "DNS:kubernetes.default.svc,DNS:localhost", &authority);
    SECTION("an address, no SNI") {
        use_tls(by_address);
        serve([](int, const std::string&) { return ok(); });
        CHECK(exchange().has_value());
        CHECK(server->server_names == std::vector<std::string>{""});
    }
    SECTION("an IPv6 address, in brackets in Host only") {
        use_tls(by_address);
        config.host = "::1";
        serve([](int, const std::string&) { return ok(); }, "::1");
        CHECK(exchange().has_value());
        CHECK(server->requests[0].find("Host: [::1]:" + config.port) != std::string::npos);
    }
    SECTION("a name") {
        use_tls(by_name);
        config.host = "localhost";
        serve([](int, const std::string&) { return ok(); });
        CHECK(exchange().has_value());
        CHECK(server->server_names.back() == "localhost");
    }
    SECTION("tls-server-name overrides both") {
        use_tls(by_name);
        config.tls_server_name = "kubernetes.default.svc";
        serve([](int, const std::string&) { return ok(); });
        CHECK(exchange().has_value());
        CHECK(server->server_names.back() == "kubernetes.default.svc");
    }
}

TEST_CASE_METHOD(
    world, "[requirement T9] what must not be trusted is refused before anything is sent"
) {
    const std::string which = GENERATE(
        as<std::string>(),
        "another address",
        "another name",
        "a common name, and no name",
        "expired",
        "signed by another authority"
    );
    INFO(which);
    const certificate wrong_name("server", "DNS:other,IP:127.0.0.2", &authority);
    const certificate common_name("kubernetes", "IP:127.0.0.1", &authority);
    const certificate expired("server", "IP:127.0.0.1", &authority, true);
    const certificate other_authority("other", "", nullptr);
    const certificate foreign("server", "IP:127.0.0.1", &other_authority);
    std::string why;
    if (which == "another address") {
        use_tls(wrong_name);
        why = "IP address mismatch";
    }
    if (which == "another name") {
        use_tls(wrong_name);
        config.tls_server_name = "kubernetes";
        why = "hostname mismatch";
    }
    if (which == "a common name, and no name") {
        use_tls(common_name);
        config.tls_server_name = "kubernetes";
        why = "hostname mismatch";
    }
    if (which == "expired") {
        use_tls(expired);
        why = "certificate has expired";
    }
    if (which == "signed by another authority") {
        use_tls(foreign);
        why = "unable to get local issuer certificate";
    }
    serve([](int, const std::string&) { return ok(); });
    const auto answer = exchange();
    REQUIRE(answer.has_error());
    CHECK(answer.error().code == errc::tls);
    INFO(answer.error().text());
    CHECK(answer.error().message.find(why) != std::string::npos);
    CHECK(server->requests.empty());
}

TEST_CASE_METHOD(world, "[requirement T9] TLS before 1.2 is refused, whatever the machine allows") {
    const lax_openssl machine;
    const certificate own("server", "IP:127.0.0.1", &authority);
    use_tls(own);
    SSL_CTX_set_max_proto_version(tls->native_handle(), TLS1_1_VERSION);
    serve([](int, const std::string&) { return ok(); });
    const auto answer = exchange();
    REQUIRE(answer.has_error());
    CHECK(answer.error().code == errc::tls);
    INFO(answer.error().text());
    CHECK(answer.error().message.find("protocol version") != std::string::npos);
    CHECK(server->requests.empty());
}

TEST_CASE_METHOD(world, "[requirement C6] insecure-skip-tls-verify skips it") {
    const certificate other_authority("other", "", nullptr);
    const certificate foreign("server", "DNS:other", &other_authority);
    use_tls(foreign);
    config.ca_pem.clear();
    config.insecure_skip_tls_verify = true;
    serve([](int, const std::string&) { return ok(); });
    CHECK(exchange().has_value());
}

TEST_CASE_METHOD(
    world, "[requirement C5] a client certificate is presented; a wrong key is an error"
) {
    const certificate own("server", "IP:127.0.0.1", &authority);
    const certificate user("jane", "DNS:jane", &authority);
    use_tls(own, &authority);
    serve([](int, const std::string&) { return ok(); });
    const auto without = exchange();
    CHECK(without.has_error());
    config.client_cert_pem = user.pem();
    config.client_key_pem = secret_text(user.key_pem());
    connect();
    CHECK(exchange().has_value());
    CHECK(server->client_names.back() == "/CN=jane");
    config.client_key_pem = secret_text(own.key_pem());
    auto bad = make_http_transport(loop.get_executor(), time, config);
    REQUIRE(bad.has_error());
    CHECK(bad.error().code == errc::tls);
    CHECK(bad.error().message.find("client key") == 0);
}

TEST_CASE_METHOD(
    world, "[requirement C6] a path prefix is before each target; bad settings are errors"
) {
    config.path_prefix = "/k8s/c-1";
    config.user_agent = "signalbox/1";
    serve([](int, const std::string&) { return ok(); });
    REQUIRE(get().has_value());
    CHECK(
        server->requests[0].substr(0, 52) ==
        "GET /k8s/c-1/api/v1/namespaces/a/pods/b HTTP/1.1\r\nHo"
    );
    CHECK(server->requests[0].find("User-Agent: signalbox/1\r\n") != std::string::npos);
    for (const char* port : {"", "0", "65536", "x", "1x"}) {
        config.port = port;
        CHECK(make_http_transport(loop.get_executor(), time, config).has_error());
    }
    config.port = "443";
    config.scheme = "ftp";
    CHECK(make_http_transport(loop.get_executor(), time, config).has_error());
    config.scheme = "https";
    config.ca_pem = "no certificate";
    CHECK(make_http_transport(loop.get_executor(), time, config).error().code == errc::tls);
}

TEST_CASE_METHOD(world, "[requirement C9] credentials over plain HTTP only for who asks for it") {
    const std::string which = GENERATE(as<std::string>(), "token", "file", "name", "program");
    INFO(which);
    serve([](int, const std::string&) { return ok(); });
    if (which == "token") {
        config.token = secret_text("T");
    }
    if (which == "file") {
        config.token_file = "/token";
    }
    if (which == "name") {
        config.username = "u";
    }
    if (which == "program") {
        config.exec.emplace();
    }
    const auto refused = make_http_transport(loop.get_executor(), time, config);
    REQUIRE(refused.has_error());
    CHECK(refused.error().code == errc::invalid_argument);
    config.credentials_over_http = true;
    CHECK(make_http_transport(loop.get_executor(), time, config).has_value());
    config.scheme = "https";
    config.credentials_over_http = false;
    CHECK(make_http_transport(loop.get_executor(), time, config).has_value());
}

TEST_CASE_METHOD(world, "[requirement C5] an encrypted key is an error, and no one is asked") {
    const certificate user("jane", "DNS:jane", &authority);
    config.scheme = "https";
    config.client_cert_pem = user.pem();
    config.client_key_pem = secret_text(
        "-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIIB\n-----END ENCRYPTED PRIVATE KEY-----\n"
    );
    const auto made = make_http_transport(loop.get_executor(), time, config);
    REQUIRE(made.has_error());
    CHECK(made.error().message.find("is encrypted") != std::string::npos);
}
