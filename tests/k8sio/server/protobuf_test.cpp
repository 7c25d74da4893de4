// SPDX-License-Identifier: Apache-2.0
//
// Bodies in protobuf, as kubectl sends them.
#include "server/formats/protobuf_body.hpp"
#include "signalbox_test/text.hpp"

#include <catch2/catch.hpp>

#include <cstdint>
#include <string>

namespace signalbox::k8sio::server {
namespace {

/// A message of protobuf with one field of bytes.
std::string with_field(unsigned number, const std::string& bytes) {
    return std::string{static_cast<char>(number << 3U | 2U), static_cast<char>(bytes.size())} +
           bytes;
}

std::string varint(std::uint64_t number) {
    std::string out;
    for (; number > 127; number >>= 7U) {
        out += static_cast<char>((number & 127U) | 128U);
    }
    return out + static_cast<char>(number);
}

/// The object that a client sends as the message `body`.
std::string sent(const std::string& version, const std::string& kind, const std::string& body) {
    const std::string type = with_field(1, version) + with_field(2, kind);
    json::arena a;
    json::value object;
    std::string what;
    REQUIRE(
        decode_protobuf(
            std::string("k8s\0", 4) + with_field(1, type) + with_field(2, body), object, what, a
        ) == protobuf_result::ok
    );
    return json::to_text(object);
}

/// A Namespace that was made that many seconds after the epoch.
std::string sent_at(std::uint64_t seconds) {
    return sent("v1", "Namespace", with_field(1, with_field(8, "\x08" + varint(seconds))));
}

using signalbox::test::contains;

}  // namespace

TEST_CASE("[requirement A6] a time in protobuf, beyond what a clock holds too") {
    CHECK(contains(sent_at(784111777), R"("creationTimestamp":"1994-11-06T08:49:37Z")"));
    CHECK(
        contains(sent_at(std::uint64_t{1} << 62U), R"("creationTimestamp":"2262-04-11T23:47:16Z")")
    );
}

TEST_CASE("[requirement A6] fields of a budget in protobuf have the numbers of its Go type") {
    const std::string number = with_field(
        1,
        "\x08\x01\x1a\x03"
        "50%"
    );
    const std::string selector =
        with_field(2, with_field(1, with_field(1, "a") + with_field(2, "b")));
    const std::string body = with_field(2, number + selector + with_field(4, "AlwaysAllow"));
    const std::string object = sent("policy/v1", "PodDisruptionBudget", body);
    CHECK(contains(object, R"("minAvailable":"50%")"));
    CHECK(contains(object, R"("selector":{"matchLabels":{"a":"b"}})"));
    CHECK(contains(object, R"("unhealthyPodEvictionPolicy":"AlwaysAllow")"));
}

TEST_CASE("[requirement A6] maps, and fields of other kinds, in protobuf") {
    const auto entry = [](const std::string& key, const std::string& what) {
        return with_field(1, key) + with_field(2, what);
    };
    const std::string secret = sent("v1", "Secret", with_field(2, entry("k", "v")));
    CHECK(contains(secret, R"("data":{"k":"dg=="})"));
    const std::string hard = with_field(1, entry("pods", with_field(1, "50")));
    CHECK(contains(sent("v1", "ResourceQuota", with_field(2, hard)), R"("hard":{"pods":"50"})"));
    const std::string map = sent("v1", "ConfigMap", with_field(2, entry("a", "b")));
    CHECK(contains(map, R"("data":{"a":"b"})"));
    const std::string pod_spec = with_field(2, with_field(3, "Never") + with_field(6, "Default"));
    const std::string pod = sent("apps/v1", "Deployment", with_field(2, with_field(3, pod_spec)));
    CHECK(contains(pod, R"("restartPolicy":"Never")"));
    CHECK(contains(pod, R"("dnsPolicy":"Default")"));
    const std::string review = sent(
        "authorization.k8s.io/v1",
        "SubjectAccessReview",
        with_field(2, with_field(3, "me") + with_field(6, "1-2"))
    );
    CHECK(contains(review, R"("user":"me")"));
    CHECK(contains(review, R"("uid":"1-2")"));
}

}  // namespace signalbox::k8sio::server
