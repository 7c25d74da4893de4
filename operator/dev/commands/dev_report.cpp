// SPDX-License-Identifier: Apache-2.0
#include "commands/dev_report.hpp"

#include "cli/json_report.hpp"
#include "cli/junit_report.hpp"
#include "cli/table.hpp"

#include <algorithm>
#include <ostream>

namespace signalbox::op::cli {

namespace {

double seconds(const job_row& job) {
    return std::chrono::duration<double>(job.took).count();
}

}  // namespace

void write_dev_json(
    std::ostream& out,
    const std::vector<job_row>& jobs,
    const std::vector<std::string>& files,
    int code
) {
    json_report report(out);
    report.writer().StartObject();
    report.list("jobs", jobs, [&](const job_row& job) {
        report.writer().StartObject();
        report.text("job", job.name);
        report.text("kind", job.kind);
        report.text("phase", phase_text(job.phase));
        report.text("reason", job.reason);
        report.text("message", job.message);
        report.text("ready", job.ready);
        report.number(
            "restarts", static_cast<std::uint64_t>(std::max<std::int64_t>(0, job.restarts))
        );
        report.writer().Key("seconds");
        report.writer().Double(seconds(job));
        report.writer().EndObject();
    });
    report.list("files", files, [&](const std::string& what) { report.text(what); });
    report.number("code", static_cast<std::uint64_t>(code));
    report.writer().EndObject();
    out << '\n';
}

std::string junit_of(const std::vector<job_row>& jobs) {
    std::vector<test_case> cases;
    for (const job_row& job : jobs) {
        const test_case::end result =
            job.phase == core::job_phase::succeeded ? test_case::end::passed
            : job.phase == core::job_phase::failed  ? test_case::end::failed
                                                    : test_case::end::broken;
        cases.push_back(
            {job.kind,
             job.name,
             seconds(job),
             result,
             job.reason,
             job.message.empty() ? phase_text(job.phase) : job.message,
             ""}
        );
    }
    return junit_text("signalbox dev", cases);
}

}  // namespace signalbox::op::cli
