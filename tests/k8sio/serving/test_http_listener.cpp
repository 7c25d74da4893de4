// SPDX-License-Identifier: Apache-2.0
//
// The server on the loopback interface in virtual time, and peers that send, read and wait as they
// like.
#include "k8sio/http_listener.hpp"
#include "runtime/virtual_loop.hpp"
#include "transport/certificates.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>

#include <catch2/catch.hpp>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/resource.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

namespace signalbox::k8sio::test {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using std::chrono::seconds;

const std::string get = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";

/// Nothing comes, and it does not end.
class silent_stream final : public answer_stream {
public:
    std::string next(std::size_t) override { return {}; }
    bool finished() const override { return false; }
};

class served final : public request_handler {
public:
    explicit served(http_limits limits = {})
        : listener(loop.loop.get_executor(), loop.time, limits, *this) {
        port = *listener.listen("127.0.0.1", 0);
    }

    std::optional<served_answer> refuse(const served_request& header) override {
        if (header.target != "/secret") {
            return std::nullopt;
        }
        served_answer out;
        out.status = 401;
        return out;
    }
    served_answer answer(served_request request) override {
        served_answer out;
        if (request.target == "/stream") {
            out.stream = std::make_unique<silent_stream>();
        } else if (request.target == "/body") {
            out.body = "hello";
        } else if (request.target == "/large") {
            out.body.assign(std::size_t{32} << 20, 'x');
        }
        asked.push_back(std::move(request));
        return out;
    }

    virtual_loop loop;
    std::vector<served_request> asked;
    http_listener listener;
    std::uint16_t port = 0;
};

class peer {
public:
    explicit peer(served& of) : of_(&of), socket_(of.loop.loop) {
        socket_.open(tcp::v4());
        socket_.set_option(asio::socket_base::receive_buffer_size(4096));
        socket_.connect({asio::ip::make_address("127.0.0.1"), of.port});
        socket_.non_blocking(true);
        of.loop.settle();
    }
    /// False: it is closed.
    bool send(const std::string& text) {
        boost::system::error_code error;
        for (std::size_t sent = 0; sent < text.size() && !error;) {
            sent += socket_.write_some(asio::buffer(text) + sent, error);
            hand_over();
            error = error == asio::error::would_block ? boost::system::error_code() : error;
        }
        return !error;
    }
    /// What has come, up to `most` bytes.
    const std::string& read(std::size_t most = std::size_t{1} << 30) {
        char bytes[4096];
        for (std::size_t got = 0; !closed_ && got < most;) {
            of_->loop.settle();
            boost::system::error_code error;
            const std::size_t now = socket_.read_some(asio::buffer(bytes), error);
            text_.append(bytes, now);
            got += now;
            if (error == asio::error::would_block && !comes_more()) {
                break;
            }
            closed_ = error && error != asio::error::would_block;
        }
        return text_;
    }
    bool is_closed() {
        read();
        return closed_;
    }
    std::string status() { return read().substr(0, read().find("\r\n")); }
    std::size_t answers() {
        std::size_t count = 0;
        for (std::size_t at = 0; (at = read().find("HTTP/1.1 200 OK", at)) != std::string::npos;) {
            ++at;
            ++count;
        }
        return count;
    }

private:
    /// The kernel may take a moment to hand over what was sent, on a busy machine.
    bool comes_more() {
        pollfd asked{socket_.native_handle(), POLLIN, 0};
        return ::poll(&asked, 1, 20) > 0;
    }
    /// The same on the way to the server, which takes what it likes of it.
    void hand_over() {
        int left = 0;
        of_->loop.settle();
        for (int tries = 0; tries < 5 && !::ioctl(socket_.native_handle(), SIOCOUTQ, &left) && left;
             ++tries) {
            ::poll(nullptr, 0, 1 << tries);
            of_->loop.settle();
        }
    }

