// SPDX-License-Identifier: Apache-2.0
#include "client/scripted_transport.hpp"
#include "k8sio/object_verbs.hpp"
#include "k8sio/server/api_server.hpp"
#include "runtime/virtual_loop.hpp"

#include <catch2/catch.hpp>

#include <string>

using namespace signalbox::k8sio;
using test::answer;

namespace {

const resource_type& maps = resources::config_maps();

std::string map_named(const std::string& name) {
    return R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":")" + name + R"("}})";
}

/// The verbs against the embedded server.
struct server_world {
    object_meta create(const std::string& name) {
        const auto made = test::run(loop, api.create(maps, "default", map_named(name)));
        REQUIRE(made.has_value());
        return *read_object_meta(*made);
    }
    std::string text_of(const std::string& name) {
        const auto found = test::run(loop, api.get(maps, "default", name));
        return found.has_value() ? *found : "";
    }
    result<std::string> finalizer(bool add, const object_meta& of, const char* text) {
        return test::run(
            loop,
            add ? add_finalizer(api, maps, "default", of.name, of.uid, text)
                : remove_finalizer(api, maps, "default", of.name, of.uid, text)
        );
    }

    test::virtual_loop loop;
    server::api_server server{loop.loop.get_executor(), loop.time};
    std::unique_ptr<transport> connection = server.connect();
    client api{*connection, loop.time};
};

/// Every request gets the next of some answers.
struct scripted_world {
    explicit scripted_world(std::vector<result<http_response>> all) : answers(std::move(all)) {
        connection.on_exchange = [this](const http_request&) -> result<http_response> {
            return answers.at(connection.requests.size() - 1);
        };
    }
    result<apply_outcome> applied(apply_options options, std::string body = "{}") {
        return test::run(loop, apply(api, maps, "n", "a", std::move(body), std::move(options)));
    }

    test::virtual_loop loop;
    std::vector<result<http_response>> answers;
    test::scripted_transport connection{loop.time};
    client api{connection, loop.time};
};

bool holds(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

http_response map_answer(const std::string& version, const std::string& more = "") {
    return answer(
        200,
        R"({"metadata":{"name":"a","uid":"u","resourceVersion":")" + version + "\"" + more + "}}"
    );
}

http_response conflict() {
    return answer(409, R"({"kind":"Status","reason":"Conflict","message":"changed"})");
}

}  // namespace

TEST_CASE_METHOD(server_world, "[requirement X9] finalizers are added and removed beside others") {
    const object_meta a = create("a");
    REQUIRE(finalizer(true, a, "x.io/one").has_value());
    REQUIRE(finalizer(true, a, "x.io/two").has_value());
    const std::string both = text_of("a");
    CHECK(holds(both, R"("finalizers":["x.io/one","x.io/two"])"));
    const auto sent = api.requests_sent();
    REQUIRE(finalizer(true, a, "x.io/two").has_value());
    REQUIRE(finalizer(false, a, "x.io/three").has_value());
    CHECK(api.requests_sent() == sent + 2);  // it was read, and nothing was written
    CHECK(text_of("a") == both);
    const delete_options gone(a.uid);
    REQUIRE(test::run(loop, api.remove(maps, "default", "a", gone)).has_value());
    CHECK(finalizer(true, a, "x.io/three").has_error());  // as it is being deleted
    REQUIRE(finalizer(false, a, "x.io/one").has_value());
    CHECK(holds(text_of("a"), R"("finalizers":["x.io/two"])"));
    const auto last = finalizer(false, a, "x.io/two");
    REQUIRE(last.has_value());
    CHECK(text_of("a").empty());
    const auto again = finalizer(false, a, "x.io/two");
    REQUIRE(again.has_value());
    CHECK(again->empty());
    CHECK(finalizer(true, a, "x.io/two").error().http_status == 404);
    CHECK(finalizer(false, a, "").has_value());  // it is gone: nothing is looked at
    create("a");                                 // another one of that name
    CHECK(finalizer(true, a, "x.io/two").error().reason == "NotFound");
    REQUIRE(finalizer(false, a, "x.io/two").has_value());
    CHECK_FALSE(holds(text_of("a"), "finalizers"));
    const object_meta b = create("b");
    CHECK(finalizer(true, b, "").error().code == errc::invalid_argument);
}

