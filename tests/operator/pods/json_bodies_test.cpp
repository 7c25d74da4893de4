// SPDX-License-Identifier: Apache-2.0
//
// JSON that is put together as text: what comes from objects is escaped in it.
#include "manifests/job_patches.hpp"
#include "pods/binding.hpp"
#include "pods/deployment_record.hpp"

#include <catch2/catch.hpp>
#include <rapidjson/document.h>

#include <string>

namespace {

using namespace signalbox::op;

constexpr const char* strange = R"(a"b\)";

rapidjson::Document parsed(const std::string& text) {
    rapidjson::Document out;
    out.Parse(text.c_str());
    CAPTURE(text);
    REQUIRE_FALSE(out.HasParseError());
    return out;
}

}  // namespace

TEST_CASE("a UID with a quote and a backslash stays what it is in each body", "[pods]") {
    pods::deployment_record board;
    board.uid = strange;
    const std::string body = GENERATE_COPY(
        manifests::pause_patch(strange, true),
        manifests::scale_patch(strange, 3),
        pods::binding_json("w-0", "ml", strange, "n"),
        pods::status_patch(board, 1, 1, {})
    );
    const auto read = parsed(body);
    CHECK(read["metadata"]["uid"].GetString() == std::string(strange));
}

TEST_CASE("so do names in a Binding, and the rest is as Kubernetes has it", "[pods]") {
    const auto read = parsed(pods::binding_json(strange, strange, "u", strange));
    CHECK(read["metadata"]["name"].GetString() == std::string(strange));
    CHECK(read["metadata"]["namespace"].GetString() == std::string(strange));
    CHECK(read["target"]["name"].GetString() == std::string(strange));
    CHECK(
        pods::binding_json("w-0", "ml", "u", "n") ==
        R"({"apiVersion":"v1","kind":"Binding","metadata":{"name":"w-0","namespace":"ml","uid":"u"},)"
        R"("target":{"apiVersion":"v1","kind":"Node","name":"n"}})"
    );
}

TEST_CASE("[api 7.1] patches of people name the job by its UID", "[pods]") {
    CHECK(
        manifests::pause_patch("u", false) ==
        R"({"metadata":{"uid":"u"},"spec":{"runMode":{"pause":{"enabled":false}}}})"
    );
    CHECK(manifests::scale_patch("u", 3) == R"({"metadata":{"uid":"u"},"spec":{"replicas":3}})");
}
