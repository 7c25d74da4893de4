// SPDX-License-Identifier: Apache-2.0
//
// The server on a socket of the loopback interface, and clients that send what they like.
#include "http/http_server.hpp"

#include "replaced_file.hpp"
#include "transport/certificates.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/write.hpp>

#include <catch2/catch.hpp>

using namespace signalbox::op;
using namespace signalbox::op::test;
using signalbox::k8sio::test::certificate;
using signalbox::k8sio::test::folder;
namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

const std::string last = "Connection: close\r\n\r\n";
const std::string get = "GET / HTTP/1.1\r\nHost: x\r\n" + last;

class served {
public:
    explicit served(http_server_options options = {}) : server_(make(std::move(options))) {
        REQUIRE(server_.start().empty());
        REQUIRE(server_.address().starts_with("127.0.0.1:"));
    }
    ~served() {
        server_.stop();
        settle();
    }
    void settle() {
        loop.restart();
        loop.poll();
    }
    tcp::socket connect() {
        tcp::socket out(loop);
        const std::string at = server_.address();
        const int port = std::stoi(at.substr(at.rfind(':') + 1));
        out.connect({asio::ip::make_address("127.0.0.1"), static_cast<std::uint16_t>(port)});
        return out;
    }
    /// All that comes until the server closes the connection.
    template <class Stream>
    std::string exchange(Stream& stream, const std::string& request) {
        std::string answer;
        bool ended = false;
        asio::async_write(stream, asio::buffer(request), [&](const auto&, std::size_t) {
            asio::async_read(stream, asio::dynamic_buffer(answer), [&](const auto&, std::size_t) {
                ended = true;
            });
        });
        run_until(ended);
        return answer;
    }
    std::string ask(const std::string& request) {
        tcp::socket stream = connect();
        return exchange(stream, request);
    }
    /// The first line of the answer.
    std::string status(const std::string& header = "") {
        const std::string answer = ask("GET / HTTP/1.1\r\nHost: x\r\n" + header + last);
        return answer.substr(0, answer.find("\r\n"));
    }
    /// Whether a client that trusts this certificate gets an answer.
    bool is_served_with(const certificate& trusted) {
        asio::ssl::context trust(asio::ssl::context::tls_client);
        trust.add_certificate_authority(asio::buffer(trusted.pem()));
        trust.set_verify_mode(asio::ssl::verify_peer);
        asio::ssl::stream<tcp::socket> stream(connect(), trust);
        bool done = false, good = false;
        stream.async_handshake(asio::ssl::stream_base::client, [&](const auto& failed) {
            done = true;
            good = !failed;
        });
        run_until(done);
        return good && exchange(stream, get).starts_with("HTTP/1.1 200 OK\r\n");
    }
    void run_until(const bool& done) {
        loop.restart();
        while (!done && loop.run_one_for(std::chrono::seconds(60)) > 0) {
        }
        REQUIRE(done);
    }

    asio::io_context loop;
    signalbox::k8sio::virtual_clock time{loop.get_executor(), {}};
    http_question asked;
    http_answer gives;

private:
    http_server make(http_server_options options) {
        options.address = "127.0.0.1:0";
        const auto answers = [this](const http_question& question) {
            asked = question;
            http_answer out = gives;
            out.status = question.trusted ? out.status : 401;
            return out;
        };
        return {loop.get_executor(), time, std::move(options), answers};
    }
    http_server server_;
};

std::string why_not(http_server_options options) {
    asio::io_context loop;
    signalbox::k8sio::virtual_clock time(loop.get_executor(), {});
    http_server server(loop.get_executor(), time, std::move(options), [](const http_question&) {
        return http_answer();
    });
    return server.start();
}

}  // namespace

TEST_CASE("a question has its path, its query and its body") {
    served s;
    s.gives.body = "hello\n";
    const std::string answer = s.ask("GET /a%20b?x=%201&y?z HTTP/1.1\r\nHost: x\r\n" + last);
    CHECK(s.asked.method == "GET");
    CHECK(s.asked.path == "/a b");
    CHECK(s.asked.query == "x=%201&y?z");
    CHECK(s.asked.body.empty());
    CHECK(s.asked.trusted);
    CHECK(answer.starts_with("HTTP/1.1 200 OK\r\n"));
    CHECK(answer.find("\r\nContent-Type: text/plain; charset=utf-8\r\n") != std::string::npos);
    CHECK(answer.find("\r\nX-Content-Type-Options: nosniff\r\n") != std::string::npos);
    CHECK(answer.find("\r\nCache-Control: no-cache, private\r\n") != std::string::npos);
    CHECK(answer.ends_with("\r\n\r\nhello\n"));
    s.ask("PUT /b HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n" + last + "level");
    CHECK(s.asked.method == "PUT");
    CHECK(s.asked.path == "/b");
    CHECK(s.asked.query.empty());
    CHECK(s.asked.body == "level");
}

TEST_CASE("the answer to HEAD has the length of its body, and not the body") {
    served s;
    s.gives.body = "hello\n";
    const std::string answer = s.ask("HEAD / HTTP/1.1\r\nHost: x\r\n" + last);
    CHECK(answer.find("\r\nContent-Length: 6\r\n") != std::string::npos);
    CHECK(answer.ends_with("\r\n\r\n"));
}

