// SPDX-License-Identifier: Apache-2.0
//
// The shell of a write: its requests on paper, who is told what and when, and the real rules of a
// server: names that are taken, finalizers, namespaces that end.
#include "client/scripted_transport.hpp"
#include "k8sio/object.hpp"
#include "k8sio/object_writer.hpp"
#include "k8sio/server/api_server.hpp"
#include "runtime/virtual_loop.hpp"

#include <catch2/catch.hpp>

#include <deque>
#include <optional>
#include <string>
#include <vector>

using namespace signalbox::k8sio;
using namespace std::chrono_literals;
using test::answer;

namespace {

using strings = std::vector<std::string>;

const resource_type& config_maps = resources::config_maps();

std::string config_map(const std::string& team, const std::string& more = {}) {
    return R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c")" + more +
           R"(},"data":{"team":")" + team + R"("}})";
}

/// Those of team `a` are ours, and have a label.
class team_claims final : public object_claims {
public:
    bool is_ours(std::string_view live) const override { return has(live, R"("team":"a)"); }
    bool is_wanted(std::string_view live) const override { return has(live, R"("team":"a")"); }
    std::string repair_of(std::string_view live, standing) const override {
        return !repairs || has(live, R"("l":"1")") ? "" : R"({"metadata":{"labels":{"l":"1"}}})";
    }
    std::string lost_of(std::string_view answer) const override {
        return has(answer, "lost") ? "something" : "";
    }
    static bool has(std::string_view text, std::string_view part) {
        return text.find(part) != text.npos;
    }
    bool repairs = false;
};

class diary final : public write_listener {
public:
    void sending(write_step step) override {
        lines.push_back("sending " + std::string(to_string(step)));
    }
    void shown(write_step step, std::string_view object_json) override {
        const auto meta = read_object_meta(object_json);
        lines.push_back(
            "shown " + std::string(to_string(step)) + (meta->deleting ? " deleting" : "")
        );
        uid = meta->uid;
    }
    void gone(std::string_view gone_uid) override {
        lines.push_back("gone " + std::string(gone_uid));
    }
    strings lines;
    std::string uid;  ///< of the last that was shown
};

struct outcome_box {
    std::optional<write_outcome> outcome;
};

/// Writes with whatever transport.
struct writing {
    writing(transport& to, test::virtual_loop& loop) : api(to, loop.time), writer(api) {}

    boost::asio::awaitable<outcome_box> go(write_order order) {
        outcome_box box;
        box.outcome = co_await writer.write(config_maps, ns, "c", std::move(order), claims, told);
        co_return box;
    }

    client api;
    object_writer writer;
    team_claims claims;
    diary told;
    std::string ns = "n";
};

struct scripted_fixture {
    scripted_fixture() : transport(loop.time), work(transport, loop) {
        transport.on_exchange = [this](const http_request& request) -> result<http_response> {
            lines.push_back(request.method + " " + request.target);
            bodies.push_back(request.body);
            auto next = std::move(answers.front());
            answers.pop_front();
            return next;
        };
    }
    write_outcome go(write_order order) {
        return *test::run(loop, work.go(std::move(order))).outcome;
    }
    static std::string object(const std::string& words = {}) {
        return R"({"kind":"ConfigMap","metadata":{"uid":"u"},"data":{"team":"a","words":")" +
               words + R"("}})";
    }
    static std::string refusal(const std::string& reason) {
        return R"({"kind":"Status","reason":")" + reason + R"("})";
    }

    test::virtual_loop loop;
    test::scripted_transport transport;
    writing work;
    std::deque<result<http_response>> answers;
    strings lines;
    strings bodies;
};

constexpr const char* all = "/api/v1/namespaces/n/configmaps";
constexpr const char* one = "/api/v1/namespaces/n/configmaps/c";

std::string line(const char* method, const char* path, const char* query = "") {
    return std::string(method) + " " + path + query;
}

}  // namespace

