// SPDX-License-Identifier: Apache-2.0
#include "client/scripted_transport.hpp"
#include "k8sio/client.hpp"
#include "runtime/virtual_loop.hpp"

#include <catch2/catch.hpp>

#include <algorithm>

using namespace signalbox::k8sio;
using namespace std::chrono_literals;
using test::answer;

namespace {

const resource_type& pods = resources::pods();

struct fixture {
    fixture() : transport(loop.time), api(transport, loop.time) {
        transport.on_exchange = [this](const http_request&) -> result<http_response> {
            const std::size_t at = std::min(sent++, answers.size() - 1);
            return answers[at];
        };
    }
    result<std::string> get() { return test::run(loop, api.get(pods, "a", "b")); }
    result<std::string> create() {
        return test::run(loop, api.create(pods, "a", std::string("{}")));
    }
    static http_response told_to_wait(int status, const char* seconds) {
        http_response made = answer(status, "{}");
        made.headers.emplace_back("Retry-After", seconds);
        return made;
    }

    test::virtual_loop loop;
    test::scripted_transport transport;
    client api;
    std::vector<result<http_response>> answers{answer(200, R"({"kind":"Pod"})")};
    std::size_t sent = 0;
};

}  // namespace

TEST_CASE_METHOD(
    fixture, "[requirement T11] an empty namespace or name is refused before sending"
) {
    const delete_options options;
    std::vector<result<std::string>> all;
    for (const char* name : {"", ".", ".."}) {
        all.push_back(test::run(loop, api.get(pods, "a", name)));
        all.push_back(test::run(loop, api.remove(pods, "a", name, options)));
        all.push_back(test::run(loop, api.remove(pods, name, "b", options)));
        all.push_back(test::run(loop, api.create(pods, name, std::string("{}"))));
        all.push_back(test::run(loop, api.update(pods, "a", name, std::string("{}"))));
        all.push_back(test::run(loop, api.update_status(pods, name, "b", std::string("{}"))));
        all.push_back(test::run(loop, api.merge_patch(pods, "a", name, std::string("{}"))));
    }
    for (const auto& outcome : all) {
        REQUIRE(outcome.has_error());
        CHECK(outcome.error().code == errc::invalid_argument);
    }
    CHECK(sent == 0);
}

TEST_CASE_METHOD(fixture, "[requirement B7] who may not write sends reads only") {
    bool leads = true;
    client_options options;
    options.may_write = [&] { return leads; };
    client asking(transport, loop.time, options);
    const delete_options gone;
    CHECK(test::run(loop, asking.create(pods, "a", std::string("{}"))).has_value());
    CHECK(sent == 1);
    SECTION("each verb asks") {
        leads = false;
        std::vector<result<std::string>> all;
        all.push_back(test::run(loop, asking.create(pods, "a", std::string("{}"))));
        all.push_back(test::run(loop, asking.update(pods, "a", "b", std::string("{}"))));
        all.push_back(test::run(loop, asking.update_status(pods, "a", "b", std::string("{}"))));
        all.push_back(test::run(loop, asking.merge_patch(pods, "a", "b", std::string("{}"))));
        all.push_back(test::run(loop, asking.remove(pods, "a", "b", gone)));
        all.push_back(test::run(loop, asking.raw("POST", "/x", "", "")));
        for (const auto& outcome : all) {
            REQUIRE(outcome.has_error());
            CHECK(outcome.error().code == errc::cancelled);
        }
        CHECK(sent == 1);
        CHECK(test::run(loop, asking.get(pods, "a", "b")).has_value());
    }
    SECTION("so does each repetition") {
        answers.assign(1, told_to_wait(429, "1"));
        transport.on_exchange = [&, inner = transport.on_exchange](const http_request& request) {
            leads = false;  // while it waits
            return inner(request);
        };
        const auto outcome = test::run(loop, asking.create(pods, "a", std::string("{}")));
        REQUIRE(outcome.has_error());
        CHECK(outcome.error().code == errc::cancelled);
        CHECK(sent == 2);
    }
}