TEST_CASE_METHOD(
    server_world, "[requirement X8] a patch of the status changes that alone, of one version"
) {
    const resource_type& pods = resources::pods();
    const auto made = test::run(
        loop,
        api.create(
            pods,
            "default",
            std::string(
                R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"nodeName":"n",)"
                R"("containers":[{"name":"c","image":"i"}]}})"
            )
        )
    );
    REQUIRE(made.has_value());
    const object_meta first = *read_object_meta(*made);
    const auto patch = [&](const std::string& uid, const std::string& version) {
        return test::run(
            loop,
            api.merge_patch(
                pods,
                "default",
                "p",
                R"({"metadata":{"uid":")" + uid + R"(","resourceVersion":")" + version +
                    R"(","labels":{"a":"b"}},"spec":{"nodeName":"other"},"status":{"reason":"said"}})",
                "status"
            )
        );
    };
    const auto changed = patch(first.uid, first.resource_version);
    REQUIRE(changed.has_value());
    CHECK(holds(*changed, R"("reason":"said")"));
    CHECK(holds(*changed, R"("nodeName":"n")"));
    const auto late = patch(first.uid, first.resource_version);
    REQUIRE(late.has_error());
    CHECK(late.error().http_status == 409);
    const auto other = patch("another", read_object_meta(*changed)->resource_version);
    REQUIRE(other.has_error());
    CHECK((other.error().http_status == 409 || other.error().http_status == 422));
    // Of the object itself the status stays.
    const auto itself = test::run(
        loop,
        api.merge_patch(
            pods,
            "default",
            "p",
            std::string(R"({"metadata":{"labels":{"c":"d"}},"status":{"reason":"not this"}})")
        )
    );
    REQUIRE(itself.has_value());
    CHECK(holds(*itself, R"("c":"d")"));
    CHECK(holds(*itself, R"("reason":"said")"));
}

TEST_CASE_METHOD(
    server_world, "[requirement X10] an object goes with the owner that it was given"
) {
    const object_meta owner = create("owner");
    const object_meta other = create("other");
    owner_reference beside(other);
    beside.controller = false;
    const auto born = with_owner(map_named("born"), owner_reference(owner));
    REQUIRE(born.has_value());
    REQUIRE(test::run(loop, api.create(maps, "default", *born)).has_value());
    const object_meta taken = create("taken");
    const auto set = [&](const owner_reference& to) {
        return test::run(loop, set_owner(api, maps, "default", "taken", taken.uid, to));
    };
    REQUIRE(set(owner_reference(owner)).has_value());
    const std::string once = text_of("taken");
    CHECK(holds(once, R"("controller":true)"));
    CHECK(holds(once, R"("blockOwnerDeletion":true)"));
    const auto sent = api.requests_sent();
    REQUIRE(set(owner_reference(owner)).has_value());
    CHECK(api.requests_sent() == sent + 1);  // it was read, and nothing was written
    CHECK(text_of("taken") == once);
    CHECK(set(owner_reference(other)).error().code == errc::invalid_argument);
    REQUIRE(set(beside).has_value());
    CHECK(holds(text_of("taken"), other.uid));
    CHECK(holds(text_of("taken"), owner.uid));
    CHECK(set(owner_reference()).error().code == errc::invalid_argument);
    const delete_options gone(owner.uid);
    REQUIRE(test::run(loop, api.remove(maps, "default", "owner", gone)).has_value());
    loop.run_for(std::chrono::seconds{5});
    CHECK(text_of("born").empty());
    CHECK_FALSE(text_of("taken").empty());  // the other owner is still there
}

TEST_CASE("[requirement X10] an owner is written into an object that is yet to be created") {
    owner_reference owner;
    owner.api_version = "v1";
    owner.kind = "Pod";
    owner.name = "p";
    owner.uid = "u\"1";
    owner.controller = false;
    const std::string reference = R"({"apiVersion":"v1","kind":"Pod","name":"p","uid":"u\"1"})";
    CHECK(*with_owner("{}", owner) == R"({"metadata":{"ownerReferences":[)" + reference + "]}}");
    const std::string had =
        R"({"metadata":{"name":"a","ownerReferences":[{"uid":"x","controller":true}]},"data":{}})";
    CHECK(
        *with_owner(had, owner) ==
        R"({"metadata":{"name":"a","ownerReferences":[{"uid":"x","controller":true},)" + reference +
            R"(]},"data":{}})"
    );
    CHECK(*with_owner(*with_owner("{}", owner), owner) == *with_owner("{}", owner));
    owner.controller = true;
    CHECK(with_owner(had, owner).error().message.find("another controller") != std::string::npos);
    // Who was an owner becomes the controller: one reference, not two.
    CHECK(holds(*with_owner(*with_owner("{}", owner), owner), R"("controller":true)"));
    for (const char* text : {"", "[]", "{", R"({"metadata":7})"}) {
        CHECK(with_owner(text, owner).error().code == errc::invalid_argument);
    }
    for (std::string owner_reference::*member :
         {&owner_reference::api_version,
          &owner_reference::kind,
          &owner_reference::name,
          &owner_reference::uid}) {
        owner_reference part = owner;
        (part.*member).clear();
        CHECK(with_owner("{}", part).error().code == errc::invalid_argument);
    }
}

TEST_CASE("[requirement X9] [requirement X4] a conflict is looked at again, three times at most") {
    const int conflicts = GENERATE(0, 1, 2, 3);
    std::vector<result<http_response>> answers;
    for (int i = 0; i < conflicts; ++i) {
        answers.push_back(map_answer(std::to_string(i), R"(,"finalizers":["o/o"])"));
        answers.push_back(conflict());
    }
    answers.push_back(map_answer("7"));
    answers.push_back(map_answer("8"));
    scripted_world w(std::move(answers));
    const auto done = test::run(
        w.loop, add_finalizer(w.api, maps, "n", "a", std::string("u"), std::string("x/y"))
    );
    CHECK(done.has_value() == (conflicts < 3));
    if (conflicts == 3) {
        CHECK(done.error().http_status == 409);
        CHECK(w.connection.requests.size() == 6);
    } else {
        CHECK(w.connection.requests.back().method == "PATCH");
        CHECK(
            w.connection.requests.back().body ==
            R"({"metadata":{"uid":"u","resourceVersion":"7","finalizers":["x/y"]}})"
        );
    }
}

