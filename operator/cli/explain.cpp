// SPDX-License-Identifier: Apache-2.0
//
// `signalbox explain`.
#include "cli/cause.hpp"
#include "cli/cli.hpp"
#include "cli/colour.hpp"
#include "cli/commands.hpp"
#include "cli/json_report.hpp"
#include "cli/live_job.hpp"
#include "cli/print_line.hpp"
#include "cli/recorded_files.hpp"
#include "cli/table.hpp"
#include "cli/text_layout.hpp"

#include <jobcore/cause.hpp>
#include <jobcore/explain.hpp>

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <iostream>
#include <ostream>
#include <span>

#include <unistd.h>

namespace signalbox::op::cli {

namespace {

/// How the text is laid out for its reader.
struct layout {
    bool colours = false;
    bool folds = false;
    std::string paint(std::string_view text, colour c) const {
        return colours ? painted(text, c) : std::string(text);
    }
};

/// Of a section that is folded so many lines are shown; more than one line is left out.
constexpr std::size_t lines_shown = 5;

/// One section: its title and lines.
void print_section(
    std::span<const core::explain_line> lines,
    core::job_phase phase,
    const layout& how,
    std::ostream& out
) {
    const core::explain_section section = lines.front().section;
    const std::size_t width = output_width();
    const bool folded = how.folds && lines.size() > lines_shown + 1;
    const std::span<const core::explain_line> shown =
        folded ? lines.subspan(0, lines_shown) : lines;
    fmt::print(out, "\n{}\n", how.paint(core::title(section), colour::bold));
    for (const core::explain_line& line : shown) {
        const bool headline = section == core::explain_section::phase && &line == lines.data();
        const bool trouble = section == core::explain_section::specification;
        const colour c = headline ? colour_of(phase) : trouble ? colour::yellow : colour::none;
        const std::string rule =
            line.rule.empty() ? "" : " " + how.paint(fmt::format("[{}]", line.rule), colour::faint);
        out << wrapped(how.paint(line.sentence, c) + rule, "  - ", "    ", width);
    }
    if (folded) {
        const std::size_t more = lines.size() - lines_shown;
        const std::string text = fmt::format("and {} more; --all shows them", more);
        fmt::print(out, "    {}\n", how.paint(text, colour::faint));
    }
}

void print_text(
    const recorded_job& r,
    std::span<const core::explain_line> lines,
    core::instant now,
    const layout& how,
    std::ostream& out
) {
    const core::job_meta& meta = r.job.meta;
    print_line(
        out,
        "{} {}/{}, at {}",
        core::to_string(meta.kind),
        meta.ns,
        meta.name,
        core::format_time(now)
    );
    for (const std::string& note : r.notes) {
        const std::string line = core::printable(fmt::format("note: {}.", note));
        out << wrapped(line, "  ", "    ", output_width());
    }
    while (!lines.empty()) {
        const auto end = std::ranges::find_if(lines, [&](const core::explain_line& line) {
            return line.section != lines.front().section;
        });
        const auto size = static_cast<std::size_t>(end - lines.begin());
        print_section(lines.subspan(0, size), r.job.status.phase, how, out);
        lines = lines.subspan(size);
    }
}

void print_json(
    json_report& json,
    const recorded_job& r,
    const std::vector<core::explain_line>& lines,
    core::instant now
) {
    const core::job_meta& meta = r.job.meta;
    json.writer().StartObject();
    json.text("kind", core::to_string(meta.kind));
    json.text("namespace", meta.ns);
    json.text("name", meta.name);
    json.text("uid", meta.uid);
    json.text("now", core::format_time(now));
    json.list("notes", r.notes, [&](const std::string& note) { json.text(note); });
    json.list("lines", lines, [&](const core::explain_line& line) {
        json.writer().StartObject();
        json.text("section", core::to_string(line.section));
        json.text("sentence", line.sentence);
        json.text("rule", line.rule);
        json.writer().EndObject();
    });
    json.writer().EndObject();
}

void print(
    const recording& recorded, core::instant now, const explain_options& options, std::ostream& out
) {
    const auto explained = [&](const recorded_job& r) {
        return core::explain(r.job, r.seen(), core::policy(), now);
    };
    layout how;
    how.colours = &out == &std::cout && output_has_colours();
    how.folds = &out == &std::cout && ::isatty(STDOUT_FILENO) == 1 && !options.all;
    if (options.output == output_format::json) {
        json_report json(out);
        json.writer().StartObject();
        json.list("jobs", recorded.jobs, [&](const recorded_job& r) {
            print_json(json, r, explained(r), now);
        });
        json.writer().EndObject();
        out << '\n';
        return;
    }
    std::string_view gap;
    std::string_view a_rule;
    for (const recorded_job& r : recorded.jobs) {
        out << gap;
        const std::vector<core::explain_line> lines = explained(r);
        print_text(r, lines, now, how, out);
        gap = "\n\n";
        for (const core::explain_line& line : lines) {
            a_rule = a_rule.empty() ? line.rule : a_rule;
        }
    }
    if (!a_rule.empty()) {
        fmt::print(out, "\n`signalbox docs rule {}` shows what a rule says.\n", a_rule);
    }
}

/// The lines of the log that say why the job failed, where a log can be read; for people alone.
void print_lines_of_cause(
    const explain_options& options, const recorded_job& r, core::instant now, std::ostream& out
) {
    const core::policy rules;
    if (options.output == output_format::json ||
        core::logs_of_failures(r.job, r.seen(), rules, now).empty()) {
        return;
    }
    cluster_session session(options.cluster, options.ns);
    if (!session.problem().empty()) {
        return;
    }
    const shown_cause cause = read_cause(session, r, now);
    if (cause.lines.empty()) {
        return;
    }
    print_line(out, "");
    print_line(out, "What the log of {} says of it", cause.pod);
    print_lines(cause, out);
}

}  // namespace

int explain(const explain_options& options, std::ostream& out, std::ostream& err) {
    const auto refuse = [&](std::string_view why) {
        print_line(err, "signalbox explain: {}", why);
        return exit_refused;
    };
    if (options.files.empty() && options.target.empty()) {
        return refuse("-f FILE, or the NAME of a job in a cluster, is expected");
    }
    if (!options.files.empty()) {
        recorded_files files = read_recorded_files(options.files, options.now);
        keep_jobs(files, options.target, options.ns);
        if (!files.errors.empty()) {
            for (const std::string& error : files.errors) {
                print_line(err, "signalbox explain: {}", error);
            }
            return exit_refused;
        }
        if (files.recorded.jobs.empty()) {
            return refuse(no_recorded_job(options.target, options.ns));
        }
        print(files.recorded, files.now, options, out);
        return exit_ok;
    }
    if (!options.now.empty()) {
        return refuse("--now is for recordings: a cluster has its own time");
    }
    live_read live = read_live(options.cluster, options.target, options.ns);
    if (!live.error.empty()) {
        return refuse(live.error);
    }
    recording recorded = read_recording(live.objects, live.facts);
    if (!recorded.errors.empty()) {
        return refuse(recorded.errors.front());
    }
    for (recorded_job& r : recorded.jobs) {
        r.notes.insert(r.notes.begin(), live.notes.begin(), live.notes.end());
    }
    print(recorded, live.facts.now, options, out);
    for (const recorded_job& r : recorded.jobs) {
        print_lines_of_cause(options, r, live.facts.now, out);
    }
    return exit_ok;
}

}  // namespace signalbox::op::cli
