// SPDX-License-Identifier: Apache-2.0
#include "cli/report/job_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <tuple>
#include <utility>

namespace signalbox::op::report {

namespace {

std::string trouble_of(const core::job_status& status) {
    const bool ended = core::is_final(status.phase);
    const core::condition* c = core::find_condition(status, ended ? "Completed" : "Stalled");
    const bool counts = c != nullptr && c->status && status.phase != core::job_phase::succeeded;
    return counts ? c->message : std::string();
}

}  // namespace

std::optional<job_report> report_of(std::string_view object_json, core::instant now) {
    core::result<core::job_object> job = core::read_job_head(object_json);
    if (!job) {
        return std::nullopt;
    }
    job_report out;
    out.meta = std::move(job->meta);
    out.status = std::move(job->status);
    out.time = core::account_of(out.status.time, now);
    out.attempts = core::attempts_of(out.status);
    out.progress = core::progress_in_words(out.status, now);
    out.trouble = trouble_of(out.status);
    return out;
}

std::vector<kind_sum> whole_report::sums() const {
    std::vector<kind_sum> out;
    for (const core::job_kind kind : core::all_job_kinds) {
        kind_sum sum{kind, 0, {}};
        for (const job_report& job : jobs) {
            if (job.meta.kind == kind) {
                ++sum.jobs;
                sum.time += job.time;
            }
        }
        if (sum.jobs > 0) {
            out.push_back(sum);
        }
    }
    return out;
}

void sort_worst_first(std::vector<job_report>& jobs) {
    const auto key = [](const job_report& j) {
        return std::tuple<std::int64_t, const std::string&, const std::string&, core::job_kind>(
            -j.wasted(), j.meta.ns, j.meta.name, j.meta.kind
        );
    };
    std::ranges::sort(jobs, [&](const job_report& a, const job_report& b) {
        return key(a) < key(b);
    });
}

std::optional<core::seconds> length_of(const core::attempt_record& attempt, core::instant now) {
    const core::instant end = attempt.end.value_or(now);
    return attempt.start && end >= *attempt.start
               ? std::optional(std::chrono::floor<core::seconds>(end - *attempt.start))
               : std::nullopt;
}

std::string standing_of(const core::job_status& status) {
    const std::string phase(core::to_string(status.phase));
    if (phase.empty()) {
        return "New";
    }
    return status.reason.empty() || status.reason == phase
               ? phase
               : fmt::format("{} ({})", phase, status.reason);
}

std::string time_text(std::int64_t seconds) {
    return seconds == 0 ? "-" : core::in_words(core::seconds(seconds));
}

std::string step_text(const std::optional<std::int64_t>& step) {
    return step ? fmt::to_string(*step) : "-";
}

std::string goodput_text(const core::time_account& time) {
    const std::int64_t held = time.held();
    return held > 0 ? fmt::format("{} %", time.useful() * 100 / held) : "-";
}

}  // namespace signalbox::op::report
