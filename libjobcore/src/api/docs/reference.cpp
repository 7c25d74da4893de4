// SPDX-License-Identifier: Apache-2.0
//
// The API reference in Markdown, from the tables. libjobcore/API.md is its output.
#include "api/docs/field_words.hpp"
#include "api/job/kinds.hpp"
#include "api/rules/annotations.hpp"
#include "api/tables/tables.hpp"
#include "jobcore/schema.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>

namespace signalbox::core {
namespace {

using namespace schema;

class reference_writer {
public:
    std::string write();

private:
    void write_kind(const kind_schema& kind);
    void write_fields(const field& parent, const std::string& path, change inherited);
    void write_status(const field& parent, const std::string& path);
    void write_annotations();

    template <class... Arguments>
    void line(fmt::format_string<Arguments...> text, Arguments&&... arguments) {
        out_ += fmt::format(text, std::forward<Arguments>(arguments)...) + "\n";
    }

    std::string out_;
};

std::string path_of(const std::string& parent, const field& row) {
    return fmt::format(
        "{}{}{}{}",
        parent,
        parent.empty() ? "" : ".",
        row.name,
        row.type == value_type::object_list ? "[]" : ""
    );
}

void reference_writer::write_fields(
    const field& parent, const std::string& path, change inherited
) {
    for (const field& row : parent.fields) {
        const change when = row.when == change::inherit ? inherited : row.when;
        const std::string name = path_of(path, row);
        line(
            "| `{}` | {} | {} | {} | {} | {} |",
            name,
            type_words(row),
            default_words(row),
            rule_words(row),
            change_words(when),
            row.doc
        );
        write_fields(row, name, when);
    }
}

void reference_writer::write_status(const field& parent, const std::string& path) {
    for (const field& row : parent.fields) {
        const std::string name = path_of(path, row);
        const std::string values = value_words(row);
        line(
            "| `{}` | {} | {}{}{} |",
            name,
            type_words(row),
            row.doc,
            values.empty() ? "" : " One of ",
            values
        );
        write_status(row, name);
    }
}

void reference_writer::write_kind(const kind_schema& kind) {
    line("## {}\n", kind.name);
    line(
        "Plural `{}`, short name `{}`. Subresources `status` and `scale`.\n",
        kind.plural,
        kind.short_name
    );
    line("### spec\n");
    line("| field | type | default | must be | may change | meaning |");
    line("|---|---|---|---|---|---|");
    write_fields(*kind.spec, "", change::inherit);
    line("\nRules over several fields that the API server checks:\n");
    for (const cel_rule& rule : kind.spec_rules()) {
        line(
            "- {}{}.",
            rule.field_path.empty() ? "" : fmt::format("`{}`: ", rule.field_path.substr(1)),
            rule.message
        );
    }
    line("\n### status\n");
    line("| field | type | meaning |");
    line("|---|---|---|");
    write_status(*kind.status, "");
    line("");
}

void reference_writer::write_annotations() {
    line("## Annotations on a job\n");
    line("| annotation | value | meaning |");
    line("|---|---|---|");
    for (const annotation& row : our_annotations()) {
        line("| `{}/{}` | {} | {} |", api_group, row.name, values_of(row), row.doc);
    }
    line("\nAnother value has no effect and is a warning.\n");
}

std::string reference_writer::write() {
    line("# API reference\n");
    line("Made from the tables in `src/api/`: change these, not this file.\n");
    line(
        "All kinds belong to `{}` and are namespaced. In every field null means absent. An old "
        "name or spelling is accepted and reported as a warning; if the new name is there too, it "
        "counts. A field *while paused* may change only in an update of a job whose "
        "`runMode.pause.enabled` was true before.\n",
        api_version
    );
    for (const kind_schema& kind : all_kinds()) {
        write_kind(kind);
    }
    write_annotations();
    out_.pop_back();
    return std::move(out_);
}

}  // namespace

std::string api_reference_markdown() {
    return reference_writer().write();
}

}  // namespace signalbox::core
