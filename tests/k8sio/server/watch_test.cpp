// SPDX-License-Identifier: Apache-2.0
//
// Watches of the embedded server: their bookmarks, and how they end. A body that is too large.
#include "server/pod_world.hpp"
#include "signalbox_test/source_files.hpp"
#include "signalbox_test/text.hpp"

#include <catch2/catch.hpp>

#include <chrono>
#include <string>

namespace signalbox::k8sio::server::test {
namespace {

const std::string widgets = "/apis/test.signalbox.dev/v1beta1/namespaces/default/widgets";
const std::string definition =
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.test.signalbox.dev";

std::string read(pod_world& w, response_stream& stream) {
    const auto piece = k8sio::test::run(w.loop, stream.read_some());
    return piece.has_error() ? std::string(to_string(piece.error().code)) : std::string(*piece);
}

using signalbox::test::contains;

}  // namespace

TEST_CASE("a watch of a kind that is removed sees its objects go, and ends") {
    pod_world w;
    const std::string crd = signalbox::test::source_text("tests/k8sio/server/widget_crd.json");
    REQUIRE(w.server.add_custom_resource(crd).has_value());
    const std::string widget =
        R"({"apiVersion":"test.signalbox.dev/v1beta1","kind":"Widget","metadata":{"name":"a"},"spec":{"mode":"Fast"}})";
    REQUIRE(w.send("POST", widgets, widget).status == 201);
    const auto stream = w.open(widgets + "?watch=1");
    REQUIRE(stream != nullptr);
    CHECK(contains(read(w, *stream), R"({"type":"ADDED")"));
    REQUIRE(w.send("DELETE", definition).status == 200);
    CHECK(contains(read(w, *stream), R"({"type":"DELETED")"));
    CHECK(read(w, *stream).empty());
    CHECK(w.send("GET", widgets).status == 404);
}

TEST_CASE("a broken watch sends nothing of what it still owed") {
    pod_world w;
    const auto stream = w.open(
        pods_path +
        "?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    );
    REQUIRE(stream != nullptr);
    w.server.break_watches();
    CHECK(read(w, *stream).empty());
}

TEST_CASE("a bookmark that is due waits for all events before it") {
    pod_world w;
    const std::string config_maps = "/api/v1/namespaces/default/configmaps";
    const auto stream = w.open(config_maps + "?watch=1&allowWatchBookmarks=true");
    REQUIRE(stream != nullptr);
    const std::string large(100 * 1024, 'x');
    for (int i = 0; i < 5; ++i) {
        w.send(
            "POST",
            config_maps,
            R"({"metadata":{"generateName":"a-"},"data":{"a":")" + large + "\"}}"
        );
    }
    w.loop.run_for(std::chrono::minutes{2});
    std::string all;
    for (int i = 0; i < 100 && !contains(all, R"({"type":"BOOKMARK")"); ++i) {
        all += read(w, *stream);
    }
    REQUIRE(contains(all, R"({"type":"BOOKMARK")"));
    CHECK(all.rfind(R"({"type":"ADDED")") < all.find(R"({"type":"BOOKMARK")"));
    std::size_t added = 0;
    for (std::size_t at = 0; (at = all.find(R"({"type":"ADDED")", at)) != all.npos; ++at) {
        ++added;
    }
    CHECK(added == 5);
}

TEST_CASE("a Secret of more than 1 MiB is refused") {
    pod_world w;
    const auto sent = [&w](std::size_t bytes) {
        const std::string text(bytes / 3 * 4, 'A');
        return w.send(
            "POST",
            "/api/v1/namespaces/default/secrets",
            R"({"metadata":{"generateName":"s-"},"data":{"k":")" + text + "\"}}"
        );
    };
    CHECK(sent(1024 * 1024 - 3).status == 201);
    const http_response refused = sent(1024 * 1024 + 3);
    CHECK(refused.status == 422);
    CHECK(contains(refused.body, "data: Too long: may not be more than 1048576 bytes"));
}

}  // namespace signalbox::k8sio::server::test
