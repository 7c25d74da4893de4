// SPDX-License-Identifier: Apache-2.0
//
// One field at a time (mutations.hpp). Besides, this writes all that a real API server is to be
// compared with, if SIGNALBOX_CORPUS names a file: tests/envtest/test_crd_rules.py.
#include "mutations.hpp"

#include "api/kinds.hpp"
#include "jobcore/plan.hpp"
#include "jobcore/schema.hpp"
#include "json_cases.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstdlib>

using namespace signalbox;
namespace schema = core::schema;

namespace {

core::parsed_job parse(const std::string& object) {
    return core::parse_job(object);
}

/// `{"crds": [...], "mutations": [{"rule": ..., "object": {...}, "valid": true}]}`
std::string corpus() {
    std::string out = "{\"crds\":[";
    std::string_view comma = "";
    for (const auto& kind : schema::all_kinds()) {
        out += std::string(comma) + core::crd_json(kind.kind);
        comma = ",";
    }
    out += "],\"mutations\":[";
    comma = "";
    for (const test::mutation& m : test::mutations()) {
        out += std::string(comma) + "{\"rule\":\"" + m.rule + "\",\"object\":" + m.object +
               ",\"valid\":" + (core::has_errors(parse(m.object).findings) ? "false" : "true") +
               "}\n";
        comma = ",";
    }
    return out + "]}";
}

}  // namespace

TEST_CASE("[api 6.1] each field alone: types, bounds, values, old names", "[api][corpus]") {
    const auto all = test::mutations();
    CHECK(all.size() > 1000);
    for (const test::mutation& m : all) {
        const auto parsed = parse(m.object);
        const bool found = std::any_of(
            parsed.findings.begin(),
            parsed.findings.end(),
            [&](const core::diagnostic& d) {
                return d.level == core::severity::error && d.pointer.starts_with(m.pointer);
            }
        );
        INFO(core::to_string(m.kind) << " " << m.rule);
        CHECK((found || !m.broken));
        CHECK(parsed.spec.has_value() == !core::has_errors(parsed.findings));
    }
    if (const char* file = std::getenv("SIGNALBOX_CORPUS"); file != nullptr) {
        std::ofstream(file, std::ios::binary) << corpus();
    }
}

TEST_CASE("[api 6.5] whatever is valid can be compiled: nothing is left unbuilt", "[api]") {
    int valid = 0;
    for (const test::mutation& m : test::mutations()) {
        auto parsed = parse(m.object);
        if (!parsed.spec) {
            continue;
        }
        INFO(core::to_string(m.kind) << " " << m.rule);
        auto findings = std::move(parsed.findings);
        const auto plan = core::compile_plan(parsed.meta, *parsed.spec, findings);
        CHECK_FALSE(core::has_errors(findings));
        for (std::size_t role = 0; role < plan.roles.size(); ++role) {
            CHECK(core::render_pod(plan, {.role = role}, {}).size() > 2);
        }
        for (const auto* objects : {&plan.objects, &plan.tensorboard_objects}) {
            for (const auto& object : *objects) {
                CHECK(core::render_object(plan, object, 1, {}).size() > 2);
            }
        }
        for (const auto& d : findings) {
            CHECK(d.reason != "NotSupported");
        }
        ++valid;
    }
    CHECK(valid > 250);
}
