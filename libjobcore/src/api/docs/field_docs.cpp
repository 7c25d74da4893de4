// SPDX-License-Identifier: Apache-2.0
//
// The documentation of single fields, from the tables, in the shape of `kubectl explain`.
#include "api/docs/field_words.hpp"
#include "api/job/kinds.hpp"
#include "api/rules/annotations.hpp"
#include "api/tables/tables.hpp"
#include "api/walk/text.hpp"
#include "jobcore/schema.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::core {
namespace {

using namespace schema;

/// `Object`, `[]string` ...: what kubectl calls a type.
std::string_view type_name(value_type type) {
    switch (type) {
        case value_type::object:
        case value_type::opaque_object:
            return "Object";
        case value_type::object_list:
        case value_type::opaque_list:
            return "[]Object";
        case value_type::string:
        case value_type::time:
            return "string";
        case value_type::string_list:
            return "[]string";
        case value_type::integer_list:
            return "[]integer";
        case value_type::boolean:
            return "boolean";
        case value_type::integer:
            return "integer";
        case value_type::int_or_string:
            return "IntOrString";
    }
    return {};
}

using object_fields = std::array<field, 5>;

/// What every job object has.
object_fields fields_of(const kind_schema& kind) {
    return {
        field{
            .name = "apiVersion",
            .doc = "The version of the API that the object is written in: `batch.tensorstack.dev/"
                   "v1beta1`.",
            .max_length = 0,
        },
        field{.name = "kind", .doc = "The kind of the object.", .max_length = 0},
        field{
            .name = "metadata",
            .type = value_type::opaque_object,
            .doc = "ObjectMeta: name, namespace, labels, annotations. The name is a part of the "
                   "names of the pods, and has to leave room for the rest of them.",
            .rule = "api 6.3",
            .kubernetes = "pod.metadata",
        },
        *kind.spec,
        *kind.status,
    };
}

bool equal_but_for_case(std::string_view a, std::string_view b) {
    const auto same = [](unsigned char x, unsigned char y) {
        return std::tolower(x) == std::tolower(y);
    };
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), same);
}

const kind_schema* find_kind(std::string_view name) {
    for (const kind_schema& kind : all_kinds()) {
        for (const std::string_view known : {kind.name, kind.plural, kind.short_name}) {
            if (equal_but_for_case(name, known)) {
                return &kind;
            }
        }
    }
    return nullptr;
}

std::string kind_error(std::string_view name) {
    std::string known;
    std::vector<std::string_view> names;
    for (const kind_schema& kind : all_kinds()) {
        known += fmt::format(
            "{}{} ({}, {})", known.empty() ? "" : ", ", kind.name, kind.plural, kind.short_name
        );
        names.insert(names.end(), {kind.name, kind.plural});
    }
    const std::string_view guess = nearest(name, names);
    return fmt::format(
        "{} is none of the kinds {}{}",
        quoted(name),
        known,
        guess.empty() ? "" : fmt::format("; did you mean `{}`?", guess)
    );
}

/// The parts of a path; `replicaSpecs[]` and `replicaSpecs[0]` are `replicaSpecs`.
std::vector<std::string_view> split(std::string_view path) {
    std::vector<std::string_view> steps;
    while (true) {
        const std::size_t dot = path.find('.');
        const std::string_view step = path.substr(0, dot);
        steps.push_back(step.substr(0, step.find('[')));
        if (dot == std::string_view::npos) {
            return steps;
        }
        path.remove_prefix(dot + 1);
    }
}

/// A field, and what it has from those that it is in.
struct found_field {
    field row;
    std::string path;        ///< `DeepSpeedJob.spec.config`
    std::string below_spec;  ///< `.config`, as rules of the CRD name it; of `spec` itself empty
    bool in_spec = false;
    bool in_status = false;
    change when = change::inherit;
    std::string_view rule;

    void enter(const field& child) {
        row = child;
        path += fmt::format(".{}", child.name);
        if (in_spec) {
            below_spec += fmt::format(".{}", child.name);
        }
        in_spec = in_spec || child.name == "spec";
        in_status = in_status || child.name == "status";
        when = child.when == change::inherit ? when : child.when;
        rule = child.rule.empty() ? rule : child.rule;
    }
};

