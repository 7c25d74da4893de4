// SPDX-License-Identifier: Apache-2.0
#include "cli/report/markup.hpp"
#include "cli/report/plots.hpp"
#include "cli/report/render.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <span>
#include <string>
#include <vector>

namespace signalbox::op::report {

namespace {

/// Jobs with a section of their own; the table has all.
constexpr std::size_t most_sections = 100;

constexpr const char* page_styles = R"(
body { font: 15px/1.45 sans-serif; color: #222; background: #fff; margin: 2em auto; max-width: 64em; padding: 0 1em; }
h2 { margin-top: 2em; border-top: 1px solid #ddd; padding-top: 1em; }
table { border-collapse: collapse; margin: .5em 0; }
table { display: block; overflow-x: auto; }
th, td { text-align: left; padding: .15em 1.2em .15em 0; vertical-align: top; white-space: nowrap; }
td.n { text-align: right; font-variant-numeric: tabular-nums; }
td.long { white-space: normal; min-width: 16em; overflow-wrap: anywhere; }
svg { display: block; max-width: 100%; height: auto; }
.trouble { color: #c92a2a; }
.swatch { margin-top: .35em; }
)";

std::string or_dash(const std::string& text) {
    return text.empty() ? "-" : text;
}

std::string anchor_of(std::size_t index) {
    return fmt::format("job-{}", index + 1);
}

class page {
public:
    explicit page(const whole_report& report) : report_(&report) {}

    std::string text() {
        const bool one = report_->scope.empty() && report_->jobs.size() == 1;
        const std::string title = one ? name_of(report_->jobs.front())
                                      : fmt::format(
                                            "{} jobs{}{}",
                                            report_->jobs.size(),
                                            report_->scope.empty() ? "" : " in ",
                                            report_->scope
                                        );
        to_.raw("<!DOCTYPE html>\n").open("html", {{"lang", "en"}}).open("head");
        to_.single("meta", {{"charset", "utf-8"}});
        // Whatever were in it, a browser would load and run nothing.
        to_.single(
            "meta",
            {{"http-equiv", "Content-Security-Policy"},
             {"content", "default-src 'none'; style-src 'unsafe-inline'"}}
        );
        to_.leaf("title", title);
        to_.open("style").raw(page_styles).close();
        to_.close().open("body");
        to_.leaf("h1", title);
        to_.leaf("p", fmt::format("Times are counted until {}.", core::format_time(report_->now)));
        if (!one) {
            add_summary();
        }
        const std::size_t shown = std::min(report_->jobs.size(), most_sections);
        for (std::size_t i = 0; i < shown; ++i) {
            if (!one) {
                to_.leaf("h2", {{"id", anchor_of(i)}}, name_of(report_->jobs[i]));
            }
            add_job(report_->jobs[i]);
        }
        if (shown < report_->jobs.size()) {
            const std::size_t more = report_->jobs.size() - shown;
            to_.leaf("p", fmt::format("{} more jobs have a row in the table alone.", more));
        }
        return to_.close().close().take();
    }

private:
    static std::string name_of(const job_report& job) {
        return fmt::format("{} {}/{}", core::to_string(job.meta.kind), job.meta.ns, job.meta.name);
    }

    void begin_table(std::initializer_list<std::string_view> names) {
        to_.open("table").open("tr");
        for (const std::string_view name : names) {
            to_.leaf("th", name);
        }
        to_.close();
    }
    void cell(std::string_view text) { to_.leaf("td", text); }
    void figure(std::string_view text) { to_.leaf("td", {{"class", "n"}}, text); }
    void long_cell(std::string_view text) { to_.leaf("td", {{"class", "long"}}, text); }

    void add_summary() {
        to_.leaf("h3", "Where the time of all of them went");
        core::time_account all;
        for (const job_report& job : report_->jobs) {
            all += job.time;
        }
        plot_time(to_, all);
        to_.open("table").open("tr").leaf("th", "kind").leaf("th", "jobs").leaf("th", "goodput");
        for (const core::time_share& share : all.shares) {
            to_.leaf("th", share.name);
        }
        to_.close();
        for (const kind_sum& sum : report_->sums()) {
            to_.open("tr");
            cell(core::to_string(sum.kind));
            figure(fmt::to_string(sum.jobs));
            add_shares(sum.time);
            to_.close();
        }
        to_.open("tr");
        cell("all");
        figure(fmt::to_string(report_->jobs.size()));
        add_shares(all);
        to_.close().close();

        to_.leaf("h3", "Jobs over time, those that wasted most first");
        plot_jobs(to_, *report_);
        begin_table({"job", "phase", "wasted", "goodput", "attempts", "last end", "training"});
        for (std::size_t i = 0; i < report_->jobs.size(); ++i) {
            const job_report& job = report_->jobs[i];
            const auto& history = job.status.attempt_history;
            to_.open("tr").open("td");
            if (i < most_sections) {
                to_.leaf("a", {{"href", "#" + anchor_of(i)}}, name_of(job));
            } else {
                to_.text(name_of(job));
            }
            to_.close();
            cell(standing_of(job.status));
            figure(time_text(job.wasted()));
            figure(goodput_text(job.time));
            figure(fmt::to_string(job.status.attempt));
            cell(history.empty() ? "-" : history.back().reason);
            long_cell(or_dash(job.progress));
            to_.close();
        }
        to_.close();
    }

    void add_shares(const core::time_account& time) {
        figure(goodput_text(time));
        for (const core::time_share& share : time.shares) {
            figure(time_text(share.seconds));
        }
    }

    void add_job(const job_report& job) {
        for (const std::string& note : job.notes) {
            to_.leaf("p", "Note: " + note + ".");
        }
        to_.open("p").leaf("strong", standing_of(job.status));
        if (!job.trouble.empty()) {
            to_.leaf("span", {{"class", "trouble"}}, job.trouble);
        }
        to_.close();
        if (!job.progress.empty()) {
            to_.leaf("p", "Training: " + job.progress);
        }
        add_time(job);
        add_attempts(job);
        add_progress(job);
        add_avoided(job);
    }

    void add_time(const job_report& job) {
        to_.leaf("h3", "Where the time went");
        if (job.time.total() == 0) {
            to_.leaf("p", "It is not on record yet.");
            return;
        }
        to_.leaf(
            "p",
            fmt::format(
                "{} in all; goodput {}", time_text(job.time.total()), goodput_text(job.time)
            )
        );
        plot_time(to_, job.time);
        to_.open("table");
        const std::array percentages = job.time.percentages();
        for (std::size_t i = 0; i < percentages.size(); ++i) {
            const core::time_share& share = job.time.shares[i];
            to_.open("tr");
            to_.open("td");
            add_swatch(to_, share.name);
            to_.close();
            cell(share.name);
            figure(time_text(share.seconds));
            figure(fmt::format("{} s", share.seconds));
            figure(fmt::format("{} %", percentages[i]));
            to_.close();
        }
        to_.close();
    }

    void add_attempts(const job_report& job) {
        if (job.attempts.empty()) {
            return;
        }
        to_.leaf("h3", "Attempts");
        plot_attempts(to_, job, report_->now);
        begin_table(
            {"attempt", "began", "took", "ended by", "step", "pod", "node", "rank", "message"}
        );
        for (const core::attempt_record& a : job.attempts) {
            const auto took = length_of(a, report_->now);
            to_.open("tr");
            figure(fmt::to_string(a.attempt));
            cell(a.start ? core::format_time(*a.start) : "-");
            figure(took ? core::in_words(*took) : "-");
            cell(a.end ? a.reason : "goes on");
            figure(step_text(a.step));
            cell(or_dash(a.pod));
            cell(or_dash(a.node));
            figure(a.rank ? fmt::to_string(*a.rank) : "-");
            long_cell(or_dash(a.message));
            to_.close();
        }
        to_.close();
    }

    void add_progress(const job_report& job) {
        if (std::ranges::any_of(job.attempts, [](const auto& a) { return a.step > 0; })) {
            to_.leaf("h3", "Steps by attempt");
            plot_steps(to_, job);
        }
        plot_course(to_, job);
        if (!job.status.progress || job.status.progress->metrics.empty()) {
            return;
        }
        to_.leaf("h3", "Metrics, as reported last");
        to_.open("table");
        for (const core::progress_metric& m : job.status.progress->metrics) {
            to_.open("tr");
            cell(m.name);
            figure(m.value);
            to_.close();
        }
        to_.close();
    }

    void add_avoided(const job_report& job) {
        if (job.status.avoided.empty()) {
            return;
        }
        to_.leaf("h3", "Nodes avoided");
        begin_table({"node", "incidents", "last", "rule"});
        for (const core::avoided_node& n : job.status.avoided) {
            to_.open("tr");
            cell(n.node);
            figure(fmt::to_string(n.count));
            cell(n.time ? core::format_time(*n.time) : "-");
            cell(n.rule);
            to_.close();
        }
        to_.close();
    }

    const whole_report* report_;
    markup to_;
};

}  // namespace

void print_html(const whole_report& report, std::ostream& out) {
    out << page(report).text();
}

}  // namespace signalbox::op::report
