// SPDX-License-Identifier: Apache-2.0
//
// Definitions of another version than the program.
#include "controller/schema_skew.hpp"

#include "controller/object_text.hpp"
#include "scenario/world.hpp"

#include <jobcore/schema.hpp>

#include <catch2/catch.hpp>
#include <rapidjson/document.h>
#include <rapidjson/pointer.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <functional>
#include <string>

namespace {

using namespace signalbox;
using namespace signalbox::test;
using texts = std::vector<std::string>;

constexpr auto kind = core::job_kind::deepspeed;

/// What a server says of the kind, whose definition somebody has changed.
std::string served(const std::function<void(rapidjson::Document&)>& change = {}) {
    rapidjson::Document crd;
    crd.Parse(core::crd_json(kind));
    rapidjson::Document schema;
    schema.CopyFrom(
        *rapidjson::Pointer("/spec/versions/0/schema/openAPIV3Schema").Get(crd),
        schema.GetAllocator()
    );
    if (change) {
        change(schema);
    }
    rapidjson::Document all;
    all.Parse(R"({"components":{"schemas":{"other":{"type":"object"},"job":{}}},"openapi":"3.0.0"})"
    );
    auto& a = all.GetAllocator();
    rapidjson::Value job(schema, a);
    rapidjson::Document names(&a);
    names.Parse(R"([{"group":"batch.tensorstack.dev","kind":"DeepSpeedJob","version":"v1beta1"}])");
    job.AddMember("x-kubernetes-group-version-kind", names, a);
    all["components"]["schemas"]["job"] = job;
    rapidjson::StringBuffer buffer;
    rapidjson::Writer<rapidjson::StringBuffer> out(buffer);
    all.Accept(out);
    return buffer.GetString();
}

void set(rapidjson::Document& schema, const char* pointer) {
    rapidjson::Pointer(pointer).Set(schema, rapidjson::Value(rapidjson::kObjectType));
}

}  // namespace

TEST_CASE("[behaviour 12.12] the program's own definitions are no other version") {
    CHECK(op::find_skew(kind, served()) == op::schema_skew());
    CHECK_FALSE(op::find_skew(core::job_kind::pytorch, served()));
    CHECK_FALSE(op::find_skew(kind, "{}"));
    CHECK_FALSE(op::find_skew(kind, "no JSON"));
}

TEST_CASE("[behaviour 12.12] members that only one side knows are found, wherever they are") {
    const auto skew = op::find_skew(
        kind, served([](rapidjson::Document& schema) {
            REQUIRE(rapidjson::Pointer("/properties/status/properties/told").Erase(schema));
            REQUIRE(
                rapidjson::Pointer("/properties/spec/properties/runPolicy/properties/restartScope")
                    .Erase(schema)
            );
            set(schema, "/properties/spec/properties/futureField");
            set(schema, "/properties/status/properties/future");
            set(schema, "/properties/status/properties/restarts/properties/future");
            set(schema, "/properties/status/properties/conditions/items/properties/future");
            set(schema, "/properties/later");  // beside spec and status: not ours to look at
        })
    );
    REQUIRE(skew);
    CHECK(skew->dropped == texts{"spec.runPolicy.restartScope", "status.told"});
    const texts unknown{
        "spec.futureField", "status.conditions.future", "status.future", "status.restarts.future"};
    texts found = skew->unknown;
    std::sort(found.begin(), found.end());
    CHECK(found == unknown);
    texts kept = skew->kept;
    std::sort(kept.begin(), kept.end());
    CHECK(kept == texts{"/future", "/restarts/future"});
}

TEST_CASE("[behaviour 12.12] what is kept of a status comes back into the next one") {
    const std::string object =
        R"({"status":{"phase":"Running","future":{"a":[1,2]},"restarts":{"future":"x","streak":1}}})";
    const texts pointers{"/future", "/restarts/future", "/restarts/other"};
    const std::string kept = op::kept_members(object, pointers);
    CHECK(kept == R"({"/future":{"a":[1,2]},"/restarts/future":"x"})");
    CHECK(op::kept_members(object, texts{"/other"}).empty());
    CHECK(op::kept_members(object, {}).empty());
    core::job_object job;
    job.meta.kind = kind;
    rapidjson::Document body;
    body.Parse(op::status_body(job, core::job_status(), kept).c_str());
    CHECK(rapidjson::Pointer("/status/future/a/1").Get(body)->GetInt() == 2);
    CHECK(rapidjson::Pointer("/status/restarts/future").Get(body)->GetString() == std::string("x"));
    CHECK(op::status_body(job, core::job_status()).find("future") == std::string::npos);
}