TEST_CASE_METHOD(fixture, "[requirement T12] every request names the manager") {
    client_options options;
    options.manager = "somebody";
    client named(transport, loop.time, options);
    const delete_options gone;
    test::run(loop, named.get(pods, "a", "b"));
    test::run(loop, named.create(pods, "a", std::string("{}")));
    test::run(loop, named.remove(pods, "a", "b", gone));
    REQUIRE(transport.requests.size() == 3);
    for (const http_request& request : transport.requests) {
        const auto found =
            std::find_if(request.headers.begin(), request.headers.end(), [](const auto& header) {
                return header.first == "User-Agent";
            });
        REQUIRE(found != request.headers.end());
        CHECK(found->second == named.user_agent());
        CHECK(found->second.substr(0, 9) == "somebody/");
    }
}

TEST_CASE_METHOD(fixture, "[requirement X8] each verb's method, path, type and body") {
    delete_options options("uid-1");
    options.resource_version = "7";
    options.grace_seconds = 0;
    test::run(loop, api.get(pods, "a", "b"));
    test::run(loop, api.create(pods, "a", std::string("{}")));
    test::run(loop, api.update(pods, "a", "b", std::string("{}")));
    test::run(loop, api.update_status(pods, "a", "b", std::string("{}")));
    test::run(loop, api.merge_patch(pods, "a", "b", std::string("{}"), "status"));
    test::run(loop, api.remove(pods, "a", "b", options));
    test::run(loop, api.remove(resources::nodes(), "", "n", delete_options()));
    std::vector<std::string> seen;
    for (const http_request& request : transport.requests) {
        seen.push_back(request.method + " " + request.target + " " + request.content_type);
    }
    CHECK(
        seen ==
        std::vector<std::string>{
            "GET /api/v1/namespaces/a/pods/b ",
            "POST /api/v1/namespaces/a/pods?fieldManager=signalbox application/json",
            "PUT /api/v1/namespaces/a/pods/b?fieldManager=signalbox application/json",
            "PUT /api/v1/namespaces/a/pods/b/status?fieldManager=signalbox application/json",
            "PATCH /api/v1/namespaces/a/pods/b/status?fieldManager=signalbox "
            "application/merge-patch+json",
            "DELETE /api/v1/namespaces/a/pods/b application/json",
            "DELETE /api/v1/nodes/n application/json"}
    );
    CHECK(
        transport.requests[5].body ==
        R"({"apiVersion":"v1","kind":"DeleteOptions","propagationPolicy":"Background",)"
        R"("gracePeriodSeconds":0,"preconditions":{"uid":"uid-1","resourceVersion":"7"}})"
    );
    CHECK(
        transport.requests[6].body ==
        R"({"apiVersion":"v1","kind":"DeleteOptions","propagationPolicy":"Background"})"
    );
}

TEST_CASE_METHOD(
    fixture, "[requirement V1] a list's query: match with a version, neither on page two"
) {
    answers = {answer(200, R"({"kind":"PodList","items":null})")};
    list_options options;
    options.label_selector = "a in (b,c)";
    options.field_selector = "spec.nodeName=n";
    options.resource_version = "7";
    REQUIRE(test::run(loop, api.list(pods, "", options)).has_value());
    options.continue_token = "t/+";
    REQUIRE(test::run(loop, api.list(pods, "x", options)).has_value());
    list_options bare;
    bare.limit = 0;
    bare.resource_version = "0";
    REQUIRE(test::run(loop, api.list(pods, "x", bare)).has_value());
    CHECK(
        transport.requests[0].target ==
        "/api/v1/pods?labelSelector=a%20in%20%28b%2Cc%29&fieldSelector=spec.nodeName%3Dn&limit=500"
        "&resourceVersion=7&resourceVersionMatch=NotOlderThan"
    );
    CHECK(
        transport.requests[1].target ==
        "/api/v1/namespaces/x/pods?labelSelector=a%20in%20%28b%2Cc%29"
        "&fieldSelector=spec.nodeName%3Dn&limit=500&continue=t%2F%2B"
    );
    CHECK(transport.requests[2].target == "/api/v1/namespaces/x/pods?resourceVersion=0");
}

TEST_CASE_METHOD(
    fixture, "[requirement R2] 429 and 503 with Retry-After are sent again, any verb"
) {
    const auto start = loop.time.steady_now();
    answers = {told_to_wait(429, "2"), told_to_wait(503, "0"), answer(201, R"({"kind":"Pod"})")};
    CHECK(create().has_value());
    CHECK(sent == 3);
    CHECK(loop.time.steady_now() - start >= 3s);  // 2 s, and 0 s clamped to 1 s
    CHECK(loop.time.steady_now() - start < 4s);
}

