// SPDX-License-Identifier: Apache-2.0
//
// The transport over scripted connections in virtual time: each operation fails, hangs or is
// cancelled.
#include "k8sio/client.hpp"
#include "runtime/virtual_loop.hpp"
#include "transport/answers.hpp"
#include "transport/http_transport.hpp"
#include "transport/scripted_network.hpp"

#include <catch2/catch.hpp>

using namespace signalbox::k8sio;
using namespace std::chrono_literals;
using signalbox::k8sio::test::ok_answer;
using signalbox::k8sio::test::refusal_answer;
using signalbox::k8sio::test::watch_head;
using test::fault;

namespace {

struct fixture {
    fixture() : net(loop.time) {
        net.respond = [](const std::string&) { return ok_answer; };
        config.token_file = "/token";
        make();
    }
    void make() {
        protocol::request_frame frame;
        frame.host = "h";
        protocol::credentials credentials(config, [this](const std::string&) { return token; });
        transport = std::make_unique<http_transport>(
            loop.time,
            std::make_unique<test::scripted_connector>(net),
            frame,
            std::make_unique<login>(loop.time, std::move(credentials), nullptr),
            options
        );
    }
    boost::asio::awaitable<result<http_response>> start(std::chrono::seconds limit = 30s) {
        return transport->exchange(request, loop.time.steady_now() + limit);
    }
    result<http_response> exchange() { return test::run(loop, start()); }

    test::virtual_loop loop;
    test::network net;
    cluster_config config;
    http_transport_options options;
    std::optional<std::string> token = "one";
    http_request request{"GET", "/api"};
    std::unique_ptr<http_transport> transport;
};

/// Opens a stream and reads it to its end; gives the error that came first.
boost::asio::awaitable<result<void>> read_all(
    http_transport& transport, const http_request& request
) {
    auto stream = co_await transport.open_stream(request, 60s);
    if (stream.has_error()) {
        co_return stream.error();
    }
    for (;;) {
        auto piece = co_await (*stream)->read_some();
        if (piece.has_error()) {
            co_return piece.error();
        }
        if (piece->empty()) {
            co_return result<void>();
        }
    }
}

}  // namespace

TEST_CASE_METHOD(fixture, "[requirement T1] one connection serves request after request") {
    for (int i = 0; i < 5; ++i) {
        const auto answer = exchange();
        REQUIRE(answer.has_value());
        CHECK(answer->status == 200);
        CHECK(answer->body == "{}");
    }
    CHECK(net.connections == 1);
    CHECK(net.open == 1);
    CHECK(
        net.requests[0] ==
        "GET /api HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer one\r\nAccept: "
        "application/json\r\n\r\n"
    );
    SECTION("one that looks dead is not used") {
        net.alive = false;
        CHECK(exchange().has_value());
        CHECK(net.connections == 2);
    }
    SECTION("nor one that was idle for long") {
        CHECK_FALSE(loop.time.has_pending());  // [requirement H1] it keeps no process that is done
        loop.run_for(61s);
        CHECK(exchange().has_value());
        CHECK(net.connections == 2);
        CHECK(net.open == 1);
    }
    SECTION("which is closed, while there is a watch, though no one asks for it") {
        net.respond = [](const std::string&) { return watch_head; };
        const auto watch = test::run(loop, transport->open_stream(request, 600s));
        net.respond = [](const std::string&) { return ok_answer; };
        CHECK(exchange().has_value());
        loop.run_for(30s);
        CHECK(net.open == 2);
        loop.run_for(31s);
        CHECK(net.open == 1);
        CHECK(exchange().has_value());
        CHECK(net.connections == 3);
    }
    CHECK(net.open == 1);
}

TEST_CASE_METHOD(fixture, "[requirement B7] whether to send is asked when a connection is there") {
    int connections_then = -1;
    request.may_send = [&] {
        connections_then = net.connections;
        return false;
    };
    const auto answer = exchange();
    REQUIRE(answer.has_error());
    CHECK(answer.error().code == errc::cancelled);
    CHECK(connections_then == 1);
    CHECK(net.requests.empty());
    // Nothing is wrong with that connection.
    request.may_send = [] { return true; };
    CHECK(exchange().has_value());
    CHECK(net.connections == 1);
}

