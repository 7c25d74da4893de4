// SPDX-License-Identifier: Apache-2.0
//
// `signalbox validate`: all findings of all files at once.
#include "cli/check.hpp"
#include "cli/cli.hpp"
#include "cli/commands.hpp"

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <rapidjson/ostreamwrapper.h>
#include <rapidjson/prettywriter.h>

#include <ostream>

namespace signalbox::op::cli {

namespace {

std::string counted(std::size_t n, std::string_view noun) {
    return fmt::format("{} {}{}", n, noun, n == 1 ? "" : "s");
}

void print_note(const checked_object& o, std::string_view note, std::ostream& out) {
    fmt::print(
        out,
        "{}: {}\n",
        manifests::to_text(o.source.file(), o.source.locate("")),
        fmt::format(fmt::runtime(note), title(o.source))
    );
}

void print_text(const check_result& checked, bool with_live, std::ostream& out) {
    for (const finding& f : checked.findings) {
        fmt::print(out, "{}\n", to_text(f));
    }
    for (const checked_object& o : checked.objects) {
        if (!o.is_job) {
            print_note(o, "skipped: {} is no training job", out);
        } else if (with_live && !o.is_update) {
            print_note(o, "{} is not in the cluster: checked as a new job", out);
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

class json_report {
public:
    explicit json_report(std::ostream& out) : stream_(out), writer_(stream_) {
        writer_.SetIndent(' ', 2);
    }

    void write(const check_result& checked) {
        writer_.StartObject();
        writer_.Key("valid");
        writer_.Bool(checked.errors == 0);
        number("errors", checked.errors);
        number("warnings", checked.warnings);
        writer_.Key("objects");
        writer_.StartArray();
        for (const checked_object& o : checked.objects) {
            write(o);
        }
        writer_.EndArray();
        writer_.Key("findings");
        writer_.StartArray();
        for (const finding& f : checked.findings) {
            write(f);
        }
        writer_.EndArray();
        writer_.EndObject();
    }

private:
    void text(const char* key, std::string_view value) {
        writer_.Key(key);
        writer_.String(value.data(), static_cast<rapidjson::SizeType>(value.size()));
    }
    void number(const char* key, std::size_t value) {
        writer_.Key(key);
        writer_.Uint64(value);
    }
    void place(const std::string& file, manifests::position where) {
        text("file", file);
        number("line", where.line);
        number("column", where.column);
    }

    void write(const checked_object& o) {
        writer_.StartObject();
        place(o.source.file(), o.source.locate(""));
        text("apiVersion", o.source.api_version());
        text("kind", o.source.kind());
        text("name", o.source.name());
        writer_.Key("skipped");
        writer_.Bool(!o.is_job);
        writer_.Key("update");
        writer_.Bool(o.is_update);
        writer_.Key("valid");
        writer_.Bool(o.valid);
        writer_.EndObject();
    }

    void write(const finding& f) {
        writer_.StartObject();
        place(f.file, f.where);
        text("level", f.level == core::severity::error ? "error" : "warning");
        text("pointer", f.pointer);
        text("message", f.message);
        text("reason", f.reason);
        text("object", f.object);
        writer_.EndObject();
    }

    rapidjson::OStreamWrapper stream_;
    rapidjson::PrettyWriter<rapidjson::OStreamWrapper> writer_;
};

}  // namespace

int validate(const validate_options& options, std::ostream& out, std::ostream&) {
    const check_result checked = check(options.files, options.live);
    if (options.output == output_format::json) {
        json_report(out).write(checked);
        out << '\n';
    } else {
        print_text(checked, !options.live.empty(), out);
    }
    return checked.errors == 0 ? exit_ok : exit_refused;
}

}  // namespace signalbox::op::cli