TEST_CASE_METHOD(scripted_fixture, "[requirement X16] the requests of each write, on paper") {
    work.claims.repairs = true;
    const char* const manager = "?fieldManager=signalbox";
    SECTION("a creation that meets what is there") {
        answers = {
            answer(409, refusal("AlreadyExists")), answer(200, object()), answer(200, object())};
        CHECK(go(create_order("{}")).verdict == write_verdict::present);
        CHECK(
            lines ==
            strings{line("POST", all, manager), line("GET", one), line("PATCH", one, manager)}
        );
        CHECK(bodies == strings{"{}", "", R"({"metadata":{"labels":{"l":"1"},"uid":"u"}})"});
        CHECK(transport.requests[2].content_type == "application/merge-patch+json");
        CHECK(
            work.told.lines ==
            strings{
                "sending create",
                "sending inspect",
                "shown inspect",
                "sending restore",
                "shown restore"}
        );
    }
    SECTION("a creation that is taken back") {
        answers = {answer(201, object("lost")), answer(200, object("lost"))};
        CHECK(go(create_order("{}")).verdict == write_verdict::unkept);
        CHECK(lines == strings{line("POST", all, manager), line("DELETE", one)});
        CHECK(bodies[1].find(R"("preconditions":{"uid":"u"})") != std::string::npos);
        CHECK(bodies[1].find(R"("propagationPolicy":"Background")") != std::string::npos);
        CHECK(work.told.lines == strings{"sending create", "sending take back"});
    }
    SECTION("a deletion") {
        answers = {answer(409, refusal("Conflict")), answer(404, refusal("NotFound"))};
        CHECK(go(delete_order("u", "Foreground")).verdict == write_verdict::done);
        CHECK(lines == strings{line("DELETE", one), line("GET", one)});
        CHECK(bodies[0].find(R"("preconditions":{"uid":"u"})") != std::string::npos);
        CHECK(bodies[0].find(R"("propagationPolicy":"Foreground")") != std::string::npos);
        CHECK(work.told.lines == strings{"sending remove", "sending inspect", "gone u"});
    }
    SECTION("a patch") {
        answers = {answer(200, object())};
        CHECK(go(patch_order("u", R"({"a":1})")).verdict == write_verdict::done);
        CHECK(lines == strings{line("PATCH", one, manager)});
        CHECK(bodies == strings{R"({"a":1,"metadata":{"uid":"u"}})"});
        CHECK(work.told.lines == strings{"sending patch", "shown patch"});
    }
    SECTION("a patch that is none") {
        CHECK(go(patch_order("u", "[]")).failure->why == write_failure::malformed);
        CHECK(work.told.lines.empty());
    }
    SECTION("a confirmation") {
        answers = {answer(404, refusal("NotFound"))};
        CHECK(go(confirm_order()).verdict == write_verdict::done);
        CHECK(lines == strings{line("GET", one)});
        CHECK(work.told.lines == strings{"sending confirm"});
    }
}

TEST_CASE_METHOD(scripted_fixture, "[requirement X16] a name that cannot be one is told of") {
    work.ns = "";
    const write_outcome outcome = go(create_order("{}"));
    REQUIRE(outcome.failure);
    CHECK(outcome.failure->why == write_failure::unavailable);
    CHECK(outcome.failure->error.code == errc::invalid_argument);
    CHECK(lines.empty());
}

TEST_CASE_METHOD(
    scripted_fixture, "[requirement X17] a cancelled write sends nothing more, and says so"
) {
    transport.latency = 1s;
    answers = {answer(409, refusal("AlreadyExists")), answer(200, object())};
    SECTION("while a request is under way") {
        const auto waited = GENERATE(500ms, 1500ms);
        test::task<outcome_box> running(loop, work.go(create_order("{}")));
        loop.run_for(waited);
        REQUIRE_FALSE(running.done);
        running.cancel();
        loop.settle();
        REQUIRE(running.done);
        CHECK_FALSE(running.failure);
        const auto& failure = running.result.outcome->failure;
        REQUIRE(failure);
        CHECK(failure->why == write_failure::cancelled);
        CHECK(failure->step == (waited == 500ms ? write_step::create : write_step::inspect));
        CHECK(transport.requests.size() == (waited == 500ms ? 1U : 2U));
    }
    SECTION("between two") {
        test::task<outcome_box>* whole = nullptr;
        transport.on_exchange = [&](const http_request&) -> result<http_response> {
            whole->cancel();
            return answer(409, refusal("AlreadyExists"));
        };
        test::task<outcome_box> running(loop, work.go(create_order("{}")));
        whole = &running;
        loop.run_for(5s);
        REQUIRE(running.done);
        CHECK_FALSE(running.failure);
        CHECK(running.result.outcome->failure->why == write_failure::cancelled);
        CHECK(transport.requests.size() == 1);
        CHECK(work.told.lines == strings{"sending create"});
    }
}

namespace {

struct server_fixture {
    server_fixture() { work.ns = "default"; }
    ~server_fixture() { server.stop(); }