TEST_CASE_METHOD(
    fixture, "[requirement R2] without Retry-After, or with 500, the error is the answer"
) {
    for (const int status : {429, 503, 500, 504}) {
        answers = {answer(status, "{}"), answer(201, "{}")};
        sent = 0;
        CHECK(create().error().http_status == status);
        CHECK(sent == 1);
    }
    answers = {told_to_wait(500, "1"), answer(201, "{}")};
    sent = 0;
    CHECK(create().error().http_status == 500);
}

TEST_CASE_METHOD(
    fixture, "[requirement R8] retries stay within the deadline and the number of tries"
) {
    answers = {told_to_wait(429, "1000")};
    CHECK(create().error().retry_after == 1000s);
    CHECK(sent == 1);  // 30 s after now is the deadline
    answers = {told_to_wait(429, "1")};
    sent = 0;
    CHECK(create().error().http_status == 429);
    CHECK(sent == 4);
    CHECK(api.requests_sent() == 5);
}

TEST_CASE_METHOD(fixture, "[requirement R4] what was not sent is sent again, with growing delays") {
    for (const errc code : {errc::resolve, errc::connect, errc::tls}) {
        const auto start = loop.time.steady_now();
        answers = {test::failure(code), test::failure(code), answer(201, R"({"kind":"Pod"})")};
        sent = 0;
        CHECK(create().has_value());
        CHECK(sent == 3);
        CHECK(loop.time.steady_now() - start >= 300ms);
        CHECK(loop.time.steady_now() - start <= 600ms);  // 100 and 200 ms, each up to twice
    }
}

TEST_CASE_METHOD(fixture, "[requirement R4] a lost read is repeated once, a lost write never") {
    answers = {test::failure(errc::connection_lost), answer(200, R"({"kind":"Pod"})")};
    CHECK(get().has_value());
    CHECK(sent == 2);
    answers = {test::failure(errc::connection_lost)};
    sent = 0;
    CHECK(get().error().code == errc::connection_lost);
    CHECK(sent == 2);
    for (const errc code : {errc::connection_lost, errc::timeout, errc::bad_response}) {
        answers = {test::failure(code), answer(201, "{}")};
        sent = 0;
        const auto outcome = create();
        REQUIRE(outcome.has_error());
        CHECK(classify(outcome.error()) == retry_class::unknown_outcome);
        CHECK(outcome.error().path == "/api/v1/namespaces/a/pods");
        CHECK(sent == 1);
    }
}

TEST_CASE_METHOD(
    fixture, "[requirement T14] answers of success that are no object are bad responses"
) {
    const char* const bodies[] = {
        "",
        "<html>",
        "{\"kind\":",
        "[]",
        R"({"kind":"Status"})",
        R"({"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"1"},"spec":{)"};
    for (const char* body : bodies) {
        answers = {answer(200, body, "text/html")};
        const auto outcome = get();
        INFO(body);
        REQUIRE(outcome.has_error());
        CHECK(outcome.error().code == errc::bad_response);
        CHECK(outcome.error().http_status == 200);
        CHECK(outcome.error().message.find("text/html") != std::string::npos);
    }
    answers = {answer(200, R"({"kind":"PodList","items":[{)")};
    CHECK(test::run(loop, api.list(pods, "", list_options())).error().code == errc::bad_response);
    answers = {answer(302, "")};
    CHECK(get().error().http_status == 302);
}

TEST_CASE_METHOD(
    fixture, "[requirement X8] a delete may be answered with a Status; raw takes any text"
) {
    answers = {answer(200, R"({"kind":"Status","status":"Success"})")};
    CHECK(test::run(loop, api.remove(pods, "a", "b", delete_options())).has_value());
    answers = {answer(200, "ok", "text/plain")};
    const auto outcome = test::run(
        loop, api.raw(std::string("GET"), std::string("/healthz"), std::string(), std::string())
    );
    CHECK(*outcome == "ok");
}

TEST_CASE_METHOD(
    fixture, "[requirement H1] cancelling a request that waits to be sent again ends it"
) {
    answers = {told_to_wait(429, "5")};
    test::task<result<std::string>> running(loop, api.get(pods, "a", "b"));
    loop.run_for(1s);
    REQUIRE_FALSE(running.done);
    running.cancel();
    loop.settle();
    REQUIRE(running.done);
    CHECK_FALSE(running.failure);
    CHECK(running.result.error().code == errc::cancelled);
    CHECK(classify(running.result.error()) == retry_class::cancelled);
}

