// SPDX-License-Identifier: Apache-2.0
//
// One field at a time (mutations.hpp). Besides, this writes all that a real API server is to be
// compared with, if SIGNALBOX_CORPUS names a file: tests/envtest/test_crd_rules.py.
#include "mutations.hpp"

#include "api/job/kinds.hpp"
#include "jobcore/plan.hpp"
#include "jobcore/schema.hpp"
#include "json_cases.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstdlib>
#include <fstream>

using namespace signalbox;
namespace schema = core::schema;

namespace {

/// The job, paused: of a paused one nearly everything may be changed (BEHAVIOUR.md api 7).
std::string paused(const std::string& job) {
    core::json::document object;
    core::json::parse(object, job);
    rapidjson::Pointer("/spec/runMode/pause/enabled").Set(object, true);
    return core::json::to_text(object);
}

/// An update of one field, and how many of its changes the library does not allow.
std::string update_json(
    const std::string& rule, const std::string& before, const std::string& after
) {
    return "{\"rule\":\"" + rule + "\",\"before\":" + before + ",\"after\":" + after +
           ",\"finds\":" + std::to_string(core::validate_update(before, after).size()) + "}\n";
}

/// Without the name of a queue in a label, which no rule of a definition sees.
bool lacks_queue(const test::mutation& m) {
    const auto findings = core::parse_job(m.object).findings;
    return std::ranges::any_of(findings, [](const core::diagnostic& d) {
        return d.level == core::severity::error && d.pointer == "/spec/scheduler/kueue";
    });
}

std::string mutations_json() {
    std::string out;
    for (const test::mutation& m : test::mutations()) {
        if (lacks_queue(m)) {
            continue;
        }
        out += std::string(out.empty() ? "" : ",") + "{\"rule\":\"" + m.rule +
               "\",\"object\":" + m.object + ",\"valid\":" +
               (core::has_errors(core::parse_job(m.object).findings) ? "false" : "true") + "}\n";
    }
    return out;
}

/// Each valid mutation as an update of what it was made from, in a running and in a paused job.
std::string updates_json() {
    std::string out;
    for (const test::mutation& m : test::mutations()) {
        if (core::has_errors(core::parse_job(m.object).findings)) {
            continue;
        }
        out += (out.empty() ? "" : ",") + update_json(m.rule, m.base, m.object);
        // Whether a job is paused is what that field says.
        if (m.pointer.find("/pause/enable") == std::string::npos) {
            out += "," + update_json(m.rule + ", paused", paused(m.base), paused(m.object));
        }
    }
    return out;
}

/// `{"crds": [...], "mutations": [{"rule", "object", "valid"}], "updates": [{"rule", "before",
/// "after", "finds"}]}`
std::string corpus() {
    std::string crds;
    for (const auto& kind : schema::all_kinds()) {
        crds += (crds.empty() ? "" : ",") + core::crd_json(kind.kind);
    }
    return "{\"crds\":[" + crds + "],\"mutations\":[" + mutations_json() + "],\"updates\":[" +
           updates_json() + "]}";
}

}  // namespace

TEST_CASE("[api 6.1] each field alone: types, bounds, values, old names", "[api][corpus]") {
    const auto all = test::mutations();
    CHECK(all.size() > 1000);
    for (const test::mutation& m : all) {
        const auto parsed = core::parse_job(m.object);
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
        auto parsed = core::parse_job(m.object);
        if (!parsed.spec) {
            continue;
        }
        INFO(core::to_string(m.kind) << " " << m.rule);
        auto findings = std::move(parsed.findings);
        const auto plan = core::compile_plan(parsed.meta, *parsed.spec, findings);
        CHECK_FALSE(core::has_errors(findings));
        for (std::size_t type = 0; type < plan.types.size(); ++type) {
            CHECK(core::render_pod(plan, {.type = type}, {}).size() > 2);
        }
        for (const auto* objects : {&plan.objects, &plan.companions}) {
            for (const auto& object : *objects) {
                CHECK(core::preview_object(plan, object, 1, {}).size() > 2);
            }
        }
        for (const auto& d : findings) {
            CHECK(d.reason != "NotSupported");
        }
        ++valid;
    }
    CHECK(valid > 250);
}
