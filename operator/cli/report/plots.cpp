// SPDX-License-Identifier: Apache-2.0
#include "cli/report/plots.hpp"

#include "cli/colour.hpp"
#include "cli/report/drawing.hpp"

#include <jobcore/strings.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::op::report {

namespace {

/// Of a namespace.
constexpr std::size_t most_rows = 40;

std::string short_label(std::string_view text) {
    constexpr std::size_t most = 32;
    return cli::cut_to(core::in_one_line(text), most);
}

/// How an attempt ended, as a colour.
std::string_view colour_of_end(const core::attempt_record& a, const core::job_status& now) {
    constexpr std::array<std::string_view, 3> quiet{"Paused", "Scaled", "SpecChanged"};
    if (!a.end) {
        return now.time.in == core::time_kind::stalled ? "stalled"
               : now.phase == core::job_phase::running ? "running"
                                                       : "starting";
    }
    return a.reason == "Succeeded"                             ? "Succeeded"
           : std::ranges::find(quiet, a.reason) != quiet.end() ? "quiet"
                                                               : "failed";
}

std::string title_of(const core::attempt_record& a, core::instant now) {
    const auto took = length_of(a, now);
    return fmt::format(
        "attempt {}{}{}{}",
        a.attempt,
        took ? fmt::format(", {}", core::in_words(*took)) : std::string(),
        a.end ? fmt::format(", {}", a.reason) : std::string(", goes on"),
        a.step ? fmt::format(", step {}", *a.step) : std::string()
    );
}

/// From when on, and until when, something is known of the job.
std::optional<std::pair<core::instant, core::instant>> life_of(
    const job_report& job, core::instant now
) {
    std::optional<core::instant> from = job.meta.creation_time;
    core::instant to = job.status.completion_time.value_or(now);
    for (const core::attempt_record& a : job.attempts) {
        if (a.start) {
            from = std::min(from.value_or(*a.start), *a.start);
        }
        to = a.end ? std::max(to, *a.end) : to;
    }
    return from && *from <= to ? std::optional(std::pair(*from, to)) : std::nullopt;
}

void add_attempt(
    markup& to,
    const time_axis& axis,
    const core::attempt_record& a,
    const core::job_status& status,
    core::instant until,
    double y
) {
    const core::instant end = a.end.value_or(until);
    const double x = axis.at(a.start.value_or(end));
    add_bar(to, colour_of_end(a, status), x, y, axis.at(end) - x, title_of(a, until));
}

}  // namespace

void add_swatch(markup& to, std::string_view share) {
    to.open("svg", {{"class", "swatch"}, {"width", "12"}, {"height", "12"}});
    to.shape("rect", {{"fill", fill_of(share)}, {"width", "12"}, {"height", "12"}});
    to.close();
}

void plot_time(markup& to, const core::time_account& time) {
    const std::int64_t all = time.total();
    if (all == 0) {
        return;
    }
    open_svg(to, bar_height, "Where the time went");
    const std::array percentages = time.percentages();
    std::int64_t before = 0;
    for (std::size_t i = 0; i < percentages.size(); ++i) {
        const core::time_share& share = time.shares[i];
        if (share.seconds == 0) {
            continue;
        }
        const double scale = width / static_cast<double>(all);
        add_bar(
            to,
            share.name,
            static_cast<double>(before) * scale,
            0,
            static_cast<double>(share.seconds) * scale,
            fmt::format(
                "{} {} ({} %)",
                share.name,
                core::in_words(core::seconds(share.seconds)),
                percentages[i]
            )
        );
        before += share.seconds;
    }
    to.close();
}

void plot_attempts(markup& to, const job_report& job, core::instant now) {
    const auto life = life_of(job, now);
    if (!life || job.attempts.empty()) {
        return;
    }
    const time_axis axis(life->first, life->second);
    const auto rows = static_cast<double>(job.attempts.size());
    open_svg(to, row_height * rows + axis_height, "Attempts over time");
    axis.draw(to, row_height * rows);
    double y = 0;
    for (const core::attempt_record& a : job.attempts) {
        const std::string how = a.end ? a.reason : "goes on";
        add_text(to, 0, y + 14, "start", short_label(fmt::format("{}  {}", a.attempt, how)));
        add_attempt(to, axis, a, job.status, life->second, y + 4);
        y += row_height;
    }
    to.close();
}