const field* find_child(const field& parent, std::string_view name) {
    const auto row = std::ranges::find_if(parent.fields, [&](const field& child) {
        return child.name == name || std::ranges::count(child.aliases, name) > 0;
    });
    return row == parent.fields.end() ? nullptr : &*row;
}

/// Why `parent` has nothing of the name `steps.front()`.
std::string child_error(const found_field& parent, std::span<const std::string_view> steps) {
    if (!parent.row.kubernetes.empty()) {
        std::string place(parent.row.kubernetes);
        for (const std::string_view step : steps) {
            place += fmt::format(".{}", step);
        }
        return fmt::format(
            "what is in {} belongs to Kubernetes: `kubectl explain {}`", parent.path, place
        );
    }
    if (parent.row.fields.empty()) {
        return fmt::format(
            "{} is {} <{}> and has no field {}",
            parent.path,
            parent.row.type == value_type::integer ? "an" : "a",
            type_name(parent.row.type),
            quoted(steps.front())
        );
    }
    std::vector<std::string_view> names;
    for (const field& child : parent.row.fields) {
        names.push_back(child.name);
    }
    const std::string_view guess = nearest(steps.front(), names);
    const std::string hint = guess.empty() ? fmt::format("it has {}", enumerate(names, "and"))
                                           : fmt::format("did you mean `{}`?", guess);
    return fmt::format("{} has no field {}; {}", parent.path, quoted(steps.front()), hint);
}

std::vector<const field*> sorted(std::span<const field> fields) {
    std::vector<const field*> rows;
    for (const field& row : fields) {
        rows.push_back(&row);
    }
    std::ranges::sort(rows, {}, [](const field* row) { return row->name; });
    return rows;
}

std::string names_of(std::span<const enum_value> values) {
    std::string out;
    for (const enum_value& value : values) {
        out += fmt::format("{}{}", out.empty() ? "" : ", ", value.name);
    }
    return out;
}

class field_writer {
public:
    field_writer(const kind_schema& kind, const found_field& at, bool recursive)
        : kind_(kind), at_(at), recursive_(recursive) {}

    std::string write();

private:
    void write_head();
    void write_values();
    void write_facts();
    void write_checks();
    void write_annotations();
    void write_fields(std::span<const field> fields, std::size_t depth);

    void fact(std::string_view name, const std::string& text) {
        if (!text.empty()) {
            line("{:12}{}", fmt::format("{}:", name), text);
        }
    }
    template <class... Arguments>
    void line(fmt::format_string<Arguments...> text, Arguments&&... arguments) {
        out_ += fmt::format(text, std::forward<Arguments>(arguments)...) + "\n";
    }

    const kind_schema& kind_;
    const found_field& at_;
    bool recursive_;
    std::string out_;
};

void field_writer::write_head() {
    fact("GROUP", std::string(api_group));
    fact("KIND", std::string(kind_.name));
    fact("VERSION", std::string(api_version.substr(api_group.size() + 1)));
    line("");
    if (at_.path != kind_.name) {
        line(
            "FIELD: {} <{}>{}\n",
            at_.row.name,
            type_name(at_.row.type),
            at_.row.required ? " -required-" : ""
        );
    }
}

void field_writer::write_values() {
    if (at_.row.values.empty()) {
        return;
    }
    line("ENUM:");
    for (const enum_value& value : at_.row.values) {
        line(
            "    {}{}",
            value.name,
            value.alias.empty() ? "" : fmt::format(" (old spelling: {})", value.alias)
        );
    }
    line("");
}

void field_writer::write_facts() {
    const std::size_t before = out_.size();
    fact("DEFAULT", std::string(at_.row.fallback));
    fact("MUST BE", bound_words(at_.row));
    for (const std::string_view alias : at_.row.aliases) {
        fact("OLD NAME", std::string(alias));
    }
    fact("NOW", std::string(at_.row.moved_to));
    if (at_.in_spec) {
        fact("MAY CHANGE", std::string(change_words(at_.when)));
    } else if (at_.in_status) {
        fact("WRITTEN BY", "the operator alone");
    }
    if (!at_.rule.empty()) {
        fact("RULE", fmt::format("{} (`signalbox docs rule {}`)", at_.rule, at_.rule));
    }
    out_ += out_.size() > before ? "\n" : "";
}