    served* of_;
    tcp::socket socket_;
    std::string text_;
    bool closed_ = false;
};

std::string post(const std::string& headers) {
    return "POST / HTTP/1.1\r\nHost: localhost\r\n" + headers + "\r\n";
}

/// Lets this process open `more` descriptors and no others.
class few_descriptors {
public:
    explicit few_descriptors(int more) {
        ::getrlimit(RLIMIT_NOFILE, &before_);
        const int next = ::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
        ::close(next);
        rlimit now = before_;
        now.rlim_cur = static_cast<rlim_t>(next + more);
        ::setrlimit(RLIMIT_NOFILE, &now);
    }
    ~few_descriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }
    few_descriptors(const few_descriptors&) = delete;
    few_descriptors& operator=(const few_descriptors&) = delete;

private:
    rlimit before_{};
};

}  // namespace

TEST_CASE("[requirement H6] a connection has ten seconds for its first header, bytes or none") {
    served s;
    const bool sends = GENERATE(false, true);
    peer p(s);
    for (int i = 0; i < 9; ++i) {
        s.loop.run_for(seconds{1});
        REQUIRE((!sends || p.send(get.substr(static_cast<std::size_t>(i), 1))));
        REQUIRE_FALSE(p.is_closed());
    }
    s.loop.run_for(seconds{1});
    CHECK(p.is_closed());
    CHECK(s.asked.empty());
}

TEST_CASE("[requirement H6] a handshake that does not come counts as time to the first header") {
    served s;
    const certificate own("own", "DNS:x", nullptr);
    REQUIRE(s.listener.use_identity(own.pem(), own.key_pem()).has_value());
    peer p(s);
    s.loop.run_for(seconds{9});
    CHECK_FALSE(p.is_closed());
    s.loop.run_for(seconds{1});
    CHECK(p.is_closed());
}

TEST_CASE("[requirement H6] between two requests a connection may rest, within one it may not") {
    http_limits limits;
    limits.answer_time = seconds{60};  // none of these is the time of an answer
    served s(limits);
    peer p(s);
    p.send(get);
    CHECK(p.answers() == 1);
    s.loop.run_for(seconds{119});
    CHECK_FALSE(p.is_closed());
    SECTION("at rest") {
        s.loop.run_for(seconds{1});
        CHECK(p.is_closed());
    }
    SECTION("the next request has begun") {
        p.send("G");
        s.loop.run_for(seconds{9});
        CHECK_FALSE(p.is_closed());
        s.loop.run_for(seconds{1});
        CHECK(p.is_closed());
    }
    SECTION("the next one has come, with the beginning of another") {
        p.send(get + "G");
        CHECK(p.answers() == 2);
        s.loop.run_for(seconds{9});
        CHECK_FALSE(p.is_closed());
        s.loop.run_for(seconds{1});
        CHECK(p.is_closed());
    }
}

TEST_CASE("[requirement H6] a body has its time") {
    served s;
    peer p(s);
    s.loop.run_for(seconds{9});
    p.send(post("Content-Length: 2\r\n") + "a");
    s.loop.run_for(seconds{9});
    CHECK_FALSE(p.is_closed());
    SECTION("it comes") {
        p.send("b");
        CHECK(p.answers() == 1);
        REQUIRE(s.asked.size() == 1);
        CHECK(s.asked[0].body == "ab");
    }
    SECTION("it does not") {
        s.loop.run_for(seconds{1});
        CHECK(p.is_closed());
        CHECK(s.asked.empty());
    }
}

TEST_CASE("[requirement H6] who takes nothing of an answer for ten seconds is left") {
    served s;
    peer p(s);
    p.send("GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n");
    SECTION("nothing") {
        s.loop.run_for(seconds{10});
        CHECK(p.read().size() < (std::size_t{32} << 20));
    }
    SECTION("slowly") {
        for (int i = 0; i < 8; ++i) {
            s.loop.run_for(seconds{9});
            p.read(std::size_t{4} << 20);
        }
        CHECK(p.read().size() > (std::size_t{32} << 20));
        CHECK_FALSE(p.is_closed());
    }
}

