// SPDX-License-Identifier: Apache-2.0
//
// TLS without the buffers and the ways of asio::ssl::stream.
#include "signalbox_test/heap.hpp"
#include "transport/byte_stream.hpp"
#include "transport/loopback_world.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <catch2/catch.hpp>
#include <sys/socket.h>

#include <array>
#include <vector>

using namespace signalbox::k8sio;
using namespace std::chrono_literals;
using test::after;
using test::certificate;
using test::ok;
using test::reply;

namespace {

constexpr std::string_view question = "GET / HTTP/1.1\r\n\r\n";

struct tls_world : test::loopback_world {
    tls_world() { use_tls(own); }
    std::unique_ptr<byte_stream> connected() {
        if (!connector) {
            auto made = make_tls_connector(loop.get_executor(), time, config, options);
            REQUIRE(made.has_value());
            connector = std::move(*made);
        }
        auto stream = run(connector->connect(time.steady_now() + 30s));
        REQUIRE(stream.has_value());
        return std::move(*stream);
    }

    certificate own{"server", "IP:127.0.0.1", &authority};
    std::unique_ptr<signalbox::k8sio::connector> connector;
};

boost::asio::awaitable<std::string> read_all(byte_stream& from) {
    std::string out;
    std::array<char, 4000> piece{};
    for (;;) {
        const auto count = co_await from.read_some(piece.data(), piece.size());
        if (count.has_error()) {
            co_return out + " and " + count.error().text();
        }
        if (*count == 0) {
            co_return out;
        }
        out.append(piece.data(), *count);
    }
}

/// Whether what waits in the loop is done before this many bytes are read.
boost::asio::awaitable<bool> others_had_their_turn(
    boost::asio::io_context& loop, byte_stream& from, std::size_t bytes
) {
    bool turn = false;
    std::string piece(bytes, '\0');
    boost::asio::post(loop, [&turn] { turn = true; });
    const auto count = co_await from.read_some(piece.data(), piece.size());
    co_return turn&& count.has_value() && *count == bytes;
}

}  // namespace

TEST_CASE_METHOD(tls_world, "[requirement T9] a connection at rest holds no buffers") {
    serve([](int, const std::string&) { return ok(); });
    std::vector<std::unique_ptr<byte_stream>> streams;
    streams.push_back(connected());  // what OpenSSL keeps for all
    const std::size_t before = signalbox::test::heap_in_use();
    constexpr std::size_t count = 8;
    for (std::size_t i = 0; i < count; ++i) {
        streams.push_back(connected());
    }
    // The server is in this process, and has those of asio::ssl::stream.
    constexpr std::size_t of_the_server = 4 * (17u << 10);
    constexpr std::size_t keys_and_certificates = 40u << 10;  // of both ends
    CHECK(
        signalbox::test::heap_in_use() <
        before + count * (of_the_server + 2 * keys_and_certificates)
    );
}

TEST_CASE_METHOD(tls_world, "[requirement T9] large bodies come whole, in both directions") {
    const std::string body(300000, 'x');
    serve([&body](int, const std::string& got) {
        const bool whole = got.find(body) != std::string::npos;
        return reply(
            "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + (whole ? body : "cut"), after::close
        );
    });
    const auto stream = connected();
    const std::string sent = "GET / HTTP/1.1\r\nX: " + body + "\r\n\r\n";
    const auto written = run(stream->write_all(sent));
    REQUIRE(written.has_value());
    CHECK(*written == sent.size());
    CHECK(run(read_all(*stream)) == "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + body);
}

TEST_CASE_METHOD(tls_world, "[requirement T9] whoever has much to read leaves others their turn") {
    serve([](int, const std::string&) { return ok(); });
    const auto stream = connected();
    REQUIRE(run(stream->write_all(question)).has_value());
    char first = 0;
    REQUIRE(run(stream->read_some(&first, 1)).has_value());
    CHECK(first == 'H');
    // The rest of the record is here already.
    CHECK(run(others_had_their_turn(loop, *stream, 10)));
    CHECK(run(others_had_their_turn(loop, *stream, 10)));
}

TEST_CASE_METHOD(tls_world, "[requirement T9] a peer that goes is an error, and no signal") {
    serve([](int, const std::string&) { return reply("", after::reset); });
    const auto stream = connected();
    REQUIRE(run(stream->write_all(question)).has_value());
    CHECK(run(read_all(*stream)).find(" and ") == 0);
    // A write after that would end the process by SIGPIPE.
    const auto late = run(stream->write_all(question));
    REQUIRE(late.has_error());
    CHECK(late.error().code == errc::connection_lost);
    stream->close();
    const auto closed = run(stream->write_all(question));
    REQUIRE(closed.has_error());
    CHECK(closed.error().code == errc::cancelled);
}