    write_outcome go(write_order order) {
        return *test::run(loop, work.go(std::move(order))).outcome;
    }
    std::string made(const std::string& body) {
        return read_object_meta(*test::run(loop, work.api.create(config_maps, work.ns, body)))->uid;
    }

    test::virtual_loop loop;
    server::api_server server{loop.loop.get_executor(), loop.time};
    std::unique_ptr<transport> connection = server.connect();
    writing work{*connection, loop};
};

constexpr const char* held = R"(,"finalizers":["a.b/c"])";

}  // namespace

TEST_CASE_METHOD(server_fixture, "[requirement X1] created once, then found") {
    CHECK(go(create_order(config_map("a"))).verdict == write_verdict::done);
    CHECK(go(create_order(config_map("a"))).verdict == write_verdict::present);
    work.claims.repairs = true;
    CHECK(go(create_order(config_map("a"))).verdict == write_verdict::present);
    work.told.lines.clear();
    CHECK(go(create_order(config_map("a"))).verdict == write_verdict::present);
    CHECK(work.told.lines == strings{"sending create", "sending inspect", "shown inspect"});
}

TEST_CASE_METHOD(server_fixture, "[requirement X1] what has the name stays as it is") {
    const std::string team = GENERATE("a-older", "b");
    made(config_map(team));
    const write_outcome outcome = go(create_order(config_map("a")));
    CHECK(outcome.verdict == (team == "b" ? write_verdict::foreign : write_verdict::outdated));
    const auto live = test::run(loop, work.api.get(config_maps, work.ns, "c"));
    CHECK(live->find(team) != std::string::npos);
}

TEST_CASE_METHOD(
    server_fixture, "[requirement X8] a finalizer is in the way of a deletion and a creation"
) {
    const std::string uid = made(config_map("a", held));
    CHECK(go(delete_order(uid)).verdict == write_verdict::done);
    CHECK(work.told.lines == strings{"sending remove", "shown remove deleting"});
    CHECK(go(create_order(config_map("a"))).verdict == write_verdict::outdated);
    CHECK(go(delete_order(uid)).verdict == write_verdict::done);
    CHECK(
        go(patch_order(uid, R"({"metadata":{"finalizers":null}})")).verdict == write_verdict::done
    );
    CHECK(go(patch_order(uid, R"({"data":{}})")).verdict == write_verdict::outdated);
    CHECK(go(create_order(config_map("a"))).verdict == write_verdict::done);
    work.told.lines.clear();
    // The new one has another UID: it is not the one to be deleted or patched.
    CHECK(go(delete_order(uid)).verdict == write_verdict::done);
    CHECK(go(patch_order(uid, R"({"data":{"team":"b"}})")).verdict == write_verdict::outdated);
    CHECK(go(delete_order(work.told.uid)).verdict == write_verdict::done);
    CHECK(go(confirm_order()).verdict == write_verdict::done);
}

TEST_CASE_METHOD(server_fixture, "[requirement X3] a namespace that ends takes nothing more") {
    const delete_options gone;
    const std::string body = R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"n"}})";
    REQUIRE(test::run(loop, work.api.create(resources::namespaces(), "", body)).has_value());
    work.ns = "n";
    const std::string uid = made(config_map("a", held));
    REQUIRE(test::run(loop, work.api.remove(resources::namespaces(), "", "n", gone)).has_value());
    loop.run_for(1s);
    // Held by the object in it, which may still be written.
    const auto held_up = go(create_order(config_map("a"))).failure;
    REQUIRE(held_up);
    CHECK(held_up->why == write_failure::namespace_ends);
    CHECK(held_up->error.http_status == 403);
    work.claims.repairs = true;
    CHECK(go(confirm_order()).verdict == write_verdict::outdated);
    CHECK(work.told.lines.back() == "shown restore deleting");
    const std::string let_go = R"({"metadata":{"finalizers":null}})";
    CHECK(go(patch_order(uid, let_go)).verdict == write_verdict::done);
    loop.run_for(60s);
    const auto gone_too = go(create_order(config_map("a"))).failure;
    REQUIRE(gone_too);
    CHECK(gone_too->why == write_failure::namespace_ends);
    CHECK(gone_too->error.http_status == 404);
    CHECK(go(patch_order(uid, let_go)).verdict == write_verdict::outdated);
    CHECK(go(delete_order(uid)).verdict == write_verdict::done);
    CHECK(go(confirm_order()).verdict == write_verdict::done);
}
