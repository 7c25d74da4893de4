// SPDX-License-Identifier: Apache-2.0
//
// The tables of types hold what the server serves. How it answers with them: conformance.json.
#include "server/built_in/typed_objects.hpp"

#include "server/built_in/built_in_kinds.hpp"

#include <catch2/catch.hpp>

using namespace signalbox::k8sio::server;

namespace {

std::vector<std::string> unknown_in(const kind_info& kind, const std::string& more) {
    json::arena a;
    json::value object;
    const std::string text =
        R"({"apiVersion": "v1", "kind": "x", "metadata": {"name": "a"})" + more + "}";
    REQUIRE_FALSE(json::parse(object, text, a));
    const decoded result = decode_typed(kind, object);
    CHECK(result.error.empty());
    return result.unknown;
}

}  // namespace

TEST_CASE("every built-in kind has a type") {
    for (const kind_info& kind : built_in_kinds()) {
        INFO(kind.kind);
        CHECK(unknown_in(kind, "").empty());
        CHECK(unknown_in(kind, R"(, "foo": 1)") == std::vector<std::string>{"foo"});
    }
}
