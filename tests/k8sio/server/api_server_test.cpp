// SPDX-License-Identifier: Apache-2.0
//
// What the embedded server has beyond the API: faults, history, bookmarks, streams in process,
// shared definitions, determinism.
#include "k8sio/server/api_server.hpp"

#include "k8sio/clock.hpp"
#include "signalbox_test/sanitized.hpp"
#include "signalbox_test/source_files.hpp"
#include "signalbox_test/text.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

#include <catch2/catch.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace signalbox::k8sio::server {
namespace {

namespace asio = boost::asio;
using signalbox::test::sanitized;
using std::chrono::seconds;

const std::string config_maps = "/api/v1/namespaces/default/configmaps";
const std::string widgets = "/apis/test.signalbox.dev/v1beta1/namespaces/default/widgets";

std::string widget_crd() {
    return signalbox::test::source_text("tests/k8sio/server/widget_crd.json");
}

std::string widget(const std::string& name, const std::string& mode = "Fast") {
    return R"({"apiVersion":"test.signalbox.dev/v1beta1","kind":"Widget","metadata":{"name":")" +
           name + R"("},"spec":{"mode":")" + mode + R"("}})";
}

std::string named(const std::string& name) {
    return R"({"metadata":{"name":")" + name + R"("}})";
}

/// An answer as the tests look at it: the status, or why there is none.
struct seen {
    int status = 0;
    std::string body;
    std::optional<errc> error;
};

asio::awaitable<void> exchange(
    transport& transport,
    const http_request& request,
    steady_time deadline,
    std::optional<seen>& out
) {
    result<http_response> response = co_await transport.exchange(request, deadline);
    seen s;
    if (response) {
        s.status = response->status;
        s.body = response->body;
    } else {
        s.error = response.error().code;
    }
    out = std::move(s);
}

asio::awaitable<void> open(
    transport& transport,
    const http_request& request,
    std::chrono::nanoseconds idle,
    std::optional<result<std::unique_ptr<response_stream>>>& out
) {
    result<std::unique_ptr<response_stream>> opened = co_await transport.open_stream(request, idle);
    out.emplace(std::move(opened));
}

asio::awaitable<void> read(response_stream& stream, std::optional<seen>& out) {
    const result<std::string_view> piece = co_await stream.read_some();
    seen s;
    if (piece) {
        s.body = *piece;
    } else {
        s.error = piece.error().code;
    }
    out = std::move(s);
}

/// A server in virtual time and a way to it.
class world {
public:
    explicit world(server_options options = {})
        : time_(io_.get_executor(), std::chrono::sys_days{std::chrono::year{2026} / 1 / 31}),
          server(io_.get_executor(), time_, options),
          transport_(server.connect()) {}

    seen send(
        const std::string& method,
        const std::string& target,
        const std::string& body = "",
        const std::string& type = "application/json"
    ) {
        http_request request(method, target);
        request.body = body;
        request.content_type = type;
        std::optional<seen> out;
        const steady_time deadline = time_.steady_now() + seconds{30};
        asio::co_spawn(io_, exchange(*transport_, request, deadline, out), asio::detached);
        settle();
        return out.value_or(seen{});
    }

    std::unique_ptr<response_stream> watch(
        const std::string& target, std::chrono::nanoseconds idle = seconds{300}
    ) {
        const http_request request("GET", target);
        std::optional<result<std::unique_ptr<response_stream>>> out;
        asio::co_spawn(io_, open(*transport_, request, idle, out), asio::detached);
        settle();
        return out && *out ? std::move(**out) : nullptr;
    }

    /// Starts a read; its outcome is in `out` when it came.
    void start_read(response_stream& stream, std::optional<seen>& out) {
        asio::co_spawn(io_, read(stream, out), asio::detached);
        settle();
    }

    std::optional<seen> read_now(response_stream& stream) {
        auto out = std::make_shared<std::optional<seen>>();
        asio::co_spawn(io_, read(stream, *out), [out](std::exception_ptr) {});
        settle();
        return *out;
    }

    void pass(std::chrono::nanoseconds duration) {
        time_.advance(duration);
        settle();
    }

    void settle() {
        io_.restart();
        io_.poll();
    }

private:
    asio::io_context io_;
    virtual_clock time_;

public:
    api_server server;

private:
    std::unique_ptr<transport> transport_;
};

using signalbox::test::contains;

}  // namespace

