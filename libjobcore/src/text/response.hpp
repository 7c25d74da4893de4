// SPDX-License-Identifier: Apache-2.0
//
// Answers of the text API. Private to this folder.
#pragma once

#include "jobcore/decide.hpp"
#include "jobcore/explain.hpp"
#include "text/request.hpp"

#include <span>
#include <string>
#include <vector>

namespace signalbox::core::text {

std::string error_response(std::span<const request_error> errors);
std::string findings_response(std::span<const diagnostic> findings);
/// `job` as it was when the decision was made.
std::string decision_response(const job_object& job, const decision& d);
std::string explain_response(std::span<const explain_line> lines);
/// All objects of the attempt in the order of their creation. Without a plan, or with errors among
/// the findings, none.
std::string plan_response(
    const job_object& job, std::int32_t attempt, std::span<const diagnostic> findings
);

}  // namespace signalbox::core::text