TEST_CASE("[requirement H6] when all connections are taken, the one that waited longest goes") {
    http_limits limits;
    limits.connections = 3;
    served s(limits);
    peer first(s);
    s.loop.run_for(seconds{1});
    peer second(s);
    s.loop.run_for(seconds{1});
    peer third(s);
    SECTION("a silent one") {
        peer next(s);
        CHECK(first.is_closed());
        CHECK_FALSE(second.is_closed());
        CHECK_FALSE(third.is_closed());
        next.send(get);
        CHECK(next.answers() == 1);
    }
    SECTION("one that has asked a while ago waits from its answer on") {
        first.send(get);
        peer next(s);
        CHECK(first.answers() == 1);
        CHECK_FALSE(first.is_closed());
        CHECK(second.is_closed());
    }
    SECTION("none that is being answered") {
        first.send("GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n");
        second.send("GET /stream HTTP/1.1\r\nHost: localhost\r\n\r\n");
        peer next(s);
        CHECK(third.is_closed());
        next.send("GET /stream HTTP/1.1\r\nHost: localhost\r\n\r\n");
        peer late(s);
        CHECK(late.is_closed());
        CHECK(second.status() == "HTTP/1.1 200 OK");
        CHECK_FALSE(second.is_closed());
        CHECK_FALSE(next.is_closed());
        CHECK(first.read().size() > (std::size_t{32} << 20));
    }
}

TEST_CASE("[requirement H6] extensions of chunks have a bound, one by one and all together") {
    served s;
    peer p(s);
    p.send(post("Transfer-Encoding: chunked\r\n"));
    const auto chunk = [](std::size_t size) { return "1;" + std::string(size, 'x') + "\r\na\r\n"; };
    SECTION("some") {
        p.send(chunk(1000) + chunk(1000) + "0\r\n\r\n");
        CHECK(p.answers() == 1);
        REQUIRE(s.asked.size() == 1);
        CHECK(s.asked[0].body == "aa");
        p.send(post("Transfer-Encoding: chunked\r\n") + chunk(4000) + "0\r\n\r\n");
        CHECK(p.answers() == 2);  // counted for each request
    }
    SECTION("many") {
        for (int i = 0; i < 5; ++i) {
            p.send(chunk(1000));
        }
        CHECK(p.is_closed());
    }
    SECTION("one without an end") {
        p.send("1;");
        for (int i = 0; i < 100 && p.send(std::string(4096, 'x')); ++i) {
        }
        CHECK_FALSE(p.send("x"));
    }
    SECTION("fields behind the last chunk without an end") {
        p.send("0\r\nA: ");
        for (int i = 0; i < 100 && p.send(std::string(4096, 'x')); ++i) {
        }
        CHECK_FALSE(p.send("x"));
    }
}

TEST_CASE("[requirement H6] a body above the limit gets an answer, which arrives") {
    served s;
    peer p(s);
    const bool chunked = GENERATE(false, true);
    p.send(
        chunked ? post("Transfer-Encoding: chunked\r\n") + "100000\r\n"
                : post("Content-Length: 1048576\r\n")
    );
    p.send(std::string(256, 'x'));
    p.send(std::string(64, 'x'));
    CHECK(p.status() == "HTTP/1.1 413 Payload Too Large");
    CHECK(s.asked.empty());
    CHECK(p.send(std::string(100, 'x')));  // it is not reset while it still sends
    CHECK(p.send(std::string(100, 'x')));
    p.send(std::string(4096, 'x'));
    s.loop.run_for(seconds{10});
    CHECK(p.is_closed());
}

TEST_CASE("a request is refused by its header, before its body has come") {
    served s;
    peer p(s);
    p.send("POST /secret HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\nabc");
    CHECK(p.status() == "HTTP/1.1 401 Unauthorized");
    s.loop.run_for(seconds{10});
    CHECK(p.is_closed());
    CHECK(s.asked.empty());
    peer next(s);
    next.send("GET /secret HTTP/1.1\r\nHost: localhost\r\n\r\n");
    CHECK(next.status() == "HTTP/1.1 401 Unauthorized");
    next.send(get);  // there was no body: the connection goes on
    CHECK(next.answers() == 1);
}

