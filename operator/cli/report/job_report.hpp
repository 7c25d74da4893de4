// SPDX-License-Identifier: Apache-2.0
//
// What `signalbox report` tells, as values: of each job where its time went and how its attempts
// ended, of several jobs the sums, the worst first. All of it is read from statuses; texts in it
// are those of others, and are escaped where they are shown.
#pragma once

#include <jobcore/account.hpp>
#include <jobcore/decide.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace signalbox::op::report {

struct job_report {
    core::job_meta meta;
    core::job_status status;
    core::time_account time;
    /// The present attempt stands last, without an end.
    std::vector<core::attempt_record> attempts;
    /// How far training is, in one line; empty: no one has reported.
    std::string progress;
    /// The words of the condition that says why the job ended or stands still, or empty.
    std::string trouble;
    std::vector<std::string> notes;

    /// Seconds in which it had its place and did nothing of use.
    std::int64_t wasted() const { return time.held() - time.useful(); }
};

/// Of a job object, JSON; nothing if the text is none. Times are told until `now`.
std::optional<job_report> report_of(std::string_view object_json, core::instant now);

/// What jobs of a kind came to together.
struct kind_sum {
    core::job_kind kind = core::job_kind::pytorch;
    std::size_t jobs = 0;
    core::time_account time;
};

struct whole_report {
    core::instant now{};
    /// What was asked about: `namespace team-a`, `all namespaces`; empty: single jobs.
    std::string scope;
    /// Those that wasted most come first; of equal ones by namespace, name and kind.
    std::vector<job_report> jobs;

    /// Of each kind that there is; in the order of core::all_job_kinds.
    std::vector<kind_sum> sums() const;
};

void sort_worst_first(std::vector<job_report>& jobs);

/// Seconds that an attempt took; until `now` if it has not ended. Nothing where its times are not
/// on record.
std::optional<core::seconds> length_of(const core::attempt_record& attempt, core::instant now);

/// `Running (Stalled)`
std::string standing_of(const core::job_status& status);
/// `2 d 4 h`; of no second a dash.
std::string time_text(std::int64_t seconds);
/// The number; of none a dash.
std::string step_text(const std::optional<std::int64_t>& step);
/// `81 %`, of which nothing is rounded up; a dash where there is none.
std::string goodput_text(const core::time_account& time);

}  // namespace signalbox::op::report
