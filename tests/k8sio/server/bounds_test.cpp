// SPDX-License-Identifier: Apache-2.0
//
// What one request may take of the embedded server, in cases too large for the table of
// conformance_bounds.json.
#include "server/pod_world.hpp"
#include "server/values/repeated.hpp"
#include "signalbox_test/text.hpp"

#include <catch2/catch.hpp>

#include <string>
#include <vector>

namespace signalbox::k8sio::server::test {
namespace {

using signalbox::test::contains;

const std::string config_maps = "/api/v1/namespaces/default/configmaps";
const std::string config_map = config_maps + "/c";
const std::string json_patch = "application/json-patch+json";

std::string config(const std::string& value) {
    return R"({"metadata":{"name":"c"},"data":{"k":")" + value + R"("}})";
}

/// `head`, `repeated` so often, `tail`, as a JSON patch.
std::string operations(
    const std::string& head, const std::string& repeated, int times, const std::string& tail
) {
    std::string out = "[" + head;
    for (int i = 0; i < times; ++i) {
        out += (out.size() == 1 ? "" : ",") + repeated;
    }
    return out + (tail.empty() ? "" : "," + tail) + "]";
}

std::string add(const std::string& path, const std::string& value) {
    return R"({"op":"add","path":")" + path + R"(","value":)" + value + "}";
}
std::string from_to(const std::string& op, const std::string& from, const std::string& path) {
    return R"({"op":")" + op + R"(","from":")" + from + R"(","path":")" + path + R"("})";
}
std::string remove(const std::string& path) {
    return R"({"op":"remove","path":")" + path + R"("})";
}

}  // namespace

TEST_CASE("[requirement H7] a JSON patch has ten thousand operations at most") {
    pod_world w;
    REQUIRE(w.send("POST", config_maps, config("v")).status == 201);
    const std::string nothing = R"({"op":"test","path":"/data/x","value":null})";
    CHECK(
        w.send("PATCH", config_map, operations("", nothing, 10'000, ""), json_patch).status == 200
    );
    const http_response refused =
        w.send("PATCH", config_map, operations("", nothing, 10'001, ""), json_patch);
    CHECK(refused.status == 413);
    CHECK(contains(
        refused.body,
        "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got "
        "10001"
    ));
}

TEST_CASE("[requirement H7] what a JSON patch copies is counted, though it is removed again") {
    pod_world w;
    REQUIRE(w.send("POST", config_maps, config(std::string(1'000'000, 'x'))).status == 201);
    const std::string once = from_to("copy", "/data/k", "/data/l") + "," + remove("/data/l");
    CHECK(w.send("PATCH", config_map, operations("", once, 3, ""), json_patch).status == 200);
    CHECK(w.send("PATCH", config_map, operations("", once, 4, ""), json_patch).status == 422);
}

TEST_CASE("[requirement H7] a JSON patch that passes over too much is refused") {
    pod_world w;
    REQUIRE(w.send("POST", config_maps, config("v")).status == 201);
    std::string items = "0";
    for (int i = 0; i < 200'000; ++i) {
        items += ",0";
    }
    const std::string list = add("/l", "[" + items + "]");
    const auto patched = [&](const std::string& each, int times) {
        const std::string text = operations(list, each, times, remove("/l"));
        return w.send("PATCH", config_map, text, json_patch).status;
    };
    CHECK(patched(add("/l/0", "1"), 10) == 200);
    CHECK(patched(add("/l/0", "1"), 9'000) == 422);
    CHECK(patched(remove("/l/0"), 9'000) == 422);
    CHECK(patched(add("/l/-", "1"), 9'000) == 200);
    // One that fails of that is no test for what is absent.
    CHECK(
        patched(remove("/l/0") + R"(,{"op":"test","path":"/nosuch","value":null})", 4'500) == 422
    );
}

TEST_CASE("[requirement H7] a JSON patch makes no object deeper than a body may be") {
    pod_world w;
    REQUIRE(w.send("POST", config_maps, config("v")).status == 201);
    const auto nested = [](int levels) {
        std::string open, close;
        for (int i = 0; i < levels; ++i) {
            open += R"({"":)";
            close += '}';
        }
        return open + "0" + close;
    };
    const auto patched = [&](const std::string& operations) {
        return w.send("PATCH", config_map, "[" + operations + "]", json_patch).status;
    };
    const std::string x = add("/x", nested(200));
    const std::string way(55, '/');
    CHECK(patched(x + "," + add("/x" + way, nested(200))) == 200);
    CHECK(patched(x + "," + add("/x" + way, nested(201))) == 422);
    CHECK(
        patched(x + R"(,{"op":"replace","path":"/x)" + way + R"(","value":)" + nested(201) + "}") ==
        422
    );
    CHECK(patched(x + "," + from_to("copy", "/x", "/x" + way)) == 200);
    CHECK(patched(x + "," + from_to("copy", "/x", "/x/" + way)) == 422);
    CHECK(
        patched(x + "," + add("/y", nested(200)) + "," + from_to("move", "/y", "/x/" + way)) == 422
    );
    // A list is a level, too.
    CHECK(patched(x + "," + add("/x/" + way, "[" + nested(199) + "]")) == 422);
}

TEST_CASE("[requirement H7] an object is no larger than a real server stores it") {
    pod_world w;
    REQUIRE(w.send("POST", config_maps, config("v")).status == 201);
    const std::string half = std::string(800'000, 'x');
    CHECK(w.send("PUT", config_map, config(half)).status == 200);
    // Two that are not too large make one that is.
    const http_response refused = w.send(
        "PATCH", config_map, R"({"data":{"l":")" + half + R"("}})", "application/merge-patch+json"
    );
    CHECK(refused.status == 500);
    CHECK(contains(refused.body, "etcdserver: request is too large"));
    CHECK(
        w.send(
             "POST", config_maps, R"({"metadata":{"name":"d"},"data":{"k":")" + half + half + "\"}}"
        )
            .status == 500
    );
}

TEST_CASE("[requirement H7] history is bounded by bytes, and who falls behind is told so") {
    server_options options;
    options.watch_history_bytes = 100'000;
    pod_world w(options);
    const auto behind = w.open(config_maps + "?watch=1");
    REQUIRE(behind != nullptr);
    REQUIRE(w.send("POST", config_maps, config("v")).status == 201);
    // Of other kinds too: the memory is one.
    const std::string secrets = "/api/v1/namespaces/default/secrets";
    for (int i = 0; i < 20; ++i) {
        const std::string name = std::to_string(i);
        const std::string body = R"({"metadata":{"name":"s)" + name + R"(","annotations":{"a":")" +
                                 std::string(10'000, 'x') + R"("}}})";
        REQUIRE(w.send("POST", secrets, body).status == 201);
    }
    const auto event = k8sio::test::run(w.loop, behind->read_some());
    REQUIRE(event.has_value());
    CHECK(contains(std::string(*event), "too old resource version"));
    const auto fresh = w.open(config_maps + "?watch=1");
    REQUIRE(fresh != nullptr);
    CHECK(contains(std::string(*k8sio::test::run(w.loop, fresh->read_some())), "ADDED"));
    CHECK(w.send("GET", secrets + "?resourceVersion=10&resourceVersionMatch=Exact").status == 410);
}

TEST_CASE("[requirement H7] the patterns of a definition are not too large together") {
    pod_world w;
    const auto define = [&](int count) {
        std::string fields;
        for (int i = 0; i < count; ++i) {
            fields += (i == 0 ? "\"f" : ",\"f") + std::to_string(i) +
                      R"(":{"type":"string","pattern":"(\\pL{10}){10}"})";
        }
        return w.send(
            "POST",
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
            R"({"metadata":{"name":"things.x.dev"},"spec":{"group":"x.dev","scope":"Namespaced",)"
            R"("names":{"plural":"things","kind":"Thing"},"versions":[{"name":"v1","served":true,)"
            R"("storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{)" +
                fields + "}}}}]}}"
        );
    };
    const http_response refused = define(500);
    CHECK(refused.status == 422);
    CHECK(contains(refused.body, "the patterns of the definition are too large"));
    CHECK(define(1).status == 201);
}

TEST_CASE("[requirement H7] a schema that all versions have is looked through once") {
    pod_world w;
    const auto version = [](const char* name, const char* stored) {
        return std::string(R"({"name":")") + name + R"(","served":true,"storage":)" + stored +
               R"(,"schema":{"openAPIV3Schema":{"type":"string","pattern":"("}}})";
    };
    const auto define = [&](const std::string& versions) {
        return w.send(
            "POST",
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
            R"({"metadata":{"name":"things.x.dev"},"spec":{"group":"x.dev","scope":"Namespaced",)"
            R"("names":{"plural":"things","kind":"Thing"},"versions":[)" +
                versions + "]}}"
        );
    };
    const http_response one = define(version("v1", "true"));
    CHECK(one.status == 422);
    CHECK(define(version("v1", "true") + ',' + version("v2", "false")).body == one.body);
}

TEST_CASE("[requirement H8] all rules of an object together have a budget") {
    pod_world w;
    const std::string definition =
        R"j({"metadata":{"name":"things.x.dev"},"spec":{"group":"x.dev","scope":"Namespaced",)j"
        R"j("names":{"plural":"things","kind":"Thing"},"versions":[{"name":"v1","served":true,)j"
        R"j("storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"l":{)j"
        R"j("type":"array","maxItems":2001,"items":{"type":"object",)j"
        R"j("x-kubernetes-validations":[{"rule":"self.k.all(a, self.k.all(b, a + b >= 0))"},)j"
        R"j({"rule":"self.k.all(a, self.k.all(b, b + a >= 0))"},)j"
        R"j({"rule":"self.k.all(a, self.k.all(b, a >= 0 - b))"}],"properties":{"k":{)j"
        R"j("type":"array","maxItems":20,"items":{"type":"integer"}}}}}}}}}]}})j";
    REQUIRE(
        w.send("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
            .status == 201
    );
    const auto answer = [&](int count, const std::string& last) {
        std::string items;
        for (int i = 0; i < count; ++i) {
            items += R"({"k":[0,1,2,3,4,5,6,7,8,9,0,1,2,3,4,5,6,7,8,9]},)";
        }
        return w.send(
            "POST",
            "/apis/x.dev/v1/namespaces/default/things",
            R"({"apiVersion":"x.dev/v1","kind":"Thing","metadata":{"generateName":"a"},"l":[)" +
                items + last + "]}"
        );
    };
    CHECK(answer(1'000, R"({"k":[1]})").status == 201);
    const http_response wrong = answer(1'000, R"({"k":[-1]})");
    CHECK(contains(wrong.body, "l[1000]: Invalid value"));
    CHECK(contains(wrong.body, "failed rule"));
    const http_response spent = answer(2'000, R"({"k":[-1]})");
    CHECK(spent.status == 422);
    CHECK(contains(
        spent.body,
        "validation failed due to running out of cost budget, no further validation rules will be "
        "run"
    ));
    CHECK_FALSE(contains(spent.body, "failed rule"));
    CHECK_FALSE(contains(spent.body, "l[2000]"));
}

TEST_CASE("[requirement A10] of members with one name the last stays, and the others are told of") {
    json::arena a;
    const auto left = [&](const std::string& text, const std::vector<std::string>& told) {
        json::value v;
        REQUIRE_FALSE(json::parse(v, text, a));
        CHECK(json::drop_repeated(v) == told);
        return json::to_text(v);
    };
    CHECK(left(R"({"a":1,"b":2})", {}) == R"({"a":1,"b":2})");
    CHECK(left(R"({"a":1,"b":2,"a":3})", {"a"}) == R"({"b":2,"a":3})");
    CHECK(left(R"({"a":{"x":1,"x":1},"a":{"x":2,"x":3}})", {"a.x", "a"}) == R"({"a":{"x":3}})");
    CHECK(left(R"([{"a":[[{"b":1,"b":[]}]]}])", {"[0].a[0][0].b"}) == R"([{"a":[[{"b":[]}]]}])");
    std::string many = R"({"x":0)";
    for (int i = 0; i < 300; ++i) {
        const std::string name = ",\"k" + std::to_string(i);
        many += name + "\":1" + name + "\":2";
    }
    json::value v;
    REQUIRE_FALSE(json::parse(v, many + "}", a));
    CHECK(json::drop_repeated(v).size() == 100);
    CHECK(v.MemberCount() == 301);
    std::string between;
    for (int i = 0; i < 30; ++i) {
        between += ",\"k" + std::to_string(i) + "\":0";
    }
    CHECK(left("{\"x\":1" + between + ",\"x\":2}", {"x"}) == "{" + between.substr(1) + ",\"x\":2}");
}

}  // namespace signalbox::k8sio::server::test