TEST_CASE("who waits to be told to send its body is told") {
    served s;
    peer p(s);
    p.send(post("Content-Length: 2\r\nExpect: 100-Continue\r\n"));
    CHECK(p.status() == "HTTP/1.1 100 Continue");
    p.send("ab");
    CHECK(p.answers() == 1);
    peer refused(s);
    refused.send(
        "POST /secret HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n"
        "Expect: 100-continue\r\n\r\n"
    );
    CHECK(refused.status() == "HTTP/1.1 401 Unauthorized");
}

TEST_CASE("[requirement H6] a listener that has no descriptor left waits") {
    served s;
    peer first(s);
    std::unique_ptr<peer> second;
    {
        const few_descriptors none_for_the_server(1);
        second = std::make_unique<peer>(s);
        int steps = 0;
        s.loop.loop.restart();
        while (steps < 100 && s.loop.loop.poll_one() > 0) {
            ++steps;
        }
        CHECK(steps < 100);
        second->send(get);
        CHECK(second->answers() == 0);
        first.send(get);
        CHECK(first.answers() == 1);
    }
    s.loop.run_for(std::chrono::milliseconds{100});
    CHECK(second->answers() == 1);
}

TEST_CASE("a page of another site may have sent what names it, or a host of another name") {
    const auto may_be = [](std::vector<std::pair<std::string, std::string>> headers) {
        served_request request;
        request.headers = std::move(headers);
        return may_be_from_web_page(request);
    };
    for (const char* host : {"localhost", "localhost:80", "127.0.0.1:80", "10.0.0.1", "[::1]:80"}) {
        INFO(host);
        CHECK_FALSE(may_be({{"Host", host}}));
        CHECK(may_be({{"host", host}, {"origin", "http://example.org"}}));
    }
    CHECK(may_be({{"Host", "example.org"}}));
    CHECK(may_be({{"Host", "localhost.example.org:80"}}));
}

TEST_CASE("of a listener that has stopped nothing is pending") {
    served s;
    peer silent(s);
    peer asking(s);
    asking.send(get);
    asking.answers();
    peer streaming(s);
    streaming.send("GET /stream HTTP/1.1\r\nHost: localhost\r\n\r\n");
    streaming.send("x");  // what it says does not end its stream
    CHECK_FALSE(streaming.is_closed());
    s.listener.stop();
    s.loop.settle();
    CHECK_FALSE(s.loop.time.has_pending());
    CHECK(silent.is_closed());
    CHECK(asking.is_closed());
    CHECK(streaming.is_closed());
    http_listener next(s.loop.loop.get_executor(), s.loop.time, http_limits(), s);
    CHECK(next.listen("127.0.0.1", s.port).has_value());
    CHECK(next.address() == "127.0.0.1:" + std::to_string(s.port));
}

TEST_CASE("a listener says why it cannot listen") {
    served s;
    http_listener other(s.loop.loop.get_executor(), s.loop.time, http_limits(), s);
    const auto taken = other.listen("127.0.0.1", s.port);
    REQUIRE(taken.has_error());
    CHECK(taken.error().code == errc::connect);
    CHECK(taken.error().message == "Address already in use");
    const auto named = other.listen("localhost", 0);
    REQUIRE(named.has_error());
    CHECK(named.error().code == errc::invalid_argument);
    CHECK(other.listen("127.0.0.1", 0).has_value());
}

TEST_CASE("the answer to HEAD has the length of the body without the body") {
    served s;
    peer p(s);
    p.send("HEAD /body HTTP/1.1\r\nHost: localhost\r\n\r\n");
    CHECK(p.read().find("\r\nContent-Length: 5\r\n") != std::string::npos);
    CHECK(p.read().ends_with("\r\n\r\n"));
}

}  // namespace signalbox::k8sio::test
