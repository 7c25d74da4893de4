// SPDX-License-Identifier: Apache-2.0
//
// `signalbox explain` and `signalbox docs`.
#include "cli/cli.hpp"
#include "cli/commands.hpp"
#include "cli/json_report.hpp"
#include "cli/live_job.hpp"
#include "cli/recorded_files.hpp"

#include <jobcore/explain.hpp>
#include <jobcore/schema.hpp>

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <ostream>

namespace signalbox::op::cli {

namespace {

constexpr std::size_t line_width = 100;

/// Breaks at spaces; what follows the first line is indented deeper.
std::string wrapped(std::string_view text, std::string_view first, std::string_view rest) {
    std::string out(first);
    std::size_t column = out.size();
    bool at_start = true;
    while (!text.empty()) {
        const std::size_t space = text.find(' ');
        const std::string_view word = text.substr(0, space);
        if (!at_start && column + 1 + word.size() > line_width) {
            out += '\n';
            out += rest;
            column = rest.size();
            at_start = true;
        }
        if (!at_start) {
            out += ' ';
            ++column;
        }
        out += word;
        column += word.size();
        at_start = false;
        text.remove_prefix(space == std::string_view::npos ? text.size() : space + 1);
    }
    return out + '\n';
}

void print_text(
    const recorded_job& r,
    const std::vector<core::explain_line>& lines,
    core::instant now,
    std::ostream& out
) {
    const core::job_meta& meta = r.job.meta;
    fmt::print(
        out,
        "{} {}/{}, at {}\n",
        core::to_string(meta.kind),
        meta.ns,
        meta.name,
        core::format_time(now)
    );
    for (const std::string& note : r.notes) {
        out << wrapped(fmt::format("note: {}.", note), "  ", "    ");
    }
    std::optional<core::explain_section> section;
    for (const core::explain_line& line : lines) {
        if (section != line.section) {
            section = line.section;
            fmt::print(out, "\n{}\n", core::title(line.section));
        }
        const std::string rule = line.rule.empty() ? "" : fmt::format(" [{}]", line.rule);
        out << wrapped(line.sentence + rule, "  - ", "    ");
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

void print(const recording& recorded, core::instant now, output_format format, std::ostream& out) {
    const auto explained = [&](const recorded_job& r) {
        return core::explain(r.job, r.seen(), core::policy(), now);
    };
    if (format == output_format::json) {
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
    for (const recorded_job& r : recorded.jobs) {
        out << gap;
        print_text(r, explained(r), now, out);
        gap = "\n\n";
    }
}

}  // namespace

int explain(const explain_options& options, std::ostream& out, std::ostream& err) {
    const auto refuse = [&](std::string_view why) {
        fmt::print(err, "signalbox explain: {}\n", why);
        return exit_refused;
    };
    if (options.files.empty() == options.target.empty()) {
        return refuse("either -f FILE or the NAME of a job in a cluster is expected");
    }
    if (!options.files.empty()) {
        recorded_files files = read_recorded_files(options.files, options.now);
        if (!files.errors.empty()) {
            for (const std::string& error : files.errors) {
                fmt::print(err, "signalbox explain: {}\n", error);
            }
            return exit_refused;
        }
        print(files.recorded, files.now, options.output, out);
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
    print(recorded, live.facts.now, options.output, out);
    return exit_ok;
}

int docs(std::ostream& out) {
    out << core::api_reference_markdown();
    return exit_ok;
}

}  // namespace signalbox::op::cli