TEST_CASE("a fault answers, drops before or drops after the request is carried out") {
    world w;
    fault next;
    w.server.set_fault_hook([&next](std::string_view, std::string_view) { return next; });

    next.status = 429;
    next.reason = "TooManyRequests";
    next.message = "later";
    const seen refused = w.send("POST", config_maps, named("a"));
    CHECK(refused.status == 429);
    CHECK(contains(refused.body, "\"retryAfterSeconds\":1"));

    next = {};
    next.drop = true;
    CHECK(w.send("POST", config_maps, named("a")).error == errc::connection_lost);
    next = {};
    CHECK(w.send("GET", config_maps + "/a").status == 404);

    next.apply_then_drop = true;
    CHECK(w.send("POST", config_maps, named("a")).error == errc::connection_lost);
    next = {};
    CHECK(w.send("GET", config_maps + "/a").status == 200);
    CHECK(w.server.count_requests("POST", "/configmaps") == 3);
    CHECK(w.server.count_requests("", config_maps) == 5);
}

TEST_CASE("a watch that resumes from before the kept history gets 410") {
    server_options options;
    options.watch_history = 2;
    world w(options);
    for (const char* name : {"a", "b", "c", "d"}) {
        REQUIRE(w.send("POST", config_maps, named(name)).status == 201);
    }
    // Versions 1-4 are the namespaces; a..d are 5-8, of which 7 and 8 are kept.
    const auto late = w.watch(config_maps + "?watch=1&resourceVersion=5");
    REQUIRE(late != nullptr);
    const auto error = w.read_now(*late);
    REQUIRE(error);
    CHECK(contains(error->body, "\"type\":\"ERROR\""));
    CHECK(contains(error->body, "\"code\":410"));
    const auto end = w.read_now(*late);
    REQUIRE(end);
    CHECK((!end->error && end->body.empty()));

    const auto in_time = w.watch(config_maps + "?watch=1&resourceVersion=6");
    REQUIRE(in_time != nullptr);
    const auto events = w.read_now(*in_time);
    REQUIRE(events);
    CHECK(contains(events->body, "\"name\":\"c\""));
    CHECK(contains(events->body, "\"name\":\"d\""));
    CHECK_FALSE(contains(events->body, "\"name\":\"b\""));
}

TEST_CASE("a slow watch that falls behind the history gets 410, not a gap") {
    server_options options;
    options.watch_history = 2;
    world w(options);
    const auto stream = w.watch(config_maps + "?watch=1");
    REQUIRE(stream != nullptr);
    for (const char* name : {"a", "b", "c"}) {
        REQUIRE(w.send("POST", config_maps, named(name)).status == 201);
    }
    const auto error = w.read_now(*stream);
    REQUIRE(error);
    CHECK(contains(error->body, "\"code\":410"));
}

namespace {

/// The text member `name` of an answer; empty if it is not there.
std::string member(const std::string& body, const std::string& name) {
    const std::size_t at = body.find('"' + name + "\":\"");
    const std::size_t begin = at + name.size() + 4;
    return at == std::string::npos ? "" : body.substr(begin, body.find('"', begin) - begin);
}

std::string token_of(const std::string& body) {
    return member(body, "continue");
}

}  // namespace