void plot_steps(markup& to, const job_report& job) {
    constexpr double height = 180;
    constexpr double top = 18;  // a label above the highest line
    double most = 0;
    for (const core::attempt_record& a : job.attempts) {
        most = std::max(most, static_cast<double>(a.step.value_or(0)));
    }
    if (most == 0) {
        return;
    }
    const auto& progress = job.status.progress;
    struct level {
        const char* name;
        std::optional<std::int64_t> step;
    };
    const std::array levels{
        level{"all", progress ? progress->total_steps : std::nullopt},
        level{"checkpoint", progress ? progress->checkpoint_step : std::nullopt}};
    for (const level& l : levels) {
        most = std::max(most, static_cast<double>(l.step.value_or(0)));
    }
    const value_axis axis(0, most, top, height, true);
    open_svg(to, height + axis_height, "Steps by attempt");
    axis.draw(to);
    const double column = (width - value_width) / static_cast<double>(job.attempts.size());
    const double thick = std::min(column * 0.6, 60.0);
    double middle = value_width + column / 2;
    for (const core::attempt_record& a : job.attempts) {
        const double y = axis.at(static_cast<double>(a.step.value_or(0)));
        const std::string_view kind = colour_of_end(a, job.status);
        to.shape(
            "rect",
            {{"class", std::string(kind)},
             {"fill", fill_of(kind)},
             {"x", number(middle - thick / 2)},
             {"y", number(y)},
             {"width", number(thick)},
             {"height", number(height - y)}},
            fmt::format("attempt {}: step {}", a.attempt, step_text(a.step))
        );
        add_text(to, middle, height + 15, "middle", fmt::to_string(a.attempt));
        middle += column;
    }
    struct label {
        double y;
        std::string text;
    };
    std::vector<label> labels;
    for (const level& l : levels) {
        if (l.step) {
            const double y = axis.at(static_cast<double>(*l.step));
            add_line(to, line::mark, value_width, y, width, y);
            const std::string text = fmt::format("{} {}", l.name, *l.step);
            if (!labels.empty() && std::abs(y - labels.back().y) < 14) {  // one covers the other
                labels.back().text += ", " + text;
            } else {
                labels.push_back({y, text});
            }
        }
    }
    for (const label& l : labels) {
        add_text(to, width, l.y - 3, "end", l.text);
    }
    to.close();
}

void plot_jobs(markup& to, const whole_report& report) {
    const std::size_t rows = std::min(report.jobs.size(), most_rows);
    std::optional<core::instant> from;
    core::instant until = core::instant::min();
    for (std::size_t i = 0; i < rows; ++i) {
        if (const auto life = life_of(report.jobs[i], report.now)) {
            from = std::min(from.value_or(life->first), life->first);
            until = std::max(until, life->second);
        }
    }
    if (!from) {
        return;
    }
    const time_axis axis(*from, until);
    open_svg(to, row_height * static_cast<double>(rows) + axis_height, "Jobs over time");
    axis.draw(to, row_height * static_cast<double>(rows));
    for (std::size_t i = 0; i < rows; ++i) {
        const job_report& job = report.jobs[i];
        const double y = row_height * static_cast<double>(i);
        add_text(
            to, 0, y + 14, "start", short_label(fmt::format("{}/{}", job.meta.ns, job.meta.name))
        );
        if (const auto life = life_of(job, report.now)) {
            const double x = axis.at(life->first);
            add_bar(to, "life", x, y + 4, axis.at(life->second) - x, standing_of(job.status));
            for (const core::attempt_record& a : job.attempts) {
                add_attempt(to, axis, a, job.status, life->second, y + 4);
            }
        }
    }
    to.close();
}

}  // namespace signalbox::op::report
