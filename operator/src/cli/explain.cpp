// SPDX-License-Identifier: Apache-2.0
//
// `signalbox explain`.
#include "cli/cli.hpp"
#include "cli/commands.hpp"
#include "cli/json_report.hpp"
#include "cli/live_job.hpp"
#include "cli/recorded_files.hpp"
#include "cli/text_layout.hpp"

#include <jobcore/explain.hpp>

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <ostream>

namespace signalbox::op::cli {

namespace {

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
    const std::size_t width = output_width();
    for (const std::string& note : r.notes) {
        out << wrapped(fmt::format("note: {}.", note), "  ", "    ", width);
    }
    std::optional<core::explain_section> section;
    for (const core::explain_line& line : lines) {
        if (section != line.section) {
            section = line.section;
            fmt::print(out, "\n{}\n", core::title(line.section));
        }
        const std::string rule = line.rule.empty() ? "" : fmt::format(" [{}]", line.rule);
        out << wrapped(line.sentence + rule, "  - ", "    ", width);
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
    std::string_view a_rule;
    for (const recorded_job& r : recorded.jobs) {
        out << gap;
        const std::vector<core::explain_line> lines = explained(r);
        print_text(r, lines, now, out);
        gap = "\n\n";
        for (const core::explain_line& line : lines) {
            a_rule = a_rule.empty() ? line.rule : a_rule;
        }
    }
    if (!a_rule.empty()) {
        fmt::print(out, "\n`signalbox docs rule {}` shows what a rule says.\n", a_rule);
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

}  // namespace signalbox::op::cli