TEST_CASE("a list in pages is of the first page's version, and tells what is left") {
    world w;
    const std::string all = "/api/v1/configmaps";
    const std::string others = "/api/v1/namespaces/kube-system/configmaps";
    for (const char* name : {"b", "d", "f", "h", "j"}) {
        REQUIRE(w.send("POST", config_maps, named(name)).status == 201);
    }
    REQUIRE(w.send("POST", others, named("b")).status == 201);
    const bool selects = GENERATE(false, true);
    const bool everywhere = GENERATE(false, true);
    const std::string list = (everywhere ? all : config_maps) + "?limit=2" +
                             (selects ? "&fieldSelector=metadata.name!=none" : "");
    std::string body = w.send("GET", list).body;
    const std::string version = member(body, "resourceVersion");
    const std::vector<std::string> pages{"bd", "fh", everywhere ? "jb" : "j"};
    std::size_t left = everywhere ? 6 : 5;
    for (std::size_t page = 0; page < pages.size(); ++page) {
        for (const char name : std::string("abcdefghijk")) {
            const bool shown = pages[page].find(name) != std::string::npos;
            CHECK(contains(body, "\"name\":\"" + std::string(1, name) + "\"") == shown);
        }
        CHECK(member(body, "resourceVersion") == version);
        CHECK_FALSE(contains(body, "changed"));
        left -= pages[page].size();
        const std::string told = "\"remainingItemCount\":" + std::to_string(left);
        CHECK(contains(body, "remainingItemCount") == (left > 0 && !selects));
        CHECK((left == 0 || selects || contains(body, told)));
        CHECK(token_of(body).empty() == (left == 0));
        if (left == 0) {
            return;
        }
        // Made, deleted and changed meanwhile, some of it twice.
        const std::string now = std::to_string(page);
        const std::string patch = R"({"data":{"changed":")" + now + R"("}})";
        const std::string merge = "application/merge-patch+json";
        REQUIRE(w.send("POST", config_maps, named(page == 0 ? "g" : "k")).status == 201);
        REQUIRE(w.send("POST", config_maps, named("a")).status == (page == 0 ? 201 : 409));
        REQUIRE(w.send("DELETE", config_maps + "/h").status == (page == 0 ? 200 : 404));
        for (const std::string& each : {config_maps + "/f", config_maps + "/j", others + "/b"}) {
            REQUIRE(w.send("PATCH", each, patch, merge).status == 200);
        }
        body = w.send("GET", list + "&continue=" + token_of(body)).body;
    }
}

TEST_CASE("a forged continue token does no harm") {
    world w;
    for (const char* name : {"b", "d", "f", "h"}) {
        REQUIRE(w.send("POST", config_maps, named(name)).status == 201);
    }
    const std::string list = config_maps + "?limit=2&continue=";
    const std::string behind_b = "-64656661756c742f62";
    for (const char* start : {"v0", "v0-x", "v0--1", "v-1", "vx-1", "0-1", "v0-1-6"}) {
        CAPTURE(start);
        CHECK(w.send("GET", list + start + behind_b).status == 400);
    }
    // Fewer left than a page has.
    CHECK(contains(w.send("GET", list + "v0-1" + behind_b).body, "\"remainingItemCount\":1}"));
}

TEST_CASE("compaction expires continue tokens and offers an inconsistent rest") {
    world w;
    for (const char* name : {"a", "b", "c"}) {
        REQUIRE(w.send("POST", config_maps, named(name)).status == 201);
    }
    const std::string token = token_of(w.send("GET", config_maps + "?limit=1").body);
    REQUIRE(w.send("DELETE", config_maps + "/b").status == 200);
    w.server.compact();
    const seen gone = w.send("GET", config_maps + "?limit=1&continue=" + token);
    CHECK(gone.status == 410);
    CHECK(contains(gone.body, "\"reason\":\"Expired\""));
    const seen rest = w.send("GET", config_maps + "?continue=" + token_of(gone.body));
    CHECK(rest.status == 200);
    CHECK(contains(rest.body, "\"name\":\"c\""));
    CHECK_FALSE(contains(rest.body, "\"name\":\"b\""));
}

TEST_CASE("bookmarks come at their interval, only where asked, with the version of the whole server"
) {
    world w;
    const auto with = w.watch(config_maps + "?watch=1&allowWatchBookmarks=true");
    const auto without = w.watch(config_maps + "?watch=1");
    REQUIRE((with && without));
    REQUIRE(w.send("POST", "/api/v1/namespaces/default/secrets", named("s")).status == 201);
    std::optional<seen> marked;
    std::optional<seen> plain;
    w.start_read(*with, marked);
    w.start_read(*without, plain);
    w.pass(seconds{59});
    CHECK_FALSE(marked);
    w.pass(seconds{1});
    REQUIRE(marked);
    CHECK(contains(marked->body, "\"type\":\"BOOKMARK\""));
    CHECK(contains(marked->body, "\"resourceVersion\":\"5\""));
    CHECK_FALSE(plain);
    without->close();
    w.settle();
    REQUIRE(plain);
    CHECK(plain->error == errc::cancelled);
}

TEST_CASE("a watch that ends at its time sends a last bookmark only where asked") {
    world w;
    const auto with = w.watch(config_maps + "?watch=1&timeoutSeconds=5&allowWatchBookmarks=true");
    const auto without = w.watch(config_maps + "?watch=1&timeoutSeconds=5");
    REQUIRE((with && without));
    std::optional<seen> marked;
    std::optional<seen> plain;
    w.start_read(*with, marked);
    w.start_read(*without, plain);
    w.pass(seconds{4});
    CHECK((!marked && !plain));
    w.pass(seconds{1});
    REQUIRE((marked && plain));
    CHECK(contains(marked->body, "\"type\":\"BOOKMARK\""));
    CHECK((!plain->error && plain->body.empty()));
    const auto end = w.read_now(*with);
    REQUIRE(end);
    CHECK((!end->error && end->body.empty()));
}