TEST_CASE_METHOD(fixture, "[requirement T1] a connection that may not be reused is closed") {
    const std::string which = GENERATE(
        as<std::string>(),
        "the server says so",
        "it said more than asked",
        "the body ends with the stream"
    );
    INFO(which);
    std::string bytes;
    if (which == "the server says so") {
        bytes = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}";
    }
    if (which == "it said more than asked") {
        bytes = ok_answer + "x";
    }
    if (which == "the body ends with the stream") {
        bytes = "HTTP/1.1 200 OK\r\n\r\n{}";
        net.ends = true;
    }
    net.respond = [&](const std::string&) { return bytes; };
    CHECK(exchange()->body == "{}");
    CHECK(net.open == 0);
}

TEST_CASE_METHOD(fixture, "[requirement T3] each operation that fails is an error of its class") {
    net.piece = 1;
    REQUIRE(exchange().has_value());
    const std::size_t steps = net.operations;
    REQUIRE(steps == 2 + ok_answer.size());
    for (std::size_t number = 0; number < steps; ++number) {
        for (const bool hang : {false, true}) {
            INFO("operation " << number << (hang ? " hangs" : " fails"));
            make();
            net.operations = 0;
            net.at = number;
            net.what = hang ? fault::hang : fault::fail;
            const auto begin = loop.time.steady_now();
            const auto answer = exchange();
            REQUIRE(answer.has_error());
            const errc lost = number == 0 ? errc::connect : errc::connection_lost;
            // Before the connection stands nothing was sent, however long it took.
            CHECK(answer.error().code == (hang && number > 0 ? errc::timeout : lost));
            CHECK(loop.time.steady_now() - begin == (hang ? 30s : 0s));
            CHECK(net.open == 0);
            CHECK_FALSE(loop.time.has_pending());
        }
    }
}

TEST_CASE_METHOD(fixture, "[requirement H1] cancelling at each operation is clean") {
    net.piece = 1;
    REQUIRE(exchange().has_value());
    const std::size_t steps = net.operations;
    for (const auto type :
         {boost::asio::cancellation_type::terminal, boost::asio::cancellation_type::all}) {
        for (std::size_t number = 0; number < steps; ++number) {
            INFO("operation " << number);
            make();
            net.operations = 0;
            net.at = number;
            net.what = fault::hang;
            test::task<result<http_response>> running(loop, start());
            loop.settle();
            REQUIRE_FALSE(running.done);
            running.cancel(type);
            loop.settle();
            REQUIRE(running.done);
            CHECK_FALSE(running.failure);
            CHECK(running.result.error().code == errc::cancelled);
            CHECK(net.open == 0);
            CHECK_FALSE(loop.time.has_pending());
        }
    }
}

TEST_CASE_METHOD(
    fixture, "[requirement R4] a kept connection that is dead: lost, and all kept ones go"
) {
    options.max_connections = 3;
    make();
    std::vector<std::unique_ptr<test::task<result<http_response>>>> three;
    for (int i = 0; i < 3; ++i) {
        three.push_back(std::make_unique<test::task<result<http_response>>>(loop, start()));
    }
    loop.settle();
    REQUIRE(net.open == 3);
    net.ends = true;
    net.respond = [](const std::string&) { return std::string(); };
    const auto answer = exchange();
    REQUIRE(answer.has_error());
    CHECK(answer.error().code == errc::connection_lost);
    CHECK(net.open == 0);
    net.respond = [](const std::string&) { return ok_answer; };
    CHECK(exchange().has_value());
}

TEST_CASE_METHOD(
    fixture, "[requirement T1] requests in flight are bounded; others wait their turn"
) {
    options.max_connections = 2;
    make();
    net.respond = [](const std::string&) { return std::string(); };
    std::vector<std::unique_ptr<test::task<result<http_response>>>> all;
    for (int i = 0; i < 5; ++i) {
        all.push_back(std::make_unique<test::task<result<http_response>>>(loop, start()));
    }
    loop.settle();
    CHECK(net.requests.size() == 2);
    all[3]->cancel();
    loop.settle();
    CHECK(all[3]->done);
    net.respond = [](const std::string&) { return ok_answer; };
    all[0]->cancel();
    loop.settle();
    CHECK(all[2]->result.has_value());
    CHECK(all[4]->result.has_value());
    CHECK_FALSE(all[1]->done);
    loop.run_for(30s);
    CHECK(all[1]->result.error().code == errc::timeout);  // it was sent
    CHECK(exchange().has_value());
}

