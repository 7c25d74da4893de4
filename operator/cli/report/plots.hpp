// SPDX-License-Identifier: Apache-2.0
//
// The pictures of a report, as SVG. Each is for people what a table beside it has as numbers.
#pragma once

#include "cli/report/job_report.hpp"
#include "cli/report/markup.hpp"

namespace signalbox::op::report {

/// A square in the colour of a share of the time.
void add_swatch(markup& to, std::string_view share);
/// Where the time went: one bar.
void plot_time(markup& to, const core::time_account& time);
/// When attempts ran, from the creation of the job on. Nothing if no time is known.
void plot_attempts(markup& to, const job_report& job, core::instant now);
/// How far each attempt came. Nothing if none has reported a step.
void plot_steps(markup& to, const job_report& job);
/// Steps and loss over time, over all attempts, each with its heading. Nothing of what fewer than
/// two reports are known.
void plot_course(markup& to, const job_report& job);
/// When jobs were there, and their attempts ran. Nothing if no time is known.
void plot_jobs(markup& to, const whole_report& report);

}  // namespace signalbox::op::report