TEST_CASE("a stream fails with timeout when nothing arrives for the idle time") {
    world w;
    const auto stream = w.watch(config_maps + "?watch=1", seconds{10});
    REQUIRE(stream != nullptr);
    std::optional<seen> out;
    w.start_read(*stream, out);
    w.pass(seconds{9});
    CHECK_FALSE(out);
    REQUIRE(w.send("POST", config_maps, named("a")).status == 201);
    REQUIRE(out);
    CHECK(contains(out->body, "ADDED"));
    out.reset();
    w.start_read(*stream, out);
    w.pass(seconds{9});
    CHECK_FALSE(out);
    w.pass(seconds{1});
    REQUIRE(out);
    CHECK(out->error == errc::timeout);
}

TEST_CASE("breaking watches ends them cleanly and keeps the state") {
    world w;
    const auto stream = w.watch(config_maps + "?watch=1");
    REQUIRE(stream != nullptr);
    std::optional<seen> out;
    w.start_read(*stream, out);
    w.server.break_watches();
    w.settle();
    REQUIRE(out);
    CHECK((!out->error && out->body.empty()));
    REQUIRE(w.send("POST", config_maps, named("a")).status == 201);
    CHECK(w.send("GET", config_maps + "/a").status == 200);
}

TEST_CASE("a server shares the definitions of another, and then has its own") {
    world w;
    REQUIRE(w.server.add_custom_resource(widget_crd()).has_value());
    server_options other;
    other.uid_seed = 2;
    world shares(other);
    shares.server.share_custom_resources(w.server);
    CHECK(shares.send("POST", widgets, widget("a")).status == 201);
    CHECK(shares.send("POST", widgets, widget("b", "Sideways")).status == 422);
    CHECK(w.send("GET", widgets + "/a", "").status == 404);
    const std::string path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    CHECK(shares.send("DELETE", path + "/widgets.test.signalbox.dev", "").status == 200);
    CHECK(shares.send("GET", widgets, "").status == 404);
    CHECK(w.send("GET", widgets, "").status == 200);
}

TEST_CASE("a definition that cannot be served is refused as a value") {
    world w;
    const auto bad = w.server.add_custom_resource(R"({"metadata":{"name":"x"},"spec":{}})");
    REQUIRE(bad.has_error());
    CHECK(bad.error().http_status == 422);
    CHECK(w.server.add_custom_resource("no json").has_error());
}

TEST_CASE("two servers with the same seed and requests give the same bytes") {
    const auto run = [](std::uint64_t seed) {
        server_options options;
        options.uid_seed = seed;
        world w(options);
        w.send("POST", config_maps, named("a"));
        w.send("POST", config_maps, R"({"metadata":{"generateName":"g-"}})");
        return w.send("GET", config_maps).body;
    };
    CHECK(run(1) == run(1));
    CHECK(run(1) != run(2));
}

TEST_CASE("garbage collection waits for its delay") {
    server_options options;
    options.gc_delay = seconds{5};
    world w(options);
    REQUIRE(
        w.send(
             "POST",
             config_maps,
             R"({"metadata":{"name":"a","ownerReferences":[{"apiVersion":"v1","kind":"Pod",)"
             R"("name":"gone","uid":"00000000-0000-4000-8000-000000000009"}]}})"
        )
            .status == 201
    );
    w.pass(seconds{4});
    CHECK(w.send("GET", config_maps + "/a").status == 200);
    w.pass(seconds{1});
    CHECK(w.send("GET", config_maps + "/a").status == 404);
}

