// SPDX-License-Identifier: Apache-2.0
#include "cli/job_board.hpp"
#include "cli/print_line.hpp"
#include "cli/report/render.hpp"
#include "cli/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <string>

namespace signalbox::op::report {

namespace {

using cli::print_line;
using cli::table_cells;

/// A cell of what others wrote.
std::string cell(const std::string& text) {
    return cli::dash_if_empty(core::in_one_line(text));
}

/// The table, further in.
void print_table(const std::vector<table_cells>& rows, std::ostream& out) {
    const std::string text = cli::table_text(rows);
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = text.find('\n', begin);
        out << "  " << text.substr(begin, end - begin) << '\n';
        begin = end + 1;
    }
}

void print_time(const core::time_account& time, std::ostream& out) {
    constexpr std::int64_t percents_of_mark = 4;
    print_line(out, "");
    if (time.total() == 0) {
        print_line(out, "Where the time went is not on record yet.");
        return;
    }
    const std::string goodput = goodput_text(time);
    print_line(
        out,
        "Where the time went: {} in all; goodput {}",
        time_text(time.total()),
        goodput == "-" ? "is none yet" : goodput
    );
    const std::array percentages = time.percentages();
    std::vector<table_cells> rows;
    for (std::size_t i = 0; i < percentages.size(); ++i) {
        const core::time_share& share = time.shares[i];
        if (share.seconds > 0) {
            const auto marks = static_cast<std::size_t>(percentages[i] / percents_of_mark);
            rows.push_back(
                {std::string(share.name),
                 fmt::format("{} s", share.seconds),
                 time_text(share.seconds),
                 fmt::format("{} %", percentages[i]),
                 std::string(marks, '#')}
            );
        }
    }
    print_table(rows, out);
}

void print_attempts(const job_report& job, core::instant now, std::ostream& out) {
    if (job.attempts.empty()) {
        return;
    }
    print_line(out, "");
    print_line(out, "Attempts");
    std::vector<table_cells> rows{
        {"ATTEMPT", "BEGAN", "TOOK", "ENDED BY", "STEP", "POD", "NODE", "RANK", "MESSAGE"}};
    for (const core::attempt_record& a : job.attempts) {
        const auto took = length_of(a, now);
        rows.push_back(
            {fmt::to_string(a.attempt),
             a.start ? core::format_time(*a.start) : "-",
             took ? core::in_words(*took) : "-",
             a.end ? cell(a.reason) : "(goes on)",
             step_text(a.step),
             cell(a.pod),
             cell(a.node),
             a.rank ? fmt::to_string(*a.rank) : "-",
             cell(a.message)}
        );
    }
    print_table(rows, out);
}

void print_progress(const job_report& job, std::ostream& out) {
    if (job.progress.empty()) {
        return;
    }
    print_line(out, "Training: {}", job.progress);
    const core::progress_status& p = *job.status.progress;
    if (p.slowest && p.slowest->behind > 0) {
        print_line(
            out,
            "Furthest behind: rank {}, at step {}, {} behind",
            p.slowest->rank,
            p.slowest->step,
            p.slowest->behind
        );
    }
    if (p.checkpoint_step) {
        print_line(out, "Last checkpoint: step {}", *p.checkpoint_step);
    }
}

void print_metrics(const job_report& job, std::ostream& out) {
    if (!job.status.progress || job.status.progress->metrics.empty()) {
        return;
    }
    print_line(out, "");
    print_line(out, "Metrics, as reported last");
    std::vector<table_cells> rows;
    for (const core::progress_metric& m : job.status.progress->metrics) {
        rows.push_back({cell(m.name), cell(m.value)});
    }
    print_table(rows, out);
}

void print_avoided(const job_report& job, std::ostream& out) {
    if (job.status.avoided.empty()) {
        return;
    }
    print_line(out, "");
    print_line(out, "Nodes avoided");
    std::vector<table_cells> rows{{"NODE", "INCIDENTS", "LAST", "RULE"}};
    for (const core::avoided_node& n : job.status.avoided) {
        rows.push_back(
            {cell(n.node),
             fmt::to_string(n.count),
             n.time ? core::format_time(*n.time) : "-",
             cell(n.rule)}
        );
    }
    print_table(rows, out);
}

void print_job(const job_report& job, core::instant now, std::ostream& out) {
    print_line(
        out,
        "{} {}/{}, at {}",
        core::to_string(job.meta.kind),
        job.meta.ns,
        job.meta.name,
        core::format_time(now)
    );
    for (const std::string& note : job.notes) {
        print_line(out, "  note: {}.", note);
    }
    print_line(out, "");
    print_line(
        out,
        "{}{}{}",
        standing_of(job.status),
        job.trouble.empty() ? "" : ": ",
        core::in_one_line(job.trouble)
    );
    print_progress(job, out);
    print_time(job.time, out);
    print_attempts(job, now, out);
    print_metrics(job, out);
    print_avoided(job, out);
}

/// Cells of an account behind the first ones.
table_cells with_shares(table_cells first, const core::time_account& time) {
    first.push_back(goodput_text(time));
    for (const core::time_share& share : time.shares) {
        const core::seconds length(share.seconds);
        first.push_back(share.seconds == 0 ? "-" : cli::short_age(length));
    }
    return first;
}

void add_share_names(table_cells& heading) {
    heading.emplace_back("GOODPUT");
    for (const core::time_share& share : core::time_account().shares) {
        std::string name(share.name);
        std::ranges::transform(name, name.begin(), [](char c) {
            return static_cast<char>(c - 'a' + 'A');
        });
        heading.push_back(std::move(name));
    }
}

void print_summary(const whole_report& report, std::ostream& out) {
    print_line(
        out,
        "{} job{}{}{}, at {}",
        report.jobs.size(),
        report.jobs.size() == 1 ? "" : "s",
        report.scope.empty() ? "" : " in ",
        report.scope,
        core::format_time(report.now)
    );
    table_cells heading{"KIND", "JOBS"};
    add_share_names(heading);
    std::vector<table_cells> rows{std::move(heading)};
    kind_sum all;
    for (const kind_sum& sum : report.sums()) {
        const std::string kind(core::to_string(sum.kind));
        rows.push_back(with_shares({kind, fmt::to_string(sum.jobs)}, sum.time));
        all.jobs += sum.jobs;
        all.time += sum.time;
    }
    rows.push_back(with_shares({"all", fmt::to_string(all.jobs)}, all.time));
    print_line(out, "");
    print_table(rows, out);

    print_line(out, "");
    print_line(out, "Jobs, those that wasted most first");
    heading = {"NAMESPACE", "JOB", "PHASE", "WASTED"};
    add_share_names(heading);
    heading.insert(heading.end(), {"ATTEMPTS", "LAST END"});
    rows.assign(1, heading);
    for (const job_report& job : report.jobs) {
        const auto& history = job.status.attempt_history;
        table_cells cells = with_shares(
            {cell(job.meta.ns),
             fmt::format("{}/{}", cli::short_kind(job.meta.kind), cell(job.meta.name)),
             cell(standing_of(job.status)),
             cli::short_age(core::seconds(job.wasted()))},
            job.time
        );
        cells.push_back(fmt::to_string(job.status.attempt));
        cells.push_back(history.empty() ? "-" : cell(history.back().reason));
        rows.push_back(std::move(cells));
    }
    print_table(rows, out);
}

}  // namespace

void print_text(const whole_report& report, std::ostream& out) {
    if (!report.scope.empty() || report.jobs.size() != 1) {
        print_summary(report, out);
        return;
    }
    print_job(report.jobs.front(), report.now, out);
}

}  // namespace signalbox::op::report