TEST_CASE("a connection serves one question after the other, until one cannot be read") {
    served s;
    s.gives.body = "x";
    const auto answers = [&](const std::string& requests) {
        const std::string all = s.ask(requests);
        int count = 0;
        for (std::size_t at = 0; (at = all.find("HTTP/1.1 200 OK", at)) != std::string::npos;
             ++at) {
            ++count;
        }
        return count;
    };
    const std::string more = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
    CHECK(answers(more + more + get) == 3);
    CHECK(answers(more + get + more) == 2);
    CHECK(answers(more + "nonsense\r\n\r\n" + get) == 1);
    CHECK(answers(more + "GET /" + std::string(20'000, 'x')) == 1);
    CHECK(answers("PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 2000\r\n\r\n") == 0);
}

TEST_CASE("64 silent connections keep no one from an answer") {
    served s;
    std::vector<tcp::socket> open;
    for (int i = 0; i < 64; ++i) {
        open.push_back(s.connect());
    }
    s.settle();
    CHECK(s.status() == "HTTP/1.1 200 OK");
}

TEST_CASE("connections beyond 64 that wait for their answers are closed") {
    served s;
    s.gives.body.assign(std::size_t{8} << 20, 'x');
    std::vector<tcp::socket> open;
    for (int i = 0; i < 64; ++i) {
        open.push_back(s.connect());
        asio::write(open.back(), asio::buffer(get));
        s.settle();
    }
    CHECK(s.ask(get).empty());
    open.pop_back();
    s.settle();
    CHECK(s.status() == "HTTP/1.1 200 OK");
}

TEST_CASE("who does not have the token is not trusted") {
    const folder here;
    http_server_options options;
    options.token_file = here.write("token", "secret \r\n");
    served s(options);
    const auto with = [&](const std::string& value) {
        return s.status("Authorization: " + value + "\r\n").substr(9, 3);
    };
    CHECK(with("Bearer secret") == "200");
    CHECK(with("Bearer secre") == "401");
    CHECK(with("Bearer secret2") == "401");
    CHECK(with("Bearer secrex") == "401");
    CHECK(with("Bearer ") == "401");
    CHECK(with("secret") == "401");
    CHECK(with("Basic secret") == "401");
    CHECK(s.status() == "HTTP/1.1 401 Unauthorized");
    CHECK(s.ask(get).find("\r\nWWW-Authenticate: Bearer\r\n") != std::string::npos);
    SECTION("another one takes its place") {
        replace(here, "token", "other");
        CHECK(with("Bearer secret") == "401");
        CHECK(with("Bearer other") == "200");
    }
    SECTION("none is left: no one is trusted") {
        replace(here, "token", "\n");
        CHECK(with("Bearer secret") == "401");
        CHECK(with("Bearer ") == "401");
    }
    SECTION("its file goes: it stays") {
        std::filesystem::remove(here.path() + "/token");
        CHECK(with("Bearer secret") == "200");
        std::filesystem::create_directory(here.path() + "/token");
        CHECK(with("Bearer secret") == "200");
    }
}

TEST_CASE("a certificate is taken anew when it and its key have changed") {
    const folder here;
    const certificate first("first", "DNS:x", nullptr), second("second", "DNS:x", nullptr);
    http_server_options options;
    options.tls_cert_file = here.write("cert", first.pem());
    options.tls_key_file = here.write("key", first.key_pem());
    served s(options);
    CHECK(s.is_served_with(first));
    CHECK_FALSE(s.is_served_with(second));
    CHECK(s.ask(get).find("HTTP/1.1 200") == std::string::npos);  // it speaks no TLS
    SECTION("the certificate before its key") {
        replace(here, "cert", second.pem());
        CHECK(s.is_served_with(first));
        replace(here, "key", second.key_pem());
        CHECK(s.is_served_with(second));
    }
    SECTION("the key before its certificate") {
        replace(here, "key", second.key_pem());
        CHECK(s.is_served_with(first));
        replace(here, "cert", second.pem());
        CHECK(s.is_served_with(second));
    }
}

TEST_CASE("what keeps a server from its start is said") {
    const folder here;
    const certificate own("own", "DNS:x", nullptr);
    http_server_options options;
    options.address = "127.0.0.1:0";
    CHECK(why_not(options).empty());
    SECTION("address") {
        for (const char* wrong : {"", "80", "x:80", "127.0.0.1:", "127.0.0.1:65536", "::1:80"}) {
            options.address = wrong;
            CHECK(why_not(options) == "`" + std::string(wrong) + "` is not ADDRESS:PORT");
        }
    }
    SECTION("an address that is in use") {
        asio::io_context loop;
        const tcp::acceptor other(loop, {asio::ip::make_address("127.0.0.1"), 0});
        options.address = "127.0.0.1:" + std::to_string(other.local_endpoint().port());
        CHECK(
            why_not(options) == "cannot listen at " + options.address + ": Address already in use"
        );
    }
    SECTION("half of a certificate") {
        options.tls_key_file = here.write("key", own.key_pem());
        CHECK(why_not(options) == "a certificate and its key belong together");
    }
    SECTION("no certificate in it") {
        options.tls_cert_file = here.write("cert", own.key_pem());
        options.tls_key_file = here.write("key", own.key_pem());
        CHECK(why_not(options).starts_with(options.tls_cert_file + ": no certificate: "));
    }
    SECTION("the key of another one") {
        options.tls_cert_file = here.write("cert", own.pem());
        options.tls_key_file = here.write("key", certificate("other", "DNS:x", nullptr).key_pem());
        CHECK(why_not(options).starts_with(options.tls_key_file + ": no key of the certificate: "));
    }
    SECTION("token") {
        options.token_file = here.path() + "/none";
        CHECK(why_not(options) == options.token_file + ": No such file or directory");
        options.token_file = here.path();
        CHECK(why_not(options) == options.token_file + ": it cannot be read");
        options.token_file = here.write("token", " \n");
        CHECK(why_not(options) == options.token_file + ": there is no token in it");
    }
}