TEST_CASE("[requirement X9] an answer that is no object ends a change") {
    const std::vector<result<http_response>> bad{
        answer(403, "{}"), answer(422, "{}"), test::failure(errc::cancelled), answer(200, "{}")};
    const std::size_t which = GENERATE(0u, 1u, 2u, 3u);
    const bool at_patch = GENERATE(true, false);
    std::vector<result<http_response>> answers{bad[which]};
    if (at_patch) {
        answers.insert(answers.begin(), map_answer("7", R"(,"finalizers":["x/y"])"));
    }
    const std::size_t expected = answers.size();
    scripted_world w(std::move(answers));
    const auto done = test::run(
        w.loop, remove_finalizer(w.api, maps, "n", "a", std::string(), std::string("x/y"))
    );
    CHECK(w.connection.requests.size() == expected);
    // Whatever the server says of a change that it took counts.
    CHECK(done.has_value() == (at_patch && which == 3));
}

TEST_CASE("[requirement X6] an apply says who wants it, and whether it takes fields over") {
    scripted_world w({map_answer("1"), map_answer("2")});
    const auto first = w.applied(apply_options());
    REQUIRE(first.has_value());
    CHECK(first->applied());
    CHECK(holds(first->object, R"("uid":"u")"));
    apply_options firm("me & you");
    firm.force = true;
    firm.subresource = "status";
    REQUIRE(w.applied(firm, R"({"a":1})").has_value());
    const http_request& plain = w.connection.requests[0];
    CHECK(plain.method == "PATCH");
    CHECK(plain.content_type == "application/apply-patch+yaml");
    CHECK(plain.target == "/api/v1/namespaces/n/configmaps/a?fieldManager=signalbox");
    const http_request& forced = w.connection.requests[1];
    CHECK(
        forced.target ==
        "/api/v1/namespaces/n/configmaps/a/status?force=true&fieldManager=me%20%26%20you"
    );
    CHECK(forced.body == R"({"a":1})");
}

TEST_CASE("[requirement X6] fields that others own come back as values") {
    const std::string status =
        R"({"kind":"Status","status":"Failure","reason":"Conflict","code":409,"message":"Apply failed",)"
        R"("details":{"causes":[)"
        R"({"reason":"FieldManagerConflict","message":"conflict with \"kubectl\" using v1","field":".data.a"},)"
        R"({"reason":"FieldManagerConflict","message":"conflict with \"a \\\"b\\\"\" with subresource \"status\" using v1","field":".data.b"},)"
        R"({"reason":"FieldManagerConflict","message":"conflict","field":".data.c"}]}})";
    scripted_world w({answer(409, status), conflict(), answer(422, status), answer(403, "{}")});
    const auto refused = w.applied(apply_options("me"));
    REQUIRE(refused.has_value());
    CHECK_FALSE(refused->applied());
    CHECK(refused->object.empty());
    REQUIRE(refused->conflicts.size() == 3);
    CHECK(refused->conflicts[0].manager == "kubectl");
    CHECK(refused->conflicts[0].field == ".data.a");
    CHECK(refused->conflicts[0].message == "conflict with \"kubectl\" using v1");
    CHECK(refused->conflicts[1].manager == "a \"b\"");
    CHECK(refused->conflicts[2].manager.empty());
    CHECK(w.applied(apply_options("me")).error().http_status == 409);  // of a version, say
    CHECK(w.applied(apply_options("me")).error().http_status == 422);
    CHECK(w.applied(apply_options("me")).error().http_status == 403);
}

TEST_CASE("[requirement X6] what cannot be applied is not sent") {
    scripted_world w({});
    CHECK(w.applied(apply_options("me"), "a: 1").error().code == errc::invalid_argument);
    client_options unnamed;
    unnamed.manager.clear();
    client api(w.connection, w.loop.time, unnamed);
    const auto nameless =
        test::run(w.loop, apply(api, maps, "n", "a", std::string("{}"), apply_options()));
    CHECK(nameless.error().code == errc::invalid_argument);
    const auto nowhere =
        test::run(w.loop, apply(api, maps, "", "a", std::string("{}"), apply_options("me")));
    CHECK(nowhere.error().code == errc::invalid_argument);
    CHECK(w.connection.requests.empty());
}

TEST_CASE_METHOD(server_world, "[requirement X6] an apply creates, and may be repeated") {
    for (int i = 0; i < 2; ++i) {
        std::string wanted = map_named("new");
        const auto done =
            test::run(loop, apply(api, maps, "default", "new", wanted, apply_options("me")));
        REQUIRE(done.has_value());
        CHECK(done->applied());
    }
    CHECK(holds(text_of("new"), "\"new\""));
}