/// Rules over several fields that the API server checks at this one.
void field_writer::write_checks() {
    if (!at_.in_spec) {
        return;
    }
    std::set<std::string> said;
    for (const cel_rule& rule : kind_.spec_rules()) {
        if (rule.field_path == at_.below_spec && said.insert(rule.message).second) {
            out_ += said.size() == 1 ? "CHECKS:\n" : "";
            line("  - {}", rule.message);
        }
    }
    out_ += said.empty() ? "" : "\n";
}

void field_writer::write_annotations() {
    line("ANNOTATIONS:");
    for (const annotation& row : our_annotations()) {
        line("  {}/{}\t<string>", api_group, row.name);
        line("    {} Must be {}.\n", row.doc, values_of(row));
    }
    line("RULE:       api 1.11 (`signalbox docs rule api 1.11`)\n");
}

void field_writer::write_fields(std::span<const field> fields, std::size_t depth) {
    const std::string indent(2 * depth, ' ');
    for (const field* row : sorted(fields)) {
        line(
            "{}{}\t<{}>{}",
            indent,
            row->name,
            type_name(row->type),
            row->required ? " -required-" : ""
        );
        if (!row->values.empty()) {
            line("{}enum: {}", indent, names_of(row->values));
        }
        if (recursive_) {
            write_fields(row->fields, depth + 1);
            continue;
        }
        line("{}  {}", indent, row->doc);
        const std::string bounds = bound_words(*row);
        const std::string_view joint = row->fallback.empty() || bounds.empty() ? "" : "; ";
        if (!row->fallback.empty() || !bounds.empty()) {
            line(
                "{}  ({}{}{}{})",
                indent,
                row->fallback.empty() ? "" : "default ",
                row->fallback,
                joint,
                bounds
            );
        }
        line("");
    }
}

std::string field_writer::write() {
    write_head();
    write_values();
    line("DESCRIPTION:\n    {}", at_.row.doc);
    if (!at_.row.kubernetes.empty()) {
        // Of a PodTemplateSpec, `spec` is what people look for.
        const bool is_template = at_.row.kubernetes == "pod";
        line(
            "    Its fields are those of Kubernetes: `kubectl explain {}{}`.",
            at_.row.kubernetes,
            is_template ? ".spec" : ""
        );
    }
    line("");
    write_facts();
    write_checks();
    if (at_.row.name == "metadata" && !at_.in_spec) {
        write_annotations();
    }
    if (!at_.row.fields.empty()) {
        line("FIELDS:");
        write_fields(at_.row.fields, 1);
    }
    out_.erase(out_.find_last_not_of('\n') + 1);
    return out_ + "\n";
}

}  // namespace

field_text field_reference(std::string_view path, bool recursive) {
    const std::vector<std::string_view> steps = split(path);
    const kind_schema* kind = find_kind(steps.front());
    if (kind == nullptr) {
        return {.text = {}, .error = kind_error(steps.front())};
    }
    const object_fields fields = fields_of(*kind);
    found_field at{
        .row =
            field{
                .name = kind->name,
                .type = value_type::object,
                .doc = kind->doc,
                .fields = fields,
                .rule = kind->spec->rule,
            },
        .path = std::string(kind->name),
        .below_spec = {},
        .rule = kind->spec->rule,
    };
    // kubectl takes the group after the plural too.
    const std::size_t group_parts = split(api_group).size();
    const bool has_group = path.size() > steps.front().size() &&
                           path.substr(steps.front().size() + 1).starts_with(api_group);
    for (std::size_t i = has_group ? 1 + group_parts : 1; i < steps.size(); ++i) {
        const field* child = find_child(at.row, steps[i]);
        if (child == nullptr) {
            return {.text = {}, .error = child_error(at, std::span(steps).subspan(i))};
        }
        at.enter(*child);
    }
    return {.text = field_writer(*kind, at, recursive).write(), .error = {}};
}

std::string_view nearest_name(std::string_view text, std::span<const std::string_view> candidates) {
    return nearest(text, candidates);
}

}  // namespace signalbox::core