TEST_CASE_METHOD(fixture, "[requirement T3] a request that never gets its turn times out") {
    options.max_connections = 1;
    make();
    net.respond = [](const std::string&) { return std::string(); };
    test::task<result<http_response>> first(loop, start(60s));
    test::task<result<http_response>> second(loop, start(10s));
    loop.run_for(11s);
    REQUIRE(second.done);
    CHECK(second.result.error().code == errc::connect);
    second.result.error().method = "POST";
    CHECK(classify(second.result.error()) == retry_class::retry_later);
    CHECK_FALSE(first.done);
    loop.run_for(60s);
    CHECK(first.done);
}

TEST_CASE_METHOD(
    fixture, "[requirement C2] [requirement R5] 401 reads the token again and tries once more"
) {
    net.respond = [&](const std::string& bytes) {
        token = "two";
        return bytes.find("Bearer two") != std::string::npos ? ok_answer : refusal_answer;
    };
    SECTION("with success") {
        CHECK(exchange()->status == 200);
        CHECK(net.requests.size() == 2);
    }
    SECTION("once only") {
        net.respond = [&](const std::string&) {
            token = *token + "x";
            return refusal_answer;
        };
        CHECK(exchange()->status == 401);
        CHECK(net.requests.size() == 2);
    }
    SECTION("not with the same token") {
        net.respond = [&](const std::string&) { return refusal_answer; };
        CHECK(exchange()->status == 401);
        CHECK(net.requests.size() == 1);
    }
    SECTION("for a watch too") {
        auto stream = test::run(loop, transport->open_stream(request, 60s));
        REQUIRE(stream.has_value());
        CHECK((*stream)->status() == 200);
    }
}

TEST_CASE_METHOD(fixture, "[requirement T14] an answer that is no HTTP is a bad response") {
    net.respond = [](const std::string&) { return std::string("<html>\r\n\r\n"); };
    CHECK(exchange().error().code == errc::bad_response);
    options.body_limit = 1;
    make();
    net.respond = [](const std::string&) { return ok_answer; };
    CHECK(exchange().error().code == errc::too_large);
    CHECK(net.open == 0);
    request.target = "/a b";
    CHECK(exchange().error().code == errc::invalid_argument);
}

TEST_CASE_METHOD(fixture, "[requirement T2] a watch owns its connection and blocks no one") {
    options.max_connections = 1;
    make();
    CHECK(exchange().has_value());
    net.respond = [](const std::string&) { return watch_head + "2\r\nab\r\n"; };
    auto stream = test::run(loop, transport->open_stream(request, 60s));
    REQUIRE(stream.has_value());
    CHECK(net.connections == 1);
    CHECK((*stream)->header("a") == "b");
    net.respond = [](const std::string&) { return ok_answer; };
    CHECK(exchange().has_value());
    CHECK(net.connections == 2);
    CHECK(*test::run(loop, (*stream)->read_some()) == "ab");
    stream->reset();
    CHECK(net.open == 1);
}

TEST_CASE_METHOD(fixture, "[requirement T1] a kept connection that is dead costs a watch nothing") {
    CHECK(exchange().has_value());
    net.respond = [](const std::string&) { return watch_head; };
    net.operations = 0;
    net.what = fault::fail;
    for (net.at = 0; net.at < 2; ++net.at) {
        net.operations = 0;
        auto stream = test::run(loop, transport->open_stream(request, 60s));
        REQUIRE(stream.has_value());
        CHECK((*stream)->status() == 200);
        stream->reset();
        CHECK(net.open == 0);
        net.operations = 100;
        net.respond = [](const std::string&) { return ok_answer; };
        CHECK(exchange().has_value());
        net.respond = [](const std::string&) { return watch_head; };
    }
    SECTION("but a new one that is lost is an error") {
        transport = nullptr;
        make();
        net.operations = 0;
        net.at = 1;
        CHECK(
            test::run(loop, transport->open_stream(request, 60s)).error().code ==
            errc::connection_lost
        );
    }
}

