// SPDX-License-Identifier: Apache-2.0
#include "jobcore/decide.hpp"
#include "jobcore/explain.hpp"
#include "jobcore/schema.hpp"
#include "jobcore/text.hpp"
#include "text/request.hpp"
#include "text/response.hpp"

#include <algorithm>
#include <memory>

namespace signalbox::core::text {
namespace {

std::vector<diagnostic> check(const request& r) {
    if (r.previous) {
        return validate_update(*r.previous, r.job_text);
    }
    parsed_job parsed = parse_job(r.job_text);
    if (!parsed.spec) {
        add_findings(parsed.findings, std::move(parsed.template_findings));
        return std::move(parsed.findings);
    }
    // A name or UID that a server still has to give changes nothing about what is right.
    if (parsed.meta.name.empty()) {
        parsed.meta.name = "x";
    }
    const job_plan plan = compile_plan(parsed.meta, *parsed.spec, parsed.findings);
    add_findings(parsed.findings, std::move(parsed.template_findings));
    add_findings(parsed.findings, plan.warnings);
    return std::move(parsed.findings);
}

/// `request` with the views that decide() takes.
class observation {
public:
    explicit observation(const request& r) {
        std::ranges::transform(r.pods, std::back_inserter(pods_), [](auto& p) { return &p; });
        std::ranges::transform(r.children, std::back_inserter(children_), [](auto& c) {
            return &c;
        });
        seen_.pods = pods_;
        seen_.children = children_;
        seen_.refusals = r.refusals;
        seen_.absences = r.absences;
        seen_.served_kinds = r.served;
        seen_.logs = r.logs;
        seen_.readings = r.readings;
        seen_.reads_logs = r.reads_logs;
        seen_.progress = r.progress ? &*r.progress : nullptr;
        seen_.progress_since = r.progress_since;
        seen_.reports_to = r.reports_to ? &*r.reports_to : nullptr;
        seen_.no_room = r.no_room;
    }
    observation(const observation&) = delete;
    observation& operator=(const observation&) = delete;

    const observed& seen() const { return seen_; }

private:
    std::vector<const pod_record*> pods_;
    std::vector<const child_record*> children_;
    observed seen_;
};

}  // namespace

std::string call(std::string_view request_json) {
    std::shared_ptr<const compiled_job> kept;
    return call(request_json, kept);
}

std::string call(std::string_view request_json, std::shared_ptr<const compiled_job>& kept) {
    std::vector<request_error> errors;
    const request r = read_request(request_json, kept, errors);
    if (!errors.empty()) {
        return error_response(errors);
    }
    if (r.job) {
        kept = r.job->compiled;
    }
    switch (r.what) {
        case operation::validate:
            return findings_response(check(r));
        case operation::plan:
            return plan_response(*r.job, r.attempt, check(r));
        case operation::decide:
            return decision_response(*r.job, decide(*r.job, observation(r).seen(), r.rules, r.now));
        case operation::explain:
            return explain_response(explain(*r.job, observation(r).seen(), r.rules, r.now));
    }
    return {};
}

}  // namespace signalbox::core::text
