// SPDX-License-Identifier: Apache-2.0
//
// `signalbox validate`: all findings of all files at once.
#include "cli/check.hpp"
#include "cli/cli.hpp"
#include "cli/commands.hpp"
#include "cli/json_report.hpp"
#include "cli/print_line.hpp"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <ostream>

namespace signalbox::op::cli {

namespace {

std::string counted(std::size_t n, std::string_view noun) {
    return fmt::format("{} {}{}", n, noun, n == 1 ? "" : "s");
}

void print_note(const checked_object& o, std::string_view note, std::ostream& out) {
    print_line(out, "{}: {}", manifests::to_text(o.source.file(), o.source.locate("")), note);
}

void print_text(const check_result& checked, bool with_live, std::ostream& out) {
    for (const finding& f : checked.findings) {
        print_line(out, "{}", to_text(f));
    }
    for (const checked_object& o : checked.objects) {
        if (!o.is_job) {
            print_note(o, fmt::format("skipped: {} is no training job", title(o.source)), out);
        } else if (with_live && !o.is_update) {
            print_note(
                o,
                fmt::format("{} is not in the cluster: checked as a new job", title(o.source)),
                out
            );
        }
    }
    const std::size_t updates = checked.updates();
    fmt::print(
        out,
        "{}{}: {}, {}\n",
        counted(checked.jobs(), "job"),
        updates == 0 ? "" : fmt::format(", {}", counted(updates, "update")),
        counted(checked.errors, "error"),
        counted(checked.warnings, "warning")
    );
}

void print_place(json_report& json, const std::string& file, manifests::position where) {
    json.text("file", file);
    json.number("line", where.line);
    json.number("column", where.column);
}

void print_object(json_report& json, const checked_object& o) {
    json.writer().StartObject();
    print_place(json, o.source.file(), o.source.locate(""));
    json.text("apiVersion", o.source.api_version());
    json.text("kind", o.source.kind());
    json.text("name", o.source.name());
    json.flag("skipped", !o.is_job);
    json.flag("update", o.is_update);
    json.flag("valid", o.valid);
    json.writer().EndObject();
}

void print_finding(json_report& json, const finding& f) {
    json.writer().StartObject();
    print_place(json, f.file, f.where);
    json.text("level", f.level == core::severity::error ? "error" : "warning");
    json.text("pointer", f.pointer);
    json.text("message", f.message);
    json.text("reason", f.reason);
    json.text("object", f.object);
    json.writer().EndObject();
}

void print_json(const check_result& checked, std::ostream& out) {
    json_report json(out);
    json.writer().StartObject();
    json.flag("valid", checked.errors == 0);
    json.number("errors", checked.errors);
    json.number("warnings", checked.warnings);
    json.list("objects", checked.objects, [&](const auto& o) { print_object(json, o); });
    json.list("findings", checked.findings, [&](const auto& f) { print_finding(json, f); });
    json.writer().EndObject();
    out << '\n';
}

}  // namespace

int validate(const validate_options& options, std::ostream& out, std::ostream&) {
    const check_result checked = check(options.files, options.live);
    if (options.output == output_format::json) {
        print_json(checked, out);
    } else {
        print_text(checked, !options.live.empty(), out);
    }
    const bool good = checked.errors == 0 && !(options.strict && checked.warnings > 0);
    return good ? exit_ok : exit_refused;
}

}  // namespace signalbox::op::cli