TEST_CASE_METHOD(
    fixture,
    "[requirement R8] [behaviour 12.8] server time follows the Date header, not the local clock"
) {
    CHECK(api.server_now() == loop.time.wall_now());
    const auto dated = [](const char* date) {
        http_response made = answer(200, R"({"kind":"Pod"})");
        made.headers.emplace_back("Date", date);
        return made;
    };
    const wall_time local = loop.time.wall_now();  // 2023-11-14T22:13:20Z
    answers = {dated("Tue, 14 Nov 2023 22:13:20 GMT")};
    REQUIRE(get());
    CHECK(api.server_now() == local);  // within the second: no correction
    answers = {dated("Tue, 14 Nov 2023 22:14:20 GMT")};
    REQUIRE(get());
    CHECK(api.server_now() == local + 60s);
    loop.run_for(10s);
    CHECK(api.server_now() == local + 70s);
    answers = {dated("Tue, 14 Nov 2023 22:14:29 GMT")};  // truncated a moment before :30
    REQUIRE(get());
    CHECK(api.server_now() == local + 70s);
    answers = {dated("no date")};
    REQUIRE(get());
    CHECK(api.server_now() == local + 70s);
}

TEST_CASE_METHOD(
    fixture, "[requirement R9] the time of a proxy, or one answer, is not the server's"
) {
    std::vector<std::string> told;
    client_options options;
    options.notice = [&](const std::string& line) { told.push_back(line); };
    client patient(transport, loop.time, options);
    const auto ask = [&](int status, const char* body) {
        answers = {answer(status, body)};
        answers[0]->headers.emplace_back("Date", "Tue, 14 Nov 2023 23:13:20 GMT");  // an hour ahead
        test::run(loop, patient.get(resources::pods(), "a", "b"));
        return patient.server_now() == loop.time.wall_now();
    };
    CHECK(ask(503, "<html>busy</html>"));
    CHECK(ask(503, "<html>busy</html>"));
    CHECK(told.empty());
    CHECK(ask(200, R"({"kind":"Pod"})"));
    CHECK(told.size() == 1);
    CHECK_FALSE(ask(404, R"({"kind":"Status","code":404})"));
    CHECK(told.size() == 2);
}

TEST_CASE_METHOD(
    fixture, "[requirement R9] the time of a list whose body is read in pieces counts"
) {
    std::string body = R"({"kind":"PodList","metadata":{"resourceVersion":"7"},"items":[]})";
    transport.on_exchange = [&](const http_request& request) {
        request.on_body(body);
        http_response made = answer(200, "");
        made.headers.emplace_back("Date", "Tue, 14 Nov 2023 23:13:20 GMT");  // an hour ahead
        return made;
    };
    const auto list = [&] {
        const auto page =
            test::run(loop, api.list(resources::pods(), "", list_options(), [](auto, auto) {}));
        return std::pair(page.has_value(), api.server_now() - loop.time.wall_now());
    };
    CHECK((list() == std::pair(true, wall_time::duration(0))));
    CHECK((list() == std::pair(true, wall_time::duration(3600s))));
    client other(transport, loop.time, client_options());
    body = "<html>log in</html>";
    for (int i = 0; i < 2; ++i) {
        const auto page =
            test::run(loop, other.list(resources::pods(), "", list_options(), [](auto, auto) {}));
        CHECK(page.has_error());
        CHECK(other.server_now() == loop.time.wall_now());
    }
}

TEST_CASE_METHOD(fixture, "[requirement C9] [requirement T14] a broken object is not quoted") {
    const std::string whole = R"({"kind":"Secret","data":{"a":"aHVudGVyMg=="}})";
    for (std::size_t size = 1; size < whole.size(); ++size) {
        answers = {answer(200, whole.substr(0, size))};
        const auto outcome = get();
        REQUIRE(outcome.has_error());
        CHECK(outcome.error().text().find("aH") == std::string::npos);
    }
    answers = {answer(200, "<html>\r\n<p>log in\n2026-01-01 info: all is well</p>")};
    const std::string text = get().error().text();
    CHECK(text.find("<html> <p>log in 2026-01-01 info") != std::string::npos);
    CHECK(text.find('\n') == std::string::npos);
    answers = {answer(403, R"({"kind":"Status","message":"no\nline","reason":"a\u0007b"})")};
    CHECK(get().error().text() == "GET /api/v1/namespaces/a/pods/b: 403 a b: no line");
}

