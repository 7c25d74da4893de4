// SPDX-License-Identifier: Apache-2.0
#include "commands/dev_report.hpp"

#include "cli/json_report.hpp"
#include "cli/table.hpp"

#include <jobcore/strings.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

namespace signalbox::op::cli {

namespace {

/// The value of an attribute. XML 1.0 has no form for what terminals obey.
std::string xml_text(std::string_view text) {
    std::string out;
    for (const char c : core::in_one_line(text)) {
        switch (c) {
            case '&':
                out += "&amp;";
                break;
            case '<':
                out += "&lt;";
                break;
            case '"':
                out += "&quot;";
                break;
            default:
                out += c;
        }
    }
    return out;
}

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

std::string junit_text(const std::vector<job_row>& jobs) {
    std::string cases;
    std::size_t failures = 0, errors = 0;
    double all = 0;
    for (const job_row& job : jobs) {
        all += seconds(job);
        cases += fmt::format(
            "  <testcase classname=\"{}\" name=\"{}\" time=\"{:.3f}\"",
            xml_text(job.kind),
            xml_text(job.name),
            seconds(job)
        );
        if (job.phase == core::job_phase::succeeded) {
            cases += "/>\n";
            continue;
        }
        const bool failed = job.phase == core::job_phase::failed;
        (failed ? failures : errors) += 1;
        cases += fmt::format(
            ">\n    <{0} type=\"{1}\" message=\"{2}\"/>\n  </testcase>\n",
            failed ? "failure" : "error",
            xml_text(job.reason),
            xml_text(job.message.empty() ? phase_text(job.phase) : job.message)
        );
    }
    return fmt::format(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        "<testsuite name=\"signalbox dev\" tests=\"{}\" failures=\"{}\" errors=\"{}\" "
        "time=\"{:.3f}\">\n{}</testsuite>\n",
        jobs.size(),
        failures,
        errors,
        all,
        cases
    );
}

}  // namespace signalbox::op::cli
