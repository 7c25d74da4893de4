// SPDX-License-Identifier: Apache-2.0
//
// A job object from anybody: parse, default, validate, compile and render.
#include "fuzz.hpp"
#include "jobcore/plan.hpp"
#include "jobcore/schema.hpp"

#include <algorithm>
#include <string>

using namespace signalbox::core;
using signalbox::fuzz::require;

namespace {

void render_all(const job_plan& plan) {
    for (std::size_t r = 0; r < plan.types.size(); ++r) {
        for (const std::int32_t index : {0, plan.types[r].wanted - 1}) {
            if (index >= 0) {
                const std::string pod = render_pod(plan, {r, index, 1, 0, 0}, {});
                require(!pod.empty(), "every pod of a plan is rendered");
            }
        }
    }
    for (std::size_t i = 0; const planned_object* object = find_object(plan, i); ++i) {
        require(!preview_object(plan, *object, 1, {}).empty(), "every object is rendered");
        (void)expected_fingerprint(plan, *object, {});
        (void)expected_data_fingerprint(plan, *object, {});
    }
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text = signalbox::fuzz::text_of(data, size);
    const parsed_job parsed = parse_job(text);
    require(
        parsed.spec.has_value() != has_errors(parsed.findings),
        "a specification, or errors that say why not"
    );
    for (const diagnostic& d : parsed.findings) {
        require(!d.message.empty() && !d.reason.empty(), "a finding says what is wrong");
    }
    if (!parsed.spec) {
        return 0;
    }
    require(validate_update(text, text).empty(), "no change breaks no rule on changes");
    // The API server gives every job a name and a UID before anybody compiles it.
    job_meta meta = parsed.meta;
    meta.uid = meta.uid.empty() ? "cffea855-5ce2-496a-8956-f6e76fe2f565" : meta.uid;
    meta.name = meta.name.empty() ? "job" : meta.name;
    std::vector<diagnostic> findings;
    const job_plan plan = compile_plan(meta, *parsed.spec, findings);
    if (!has_errors(findings)) {
        render_all(plan);
    }
    return 0;
}
