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

TEST_CASE("an object in deletion says so") {
    CHECK(read_object_meta(R"({"metadata":{"deletionTimestamp":"2026-01-01T00:00:00Z","uid":"u"}})")
              ->deleting);
    for (const char* none :
         {R"({"metadata":{"uid":"u"}})",
          R"({"metadata":{"uid":"u","deletionTimestamp":null}})",
          R"({"metadata":{"uid":"u","annotations":{"deletionTimestamp":"x"}}})"}) {
        CHECK_FALSE(read_object_meta(none)->deleting);
    }
}

TEST_CASE("[requirement X8] patches carry the UID as precondition") {
    CHECK(with_uid(R"({"spec":{"a":1}})", "u") == R"({"spec":{"a":1},"metadata":{"uid":"u"}})");
    CHECK(
        with_uid(R"({"metadata":{"uid":"x","resourceVersion":"3"}})", "u") ==
        R"({"metadata":{"resourceVersion":"3","uid":"u"}})"
    );
    CHECK(with_uid("{}", "u") == R"({"metadata":{"uid":"u"}})");
    CHECK(
        with_uid(R"( { "metadata" : {"uid":1} , "a\"b" : [ 1, {"uid":"y"} ] } )", "u\"v") ==
        R"({"metadata":{"uid":"u\"v"},"a\"b":[ 1, {"uid":"y"} ]})"
    );
    // The later of two is what a server reads; neither may have a UID of its own.
    CHECK(
        with_uid(R"({"metadata":{"uid":"x"},"metadata":{"uid":"y","uid":"z"}})", "u") ==
        R"({"metadata":{"uid":"u"},"metadata":{"uid":"u"}})"
    );
    for (const char* none :
         {"",
          "[1]",
          "{",
          "{} {}",
          R"({"a":})",
          R"({"metadata":1})",
          R"({"metadata":null})",
          R"({"metadata":,"a":1})",
          R"({"metadata":{"uid":})"}) {
        CHECK(with_uid(none, "u").empty());
    }
}