TEST_CASE("hostile bodies are refused, not crashed on") {
    world w;
    const std::string json_patch = "application/json-patch+json";
    const std::string strategic = "application/strategic-merge-patch+json";
    REQUIRE(w.server.add_custom_resource(widget_crd()).has_value());
    REQUIRE(w.send("POST", config_maps, named("a")).status == 201);
    const std::string deep = std::string(100000, '[') + std::string(100000, ']');
    CHECK(w.send("POST", config_maps, deep).status == 400);
    CHECK(w.send("POST", config_maps, "").status == 400);
    CHECK(w.send("POST", config_maps, "{\"metadata\":[]}").status == 400);
    CHECK(w.send("POST", config_maps, "{\"metadata\":{\"name\":7}}").status == 400);
    for (const char* patch :
         {"7",
          "[7]",
          "[{\"op\":\"add\",\"path\":\"/metadata/name/x\",\"value\":1}]",
          "[{\"op\":\"move\",\"from\":\"\",\"path\":\"/a\"}]",
          "[{\"op\":\"remove\",\"path\":\"\"}]",
          "[{\"op\":\"replace\",\"path\":\"\",\"value\":7}]",
          "[{\"op\":\"replace\",\"path\":\"/metadata\",\"value\":7}]"}) {
        INFO(patch);
        CHECK(w.send("PATCH", config_maps + "/a", patch, json_patch).status >= 400);
    }
    for (const char* patch :
         {"7",
          "{\"metadata\":7}",
          "{\"$deleteFromPrimitiveList/finalizers\":7}",
          "{\"metadata\":{\"finalizers\":{\"$patch\":\"delete\"}}}",
          "{\"$retainKeys\":7}",
          "{\"metadata\":{\"ownerReferences\":[7]}}"}) {
        INFO(patch);
        CHECK(w.send("PATCH", config_maps + "/a", patch, strategic).status != 0);
    }
    for (const char* spec :
         {"7",
          "[]",
          "{\"mode\":[]}",
          "{\"mode\":\"Fast\",\"parts\":[7]}",
          "{\"mode\":\"Fast\",\"parts\":{}}",
          "null"}) {
        INFO(spec);
        const std::string body =
            R"({"apiVersion":"test.signalbox.dev/v1beta1","kind":"Widget","metadata":{"name":"w"},"spec":)" +
            std::string(spec) + "}";
        CHECK(w.send("POST", widgets, body).status == 422);
    }
    for (const char* pod :
         {R"({"metadata":{"name":"p"},"spec":7})",
          R"({"metadata":{"name":"p"},"spec":{"containers":[7]}})",
          R"({"metadata":{"name":"p"},"spec":{"containers":7}})",
          R"({"metadata":{"name":"p","labels":7},"spec":{"containers":[{"name":"a","image":"b"}]}})",
          R"({"metadata":{"name":"p","labels":{"a":7}},"spec":{"containers":[{"name":"a","image":"b"}]}})",
          R"({"metadata":{"name":"p","ownerReferences":[7]},"spec":{"containers":[{"name":"a","image":"b"}]}})",
          R"({"metadata":{"name":"p","finalizers":[7]},"spec":{"containers":[{"name":"a","image":"b"}]}})"}) {
        INFO(pod);
        CHECK(w.send("POST", "/api/v1/namespaces/default/pods", pod).status >= 200);
    }
    for (const char* target :
         {"/",
          "//",
          "/api",
          "/apis//",
          "/api/v1/namespaces/default/pods/a/b/c/d",
          "/api/v1/namespaces/%zz",
          "/api/v1/pods?limit=-1&continue=v-",
          "/api/v1/pods?labelSelector=a%20in%20%28",
          "/openapi/v3/none",
          "/api/v1/namespaces/default"}) {
        INFO(target);
        CHECK(w.send("GET", target).status >= 200);
    }
    CHECK(w.send("GET", config_maps + "/a").status == 200);
}

TEST_CASE("thousands of pods: the server keeps texts, and a page costs a page") {
    constexpr int count = sanitized ? 2000 : 10000;
    world w;
    const std::string pods = "/api/v1/namespaces/default/pods";
    const std::string spec =
        R"(,"labels":{"app":"x"}},"spec":{"containers":[{"name":"m","image":"i"}]}})";
    for (int i = 0; i < count; ++i) {
        const std::string body = R"({"metadata":{"name":"p-)" + std::to_string(i) + "\"" + spec;
        REQUIRE(w.send("POST", pods, body).status == 201);
    }
    const std::string left = "\"remainingItemCount\":" + std::to_string(count - 500);
    CHECK(contains(w.send("GET", pods + "?limit=500").body, left));
    CHECK(w.send("DELETE", pods).status == 200);
    CHECK(contains(w.send("GET", pods).body, "\"items\":[]"));
}

}  // namespace signalbox::k8sio::server
