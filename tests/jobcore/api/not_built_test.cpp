// SPDX-License-Identifier: Apache-2.0
//
// What is not built is refused with NotSupported, never ignored, besides its ordinary findings
// (api.md 6.5). The tests follow the table: a row that goes needs no change here.
#include "api/not_built.hpp"

#include "api/kinds.hpp"
#include "api/parse.hpp"

#include <catch2/catch.hpp>

#include <algorithm>

using namespace signalbox::core;

namespace {

/// A job with an unknown field and the given further fields of its specification.
std::string job(job_kind kind, const std::string& fields) {
    const std::string pod = R"({"spec":{"containers":[{"name":"worker","image":"i"}]}})";
    const std::string program =
        kind == job_kind::pytorch ? R"("replicaSpecs":[{"type":"worker","template":)" + pod + "}]"
        : kind == job_kind::deepspeed
            ? R"("config":{"run":{"exec":["a"]}},"worker":{"template":)" + pod + "}"
            : R"("worker":{"command":["a.py"],"template":)" + pod + "}";
    return R"({"apiVersion":"batch.tensorstack.dev/v1beta1","metadata":{"name":"a"},"kind":")" +
           std::string(to_string(kind)) + R"(","spec":{"odd":1,)" + fields + program + "}}";
}

std::vector<std::string> not_supported(const parsed_job& parsed) {
    std::vector<std::string> pointers;
    for (const diagnostic& d : parsed.findings) {
        if (d.reason == "NotSupported") {
            CHECK(d.level == severity::error);
            pointers.push_back(d.pointer);
        }
    }
    return pointers;
}

bool is_unbuilt(job_kind kind) {
    const auto kinds = schema::unbuilt_kinds();
    return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}

}  // namespace

TEST_CASE("[api 6.5] a kind that is not built has its ordinary findings and one more", "[api]") {
    for (const schema::kind_schema& kind : schema::all_kinds()) {
        const auto parsed = parse_job(job(kind.kind, ""));
        INFO(kind.name);
        CHECK(parsed.meta.kind == kind.kind);
        CHECK(parsed.spec.has_value() == !is_unbuilt(kind.kind));
        CHECK(
            not_supported(parsed) ==
            (is_unbuilt(kind.kind) ? std::vector<std::string>{"/kind"} : std::vector<std::string>{})
        );
        CHECK(std::count_if(parsed.findings.begin(), parsed.findings.end(), [](const auto& d) {
                  return d.reason == "UnknownField";
              }) == 1);
    }
}

TEST_CASE("[api 6.5] supported_kinds are those that are built", "[api]") {
    const auto supported = supported_kinds();
    for (const schema::kind_schema& kind : schema::all_kinds()) {
        const bool listed =
            std::find(supported.begin(), supported.end(), kind.kind) != supported.end();
        CHECK(listed != is_unbuilt(kind.kind));
    }
}

TEST_CASE("[api 6.5] features that are not built", "[api]") {
    const std::string elastic =
        R"("torchrunConfig":{"enabled":true},"elastic":{"enable":true,"maxReplicas":2},)";
    const std::string gang = R"("scheduler":{"t9kScheduler":{}},)";
    const auto refused = [](std::string_view path, const std::string& fields) {
        const auto found = not_supported(parse_job(job(job_kind::pytorch, fields)));
        const auto rows = schema::unbuilt_features();
        const bool unbuilt = std::any_of(rows.begin(), rows.end(), [&](const auto& row) {
            return row.path == path;
        });
        return found.size() == (unbuilt ? 1U : 0U);
    };
    CHECK(refused("elastic.enabled", elastic));
    CHECK(refused("scheduler.t9kScheduler", gang));
    CHECK(refused("", R"("elastic":{"enabled":false,"maxReplicas":2},"scheduler":{},)"));
}

TEST_CASE("[api 6.5] every row of what is not built is a field of some kind", "[api]") {
    for (const schema::unbuilt_feature& row : schema::unbuilt_features()) {
        const std::string_view first = row.path.substr(0, row.path.find('.'));
        bool known = false;
        for (const schema::kind_schema& kind : schema::all_kinds()) {
            const auto& fields = kind.spec->fields;
            known = known || std::any_of(fields.begin(), fields.end(), [&](const auto& f) {
                        return f.name == first;
                    });
        }
        CHECK(known);
        CHECK_FALSE(row.message.empty());
    }
}

TEST_CASE("[api 6.5] the inner parser binds what is not built", "[api]") {
    for (const schema::kind_schema& kind : schema::all_kinds()) {
        const auto object = job(kind.kind, R"("scheduler":{"t9kScheduler":{"queue":"q"}},)");
        const auto parsed = schema::parse(object, schema::not_built::accepted);
        CHECK(not_supported(parsed).empty());
        REQUIRE(parsed.spec.has_value());
        CHECK(parsed.spec->scheduler == t9k_scheduler{.queue = "q"});
    }
}
