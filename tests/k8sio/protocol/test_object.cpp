// SPDX-License-Identifier: Apache-2.0
#include "k8sio/object.hpp"

#include <catch2/catch.hpp>

using namespace signalbox::k8sio;

TEST_CASE("who an object is is read without the rest of it") {
    const auto meta = read_object_meta(
        R"({"kind":"Pod","apiVersion":"v1","spec":{"metadata":{"uid":"not this"}},)"
        R"("metadata":{"labels":{"uid":"nor this"},"name":"p","namespace":"n",)"
        R"("managedFields":[{"uid":"nor this"}],"resourceVersion":"7","uid":"u"}, broken)"
    );
    REQUIRE(meta);
    CHECK(meta->uid == "u");
    CHECK(meta->name == "p");
    CHECK(meta->ns == "n");
    CHECK(meta->resource_version == "7");
    CHECK(meta->kind == "Pod");
    CHECK(meta->api_version == "v1");
    CHECK(meta->key() == object_key("n", "p"));
    CHECK_FALSE(read_object_meta(R"({"metadata":{"name":"p"}})"));
    CHECK_FALSE(read_object_meta("[]"));
    CHECK_FALSE(read_object_meta(""));
}

TEST_CASE("what an object does not say stays empty, and what is broken is no object") {
    const auto meta = read_object_meta(R"({"metadata":{"name":null,"uid":"u"}})");
    REQUIRE(meta);
    CHECK(meta->uid == "u");
    CHECK(meta->name.empty());
    CHECK(meta->kind.empty());
    CHECK(meta->key().text().empty());
    CHECK_FALSE(read_object_meta(R"({"metadata":{"uid":"u"},)"));
    CHECK_FALSE(read_object_meta(R"({"metadata":"u"})"));
}

TEST_CASE("a key is a text, and comes back from it") {
    const object_key pod("ml", "mnist-0");
    CHECK(pod.text() == "ml/mnist-0");
    CHECK(object_key::from_text("ml/mnist-0") == pod);
    const object_key node("", "node-1");
    CHECK(node.text() == "node-1");
    CHECK(object_key::from_text("node-1") == node);
    CHECK(object_key("a", "z") < object_key("b", "a"));
}