TEST_CASE_METHOD(fixture, "[requirement T5] a stream in pieces of each size, to its clean end") {
    const std::string body = "2\r\nab\r\n3;x=y\r\ncde\r\n0\r\n\r\n";
    net.respond = [&](const std::string&) { return watch_head + body; };
    for (net.piece = 1; net.piece < 60; ++net.piece) {
        auto stream = test::run(loop, transport->open_stream(request, 60s));
        REQUIRE(stream.has_value());
        std::string got;
        for (;;) {
            const auto piece = test::run(loop, (*stream)->read_some());
            REQUIRE(piece.has_value());
            if (piece->empty()) {
                break;
            }
            got += *piece;
        }
        CHECK(got == "abcde");
    }
}

TEST_CASE_METHOD(
    fixture, "[requirement T3] a stream: each operation fails, hangs or is cancelled"
) {
    net.respond = [&](const std::string&) { return watch_head + "2\r\nab\r\n0\r\n\r\n"; };
    net.piece = 7;
    REQUIRE(test::run(loop, read_all(*transport, request)).has_value());
    const std::size_t steps = net.operations;
    REQUIRE(steps > 10);
    for (std::size_t number = 0; number < steps; ++number) {
        for (const int how : {0, 1, 2}) {
            INFO("operation " << number << " way " << how);
            net.operations = 0;
            net.at = number;
            net.what = how == 0 ? fault::fail : fault::hang;
            test::task<result<void>> running(loop, read_all(*transport, request));
            loop.settle();
            if (how == 2) {
                REQUIRE_FALSE(running.done);
                running.cancel();
                loop.settle();
            } else {
                loop.run_until([&] { return running.done; });
            }
            REQUIRE(running.done);
            CHECK_FALSE(running.failure);
            const errc lost = number == 0 ? errc::connect : errc::connection_lost;
            const errc late = number == 0 ? errc::connect : errc::timeout;
            const errc expected[] = {lost, late, errc::cancelled};
            CHECK(running.result.error().code == expected[how]);
            CHECK(net.open == 0);
            CHECK_FALSE(loop.time.has_pending());
        }
    }
}

TEST_CASE_METHOD(fixture, "[requirement H1] close ends a pending read with cancelled") {
    net.respond = [&](const std::string&) { return watch_head; };
    auto stream = test::run(loop, transport->open_stream(request, 60s));
    REQUIRE(stream.has_value());
    test::task<result<std::string_view>> reading(loop, (*stream)->read_some());
    loop.settle();
    REQUIRE_FALSE(reading.done);
    (*stream)->close();
    loop.settle();
    REQUIRE(reading.done);
    CHECK(reading.result.error().code == errc::cancelled);
    CHECK(test::run(loop, (*stream)->read_some()).error().code == errc::cancelled);
}

TEST_CASE_METHOD(
    fixture, "[requirement T5] a stream that is cut is lost, one without length ends clean"
) {
    net.ends = true;
    net.respond = [&](const std::string&) { return watch_head + "5\r\nab"; };
    auto cut = test::run(loop, transport->open_stream(request, 60s));
    REQUIRE(cut.has_value());
    CHECK(*test::run(loop, (*cut)->read_some()) == "ab");
    CHECK(test::run(loop, (*cut)->read_some()).error().code == errc::connection_lost);
    net.respond = [&](const std::string&) { return std::string("HTTP/1.1 200 OK\r\n\r\nab"); };
    auto whole = test::run(loop, transport->open_stream(request, 60s));
    REQUIRE(whole.has_value());
    CHECK(*test::run(loop, (*whole)->read_some()) == "ab");
    CHECK(test::run(loop, (*whole)->read_some())->empty());
}

TEST_CASE_METHOD(fixture, "[requirement H1] a client at its end: what is under way is cut off") {
    net.respond = [](const std::string&) { return std::string(); };
    client api(*transport, loop.time);
    test::task<result<std::string>> first(loop, api.get(resources::pods(), "a", "b"));
    loop.run_for(5s);
    api.finish_by(loop.time.steady_now() + 10s);
    test::task<result<std::string>> second(
        loop, api.create(resources::pods(), "a", std::string("{}"))
    );
    loop.run_for(10s - 1ms);
    CHECK_FALSE((first.done || second.done));
    loop.run_for(1ms);
    REQUIRE((first.done && second.done));
    CHECK(first.result.has_error());
    CHECK(second.result.has_error());
    CHECK_FALSE(loop.time.has_pending());
    // What follows has no time left, until there is a new limit.
    test::task<result<std::string>> third(loop, api.get(resources::pods(), "a", "b"));
    loop.run_for(1ms);
    CHECK(third.done);
    net.respond = [](const std::string&) {
        return std::string("HTTP/1.1 200 OK\r\nContent-Length: 14\r\n\r\n{\"kind\":\"Pod\"}");
    };
    api.finish_by(loop.time.steady_now() + 3s);
    CHECK(test::run(loop, api.get(resources::pods(), "a", "b")).has_value());
}

