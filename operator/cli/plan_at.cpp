// SPDX-License-Identifier: Apache-2.0
//
// `signalbox plan --at`: the next decision on a recorded state, with every object and patch whole.
#include "cli/cli.hpp"
#include "cli/commands.hpp"
#include "cli/print_line.hpp"
#include "cli/recorded_files.hpp"
#include "manifests/json_edit.hpp"
#include "manifests/yaml_writer.hpp"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <ostream>

namespace signalbox::op::cli {

namespace {

/// Comments go on in every line of a text.
std::string comment(std::string_view text) {
    return "# " + core::printable(text) + "\n";
}

/// What identifies the job, with the status alone.
std::string status_document(const core::job_object& job, const core::job_status& status) {
    std::string json = "{}";
    json = manifests::with_string(json, "/apiVersion", core::api_version);
    json = manifests::with_string(json, "/kind", core::to_string(job.meta.kind));
    json = manifests::with_string(json, "/metadata/name", job.meta.name);
    json = manifests::with_string(json, "/metadata/namespace", job.meta.ns);
    json = manifests::with_string(json, "/metadata/uid", job.meta.uid);
    return manifests::with_value(json, "/status", core::format_status(status, job.meta.kind));
}

std::string headline(const core::job_object& job, const core::action& a, std::size_t stage) {
    const bool is_job = a.kind == core::object_kind::job;
    std::string text = fmt::format(
        "stage {}: {} {} {}",
        stage,
        core::to_string(a.what()),
        is_job ? core::to_string(job.meta.kind) : core::to_string(a.kind),
        a.name
    );
    if (!a.uid().empty()) {
        text += fmt::format(" (UID {})", a.uid());
    }
    text += fmt::format(": {} ({})", a.why, a.rule);
    if (a.not_before) {
        text += fmt::format(
            "\nnot before {}", core::format_time(core::round_up_to_second(*a.not_before))
        );
    }
    return text;
}

void print_action(
    const core::job_object& job,
    const core::decision& made,
    const core::action& a,
    std::size_t stage,
    std::ostream& out
) {
    out << "---\n" << comment(headline(job, a, stage));
    if (a.what() == core::verb::create) {
        out << manifests::to_yaml(core::preview_action(job, made, a));
    } else if (!a.body().empty()) {
        out << manifests::to_yaml(std::string(a.body()));
    }
}

void print_job(const recorded_job& r, core::instant now, std::ostream& out) {
    const core::job_meta& meta = r.job.meta;
    const core::decision d = core::decide(r.job, r.seen(), core::policy(), now);
    out << "---\n"
        << comment(fmt::format(
               "{} {}/{}, at {}",
               core::to_string(meta.kind),
               meta.ns,
               meta.name,
               core::format_time(now)
           ));
    for (const std::string& note : r.notes) {
        out << comment("note: " + note);
    }
    if (d.status) {
        out << comment(
                   d.deferrable() ? fmt::format(
                                        "the status, to be written within {:g} s of the last one",
                                        std::chrono::duration<double>(d.defer).count()
                                    )
                                  : "the status, to be written before anything else"
               )
            << manifests::to_yaml(status_document(r.job, *d.status));
    } else {
        out << comment("the status stays as it is");
    }
    std::size_t number = 0;
    for (const core::stage& actions : d.stages) {
        ++number;
        for (const core::action& a : actions) {
            print_action(r.job, d, a, number, out);
        }
    }
    if (d.stages.empty()) {
        const bool records = d.status && !d.deferrable();
        out << comment(
            records ? "no action now: what follows from this status is decided when it is "
                      "written"
                    : "no action: all that can be done now is done"
        );
    }
}

}  // namespace

int plan_at(const plan_options& options, std::ostream& out, std::ostream& err) {
    const recorded_files files = read_recorded_files(options.at, options.now);
    for (const std::string& error : files.errors) {
        print_line(err, "signalbox plan: {}", error);
    }
    if (!files.errors.empty()) {
        return exit_refused;
    }
    for (const recorded_job& r : files.recorded.jobs) {
        print_job(r, files.now, out);
    }
    return exit_ok;
}

}  // namespace signalbox::op::cli
