// SPDX-License-Identifier: Apache-2.0
#include "protocol/http_framing.hpp"

#include <catch2/catch.hpp>

using namespace signalbox::k8sio;
using protocol::answer_reader;
using body_kind = answer_reader::body_kind;

namespace {

struct sample {
    const char* name;
    std::string bytes;
    std::string body;
    bool ends_with_stream;  // the body is delimited by the end of the connection
    bool reusable;
};

const sample samples[] = {
    {"length", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX: y\r\n\r\nhello", "hello", false, true},
    {"chunked with extension and trailer",
     "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX: y\r\n\r\n"
     "3;a=b\r\nhel\r\n2\r\nlo\r\n0\r\nTrailer: 1\r\n\r\n",
     "hello",
     false,
     true},
    {"chunked and empty",
     "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX: y\r\n\r\n0\r\n\r\n",
     "",
     false,
     true},
    {"chunks of one byte",
     "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX: y\r\n\r\n"
     "1\r\na\r\n1\r\nb\r\n0\r\n\r\n",
     "ab",
     false,
     true},
    {"until the end", "HTTP/1.1 200 OK\r\nX: y\r\n\r\nhello", "hello", true, false},
    {"after 100 and 103",
     "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n"
     "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX: y\r\n\r\nhello",
     "hello",
     false,
     true},
    {"closed after",
     "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX: y\r\nConnection: close\r\n\r\nhello",
     "hello",
     false,
     false},
    {"HTTP/1.0 proxy",
     "HTTP/1.0 200 OK\r\nContent-Length: 5\r\nX: y\r\n\r\nhello",
     "hello",
     false,
     false},
    {"empty", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX: y\r\n\r\n", "", false, true},
};

}  // namespace

TEST_CASE("[requirement T5] answers split at every two positions are the same") {
    std::size_t splits = 0;
    for (const sample& s : samples) {
        for (std::size_t a = 0; a <= s.bytes.size(); ++a) {
            for (std::size_t b = a; b <= s.bytes.size(); ++b) {
                answer_reader reader(8192, 100, body_kind::unary);
                bool good = reader.feed(s.bytes.substr(0, a)) &&
                            reader.feed(s.bytes.substr(a, b - a)) && reader.feed(s.bytes.substr(b));
                if (s.ends_with_stream) {
                    good = good && !reader.done() && reader.feed_end();
                }
                const bool reusable = reader.reusable();
                const bool done = reader.done();
                const http_response answer = reader.take();
                if (!good || !done || answer.status != 200 || answer.body != s.body ||
                    answer.header("x") != "y" || reusable != s.reusable) {
                    FAIL(s.name << " split at " << a << " and " << b);
                }
                ++splits;
            }
        }
    }
    CHECK(splits > 10000);
}

TEST_CASE("[requirement T14] an answer cut at every position is a lost connection, never a value") {
    for (const sample& s : samples) {
        const std::size_t full =
            s.ends_with_stream ? s.bytes.size() - s.body.size() : s.bytes.size();
        for (std::size_t size = 0; size < full; ++size) {
            answer_reader reader(8192, 100, body_kind::unary);
            INFO(s.name << " cut after " << size);
            REQUIRE(reader.feed(s.bytes.substr(0, size)));
            CHECK_FALSE(reader.feed_end());
            CHECK(reader.failure() == errc::connection_lost);
        }
    }
}

TEST_CASE("[requirement T7] limits: header block, body of an answer; none on a stream") {
    const std::string header = "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n";
    const std::string chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    answer_reader declared(8192, 999, body_kind::unary);
    CHECK_FALSE(declared.feed(header));
    CHECK(declared.failure() == errc::too_large);
    answer_reader grown(8192, 4, body_kind::unary);
    CHECK_FALSE(grown.feed(chunked + "5\r\nhello\r\n"));
    CHECK(grown.failure() == errc::too_large);
    answer_reader long_header(100, 999, body_kind::unary);
    CHECK_FALSE(long_header.feed("HTTP/1.1 200 OK\r\nX: " + std::string(200, 'x')));
    CHECK(long_header.failure() == errc::too_large);

    answer_reader stream(8192, 4, body_kind::stream);
    REQUIRE(stream.feed(chunked));
    std::size_t total = 0;
    const std::string chunk = "400\r\n" + std::string(1024, 'x') + "\r\n";
    for (int i = 0; i < 20000; ++i) {  // 20 MB: Beast's default ends at 8
        REQUIRE(stream.feed(chunk));
        total += stream.take_body().size();
    }
    CHECK(total == 20000u * 1024);
}

TEST_CASE("[requirement T7] limits: what a chunk says beside its size, one and all together") {
    const auto kind = GENERATE(body_kind::unary, body_kind::stream);
    const std::string header = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    const std::string piece(64, 'x');
    answer_reader reader(1000, 100, kind);
    REQUIRE(reader.feed(header));
    SECTION("a line without an end") {
        std::size_t sent = 2;
        REQUIRE(reader.feed("1;"));
        while (sent < 100'000 && reader.feed(piece)) {
            sent += piece.size();
        }
        CHECK(sent > 900);
        CHECK(sent <= 1000);
        CHECK(reader.failure() == errc::too_large);
    }
    SECTION("fields at the end without an end") {
        std::size_t sent = 5;
        REQUIRE(reader.feed("0\r\nX: "));
        while (sent < 100'000 && reader.feed(piece)) {
            sent += piece.size();
        }
        CHECK(sent <= 1000);
        CHECK(reader.failure() == errc::too_large);
    }
    SECTION("many lines") {
        const std::string chunk = "1;" + piece.substr(0, 39) + "\r\na\r\n";
        CHECK(reader.feed(chunk));
        CHECK(reader.feed(chunk));
        const bool unary = kind == body_kind::unary;
        CHECK(reader.feed(chunk) == !unary);
        if (unary) {
            CHECK(reader.failure() == errc::too_large);
        }
    }
}

TEST_CASE("[requirement T14] what is no HTTP is a bad response") {
    for (const char* bytes :
         {"SSH-2.0-OpenSSH\r\n",
          "HTTP/1.1 abc\r\n\r\n",
          "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
          "\x15\x03\x01\x01\x02\x02\x16\r\n\r\n"}) {
        answer_reader reader(8192, 100, body_kind::unary);
        INFO(bytes);
        CHECK_FALSE(reader.feed(bytes));
        CHECK(reader.failure() == errc::bad_response);
    }
}

TEST_CASE("[requirement T1] a connection that said more than asked is not used again") {
    answer_reader reader(8192, 100, body_kind::unary);
    REQUIRE(reader.feed("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nHTTP/1.1 200 OK\r\n"));
    CHECK(reader.done());
    CHECK_FALSE(reader.reusable());
}

TEST_CASE("[requirement T12] a request as bytes, with host, user agent and authorization") {
    http_request request("POST", "/api?x=y");
    request.content_type = "application/json";
    request.body = "{}";
    request.headers = {{"User-Agent", "own"}, {"Impersonate-User", "jane"}};
    protocol::request_frame frame;
    frame.host = "[::1]:6443";
    frame.path_prefix = "/k8s/c1";
    frame.authorization = "Bearer t";
    CHECK(
        *render_request(request, frame) ==
        "POST /k8s/c1/api?x=y HTTP/1.1\r\nHost: [::1]:6443\r\nAuthorization: Bearer t\r\n"
        "Accept: application/json\r\nUser-Agent: own\r\nImpersonate-User: jane\r\n"
        "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
    );
    frame.user_agent = "signalbox/1.0 (linux) abc";
    const std::string bytes = *render_request(request, frame);
    CHECK(bytes.find("User-Agent: signalbox/1.0 (linux) abc\r\n") != std::string::npos);
    CHECK(bytes.find("own") == std::string::npos);
}

TEST_CASE("[requirement T11] a target or header that would break the framing is refused") {
    const protocol::request_frame frame;
    CHECK_FALSE(render_request(http_request("GET", "/a b"), frame));
    CHECK_FALSE(render_request(http_request("GET", "/a\r\nX: y"), frame));
    CHECK_FALSE(render_request(http_request("GET", "a"), frame));
    CHECK_FALSE(render_request(http_request("G T", "/a"), frame));
    http_request request("GET", "/a");
    request.headers = {{"X", "a\r\nY: b"}};
    CHECK_FALSE(render_request(request, frame));
    request.headers = {{"X Y", "a"}};
    CHECK_FALSE(render_request(request, frame));
    request.headers = {{"X", "a\tb"}};
    CHECK(render_request(request, frame));
}

TEST_CASE("[requirement C5] the headers of impersonation go with every request") {
    protocol::request_frame frame;
    frame.host = "h";
    frame.headers = {{"Impersonate-User", "jane"}, {"Impersonate-Group", "a"}};
    CHECK(
        *protocol::render_request(http_request("GET", "/api"), frame) ==
        "GET /api HTTP/1.1\r\nHost: h\r\nImpersonate-User: jane\r\nImpersonate-Group: a\r\n"
        "Accept: application/json\r\n\r\n"
    );
}
