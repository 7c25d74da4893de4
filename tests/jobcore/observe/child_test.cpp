// SPDX-License-Identifier: Apache-2.0
#include "jobcore/observed.hpp"
#include "launch/compiled.hpp"

#include <catch2/catch.hpp>

using namespace signalbox;
using namespace signalbox::test;
using core::decode_child;
using core::object_kind;

TEST_CASE("a child is read with its identity, whatever its kind", "[observe]") {
    const auto kind = GENERATE(
        object_kind::service, object_kind::secret, object_kind::config_map, object_kind::pod_group
    );
    const auto child = decode_child(
        kind,
        R"({"metadata":{"name":"n","uid":"u","resourceVersion":"3",
            "deletionTimestamp":"2026-01-01T00:00:00Z",
            "labels":{"batch.tensorstack.dev/attempt":"4"},
            "ownerReferences":[{"uid":"x"},{"uid":"j","controller":true}]},"data":{"a":"b"}})"
    );
    REQUIRE(child.has_value());
    CHECK(child->kind == kind);
    CHECK(child->name == "n");
    CHECK(child->uid == "u");
    CHECK(child->resource_version == "3");
    CHECK(child->owner_uid == "j");
    CHECK(child->attempt == 4);
    CHECK(child->deleting);
}

TEST_CASE("a child without label or deletion", "[observe]") {
    const auto child = decode_child(
        object_kind::service, R"({"metadata":{"uid":"u","name":"n","deletionTimestamp":null}})"
    );
    REQUIRE(child.has_value());
    CHECK(child->attempt == 0);
    CHECK_FALSE(child->deleting);
    CHECK(child->owner_uid.empty());
    CHECK_FALSE(decode_child(object_kind::service, R"({"metadata":{"name":"n"}})").has_value());
    CHECK_FALSE(decode_child(object_kind::service, "[]").has_value());
}

TEST_CASE("the order of members means nothing to a fingerprint", "[observe]") {
    const auto one = decode_child(
        object_kind::service,
        R"({"metadata":{"name":"n","uid":"u"},"spec":{"clusterIP":"None",
            "selector":{"a":"1","b":"2"},"publishNotReadyAddresses":true}})"
    );
    const auto other = decode_child(
        object_kind::service,
        R"({"spec":{"publishNotReadyAddresses":true,"type":"ClusterIP","selector":{"b":"2","a":"1"},
            "clusterIP":"None","ports":null},"metadata":{"uid":"u","name":"n"}})"
    );
    CHECK(one->fingerprint == other->fingerprint);
}

TEST_CASE("fields cannot run together in a fingerprint", "[observe]") {
    const auto of = [](const std::string& selector) {
        return decode_child(
                   object_kind::service,
                   R"({"metadata":{"name":"n","uid":"u"},"spec":{"selector":)" + selector + "}}"
        )
            ->fingerprint;
    };
    CHECK(of(R"({"a":"bc"})") != of(R"({"ab":"c"})"));
    CHECK(of(R"({"a":"b","c":"d"})") != of(R"({"a":"bcd"})"));
}

TEST_CASE("wrong types in a child are skipped", "[observe]") {
    for (const std::string_view v : {"7", "true", "[]", "{}", "\"x\"", "[{\"uid\":1}]", "1e300"}) {
        std::string text;
        for (const char c : std::string_view(
                 R"({"metadata":{"name":"n","uid":"u","labels":@,"ownerReferences":@,
                     "resourceVersion":@},"spec":{"type":@,"clusterIP":@,"selector":@,"ports":@,
                     "publishNotReadyAddresses":@},"data":@})"
             )) {
            text += c == '@' ? std::string(v) : std::string(1, c);
        }
        CAPTURE(text);
        CHECK(decode_child(object_kind::service, text).has_value());
    }
}