TEST_CASE_METHOD(fixture, "[requirement H1] a client that is done leaves no timer to wait for") {
    net.respond = [](const std::string&) { return std::string(); };
    client api(*transport, loop.time);
    api.finish_by(loop.time.steady_now() + 10s);
    CHECK_FALSE(loop.time.has_pending());
    test::task<result<std::string>> last(loop, api.get(resources::pods(), "a", "b"));
    loop.settle();
    api.finish_by(loop.time.steady_now() + 10s);
    last.cancel();
    loop.settle();
    REQUIRE(last.done);
    CHECK_FALSE(loop.time.has_pending());
}

TEST_CASE_METHOD(fixture, "[requirement H1] the wait before a repetition ends too") {
    net.respond = [](const std::string&) {
        return std::string("HTTP/1.1 503 Busy\r\nRetry-After: 20\r\nContent-Length: 0\r\n\r\n");
    };
    client api(*transport, loop.time);
    test::task<result<std::string>> waiting(loop, api.get(resources::pods(), "a", "b"));
    loop.run_for(1s);
    REQUIRE_FALSE(waiting.done);
    api.finish_by(loop.time.steady_now() + 2s);
    loop.run_for(2s);
    REQUIRE(waiting.done);
    CHECK(waiting.result.error().code == errc::cancelled);
}

TEST_CASE_METHOD(
    fixture, "[requirement L7] a list is given out as it arrives, and nothing is held"
) {
    const std::string body =
        R"({"kind":"PodList","metadata":{"resourceVersion":"7"},"items":[{"a":1},{"b":2}]})";
    options.body_limit = 10;  // of what is held
    make();
    client api(*transport, loop.time);
    std::string got;
    const auto list = [&] {
        got.clear();
        return test::run(
            loop,
            api.list(
                resources::pods(),
                "",
                list_options(),
                [&](std::string_view item, std::string_view version) {
                    got += std::string(item.substr(item.size() - 7)) + "@" + std::string(version);
                }
            )
        );
    };
    const auto head = [](std::size_t size) {
        return "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(size) + "\r\n\r\n";
    };
    net.respond = [&](const std::string&) { return head(body.size()) + body; };
    for (net.piece = 1; net.piece < 100; net.piece += 9) {
        const auto page = list();
        REQUIRE(page.has_value());
        CHECK(page->resource_version == "7");
        CHECK(got == ",\"a\":1}@7,\"b\":2}@7");
    }
    // Cut off behind the first item: no second try, as that item cannot be taken back.
    net.requests.clear();
    net.ends = true;
    net.respond = [&](const std::string&) {
        return head(body.size()) + body.substr(0, body.find(",{\"b"));
    };
    CHECK(list().error().code == errc::connection_lost);
    CHECK(got == ",\"a\":1}@7");
    CHECK(net.requests.size() == 1);
    // Before the body there is one.
    net.respond = [&](const std::string&) {
        return net.requests.size() == 2 ? std::string() : head(body.size()) + body;
    };
    CHECK(list().has_value());
    CHECK(net.requests.size() == 3);
    // Errors are held, and have their limit.
    net.respond = [](const std::string&) {
        return std::string("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>");
    };
    CHECK(list().error().code == errc::bad_response);
    net.respond = [](const std::string&) {
        return "HTTP/1.1 403 No\r\nContent-Length: 5\r\n\r\n<html";
    };
    CHECK(list().error().http_status == 403);
    net.piece = 1u << 20;
    net.respond = [](const std::string&) {
        return "HTTP/1.1 403 No\r\n\r\n" + std::string(3u << 20, 'x');
    };
    CHECK(list().error().code == errc::too_large);
}