TEST_CASE_METHOD(fixture, "[requirement T11] a list in a namespace that is none is refused") {
    for (const char* ns : {".", ".."}) {
        const auto outcome = test::run(loop, api.list(pods, ns, list_options()));
        REQUIRE(outcome.has_error());
        CHECK(outcome.error().code == errc::invalid_argument);
        const auto items = test::run(
            loop,
            api.list(pods, ns, list_options(), [](std::string_view, std::string_view) { FAIL(); })
        );
        CHECK(items.error().code == errc::invalid_argument);
    }
    CHECK(sent == 0);
}

TEST_CASE_METHOD(fixture, "[requirement T12] requests name the program and its version") {
    get();
    const auto agent = [&] {
        for (const auto& [name, value] : transport.requests.back().headers) {
            if (name == "User-Agent") {
                return value;
            }
        }
        return std::string();
    };
    CHECK(agent().substr(0, 10) == "signalbox/");
    CHECK(agent().size() > 12);
    CHECK(agent() == api.user_agent());
}

TEST_CASE_METHOD(fixture, "[requirement T15] the request for a log, once and with its options") {
    std::string accept;
    transport.on_open = [&](const http_request& request) {
        accept = request.accept;
        return std::make_shared<test::stream_script>();
    };
    log_query all;
    all.container = "a b";
    all.follow = all.previous = all.timestamps = true;
    all.since = wall_time(1767323045s);
    all.tail_lines = 0;
    all.limit_bytes = 5;
    CHECK(test::run(loop, api.open_log("ns", "p", log_query())).has_value());
    CHECK(test::run(loop, api.open_log("ns", "p", all)).has_value());
    REQUIRE(transport.requests.size() == 2);
    CHECK(transport.requests[0].target == "/api/v1/namespaces/ns/pods/p/log");
    CHECK(
        transport.requests[1].target ==
        "/api/v1/namespaces/ns/pods/p/log?container=a%20b&follow=true&previous=true&timestamps=true"
        "&sinceTime=2026-01-02T03%3A04%3A05Z&tailLines=0&limitBytes=5"
    );
    CHECK(accept == "*/*");
    for (const char* name : {"", ".", ".."}) {
        const auto refused = test::run(loop, api.open_log("ns", name, all));
        REQUIRE(refused.has_error());
        CHECK(refused.error().code == errc::invalid_argument);
    }
    CHECK(transport.requests.size() == 2);
    transport.fail = [](std::size_t) { return test::failure(errc::connection_lost); };
    const auto lost = test::run(loop, api.open_log("ns", "p", all));
    REQUIRE(lost.has_error());
    CHECK(lost.error().code == errc::connection_lost);
    CHECK(lost.error().path == "/api/v1/namespaces/ns/pods/p/log");
    CHECK(transport.requests.size() == 3);
}

TEST_CASE_METHOD(fixture, "[requirement T15] the end of a log in one piece, asked for once") {
    log_query end;
    end.container = "main";
    end.timestamps = true;
    end.tail_lines = 2;
    end.limit_bytes = 100;
    transport.on_exchange = [](const http_request&) {
        return test::answer(200, "one\ntwo\n", "text/plain");
    };
    const steady_time until = loop.time.steady_now() + 1s;
    const auto text = test::run(loop, api.read_log("ns", "p", end, until));
    REQUIRE(text.has_value());
    CHECK(*text == "one\ntwo\n");
    REQUIRE(transport.requests.size() == 1);
    CHECK(
        transport.requests[0].target ==
        "/api/v1/namespaces/ns/pods/p/log?container=main&timestamps=true&tailLines=2&limitBytes=100"
    );
    CHECK(test::run(loop, api.read_log("ns", "..", end, until)).has_error());
    // What is refused for now is not asked for again, either.
    transport.on_exchange = [](const http_request&) { return test::answer(429, "{}"); };
    const auto refused = test::run(loop, api.read_log("ns", "p", end, until));
    REQUIRE(refused.has_error());
    CHECK(refused.error().http_status == 429);
    CHECK(transport.requests.size() == 2);
}
