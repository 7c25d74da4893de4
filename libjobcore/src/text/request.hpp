// SPDX-License-Identifier: Apache-2.0
//
// A request of the text API, read. Private to this folder.
#pragma once

#include "jobcore/decide.hpp"
#include "text/object_reader.hpp"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::core::text {

enum class operation { validate, plan, decide, explain };
std::string_view to_string(operation what);

/// What of a request is there; only what its operation takes.
struct request {
    operation what = operation::validate;
    std::string job_text;
    std::optional<std::string> previous;  ///< validate: the object before the change
    std::optional<job_object> job;        ///< all but validate
    std::int32_t attempt = 1;             ///< plan
    std::vector<pod_record> pods;
    std::vector<child_record> children;
    std::vector<refusal> refusals;
    std::vector<confirmed_absence> absences;
    std::vector<log_evidence> logs;
    std::vector<object_reading> readings;
    bool reads_logs = false;
    std::optional<progress_report> progress;
    std::optional<instant> progress_since;
    std::optional<progress_access> reports_to;
    capabilities served;
    bool no_room = false;
    policy rules;
    instant now{};
};

/// Reads the request. `previous`, which may be null, is for read_job(). With errors the result is
/// not to be used.
request read_request(
    std::string_view text,
    const std::shared_ptr<const compiled_job>& previous,
    std::vector<request_error>& errors
);

}  // namespace signalbox::core::text
