// SPDX-License-Identifier: Apache-2.0
//
// CEL for the CRD. A field of ours may be null, absent or written with an alias. `has` is false for
// null too, so an effective value is one expression:
// `(has(self.a) && has(self.a.b) ? self.a.b : has(self.a) && has(self.a.alias) ? self.a.alias :
// 1)`. Optional access (`self.?a.?b.orValue(1)`) would be shorter, but hides the size of texts and
// lists from the server's cost estimate, which then refuses the CRD.
#include "api/cel.hpp"

#include "api/changes.hpp"
#include "api/tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <span>

namespace signalbox::core::schema {
namespace {

using field_path = std::span<const field* const>;

/// `base.a.b` with `name` in place of the last field's own.
std::string access(std::string_view base, field_path path, std::string_view name) {
    std::string out(base);
    for (const field* parent : path.first(path.size() - 1)) {
        out += fmt::format(".{}", parent->name);
    }
    return fmt::format("{}.{}", out, name);
}

/// `has(base.a) && has(base.a.b)`
std::string is_there(std::string_view base, field_path path, std::string_view name) {
    std::string out;
    std::string object(base);
    for (const field* parent : path.first(path.size() - 1)) {
        object += fmt::format(".{}", parent->name);
        out += fmt::format("has({}) && ", object);
    }
    return fmt::format("{}has({}.{})", out, object, name);
}

/// What stands for the absent field: its default, or a value that it cannot have.
std::string absent_value(const field& row) {
    switch (row.type) {
        case value_type::object_list:
        case value_type::string_list:
        case value_type::opaque_list:
            return "[]";
        case value_type::integer:
            return row.fallback.empty() ? "-1" : std::string(row.fallback);
        default:
            break;
    }
    // JSON texts are CEL but for the quotes.
    std::string text = row.fallback.empty() ? "\"\"" : std::string(row.fallback);
    std::replace(text.begin(), text.end(), '"', '\'');
    return row.type == value_type::int_or_string ? fmt::format("dyn({})", text) : text;
}

/// `<there> ? <value> : ` for each name of the field.
std::string choices(std::string_view base, field_path path) {
    const field& row = *path.back();
    std::vector<std::string_view> names{row.name};
    names.insert(names.end(), row.aliases.begin(), row.aliases.end());
    std::string out;
    for (const std::string_view name : names) {
        const std::string value = access(base, path, name);
        // A text with a default and no fixed values: empty means the default, as absent does.
        const bool empty_is_absent =
            row.type == value_type::string && row.values.empty() && !row.fallback.empty();
        out += empty_is_absent ? fmt::format(
                                     "{} ? ({} == '' ? {} : {}) : ",
                                     is_there(base, path, name),
                                     value,
                                     absent_value(row),
                                     value
                                 )
                               : fmt::format("{} ? {} : ", is_there(base, path, name), value);
    }
    return out;
}

/// An expression that is equal for equal effective values.
std::string effective(std::string_view base, field_path path, field_path fed_by = {}) {
    const field& row = *path.back();
    if (row.type == value_type::object) {
        return fmt::format("({})", is_there(base, path, row.name));
    }
    if (row.required && path.size() == 1) {
        return access(base, path, row.name);
    }
    const std::string value = fmt::format(
        "({}{}{})",
        choices(base, path),
        fed_by.empty() ? "" : choices(base, fed_by),
        absent_value(row)
    );
    return row.type == value_type::int_or_string ? fmt::format("string{}", value) : value;
}

/// A list of objects is equal if each member field is, item by item.
std::string same_list(field_path path) {
    std::string out;
    for (const field& member : path.back()->fields) {
        const field* const step = &member;
        const std::string value = effective("r", {&step, 1});
        out += fmt::format(
            "{}{}.map(r, {}) == {}.map(r, {})",
            out.empty() ? "" : " && ",
            effective("self", path),
            value,
            effective("oldSelf", path),
            value
        );
    }
    return out;
}

std::string unchanged(const change_unit& unit) {
    if (unit.path.back()->type == value_type::object_list) {
        return same_list(unit.path);
    }
    const std::string now = effective("self", unit.path, unit.fed_by);
    const std::string then = effective("oldSelf", unit.path, unit.fed_by);
    // The server cannot estimate the length of a text made by a conversion, but that of a list.
    return unit.path.back()->type == value_type::int_or_string
               ? fmt::format("[{}] == [{}]", now, then)
               : fmt::format("{} == {}", now, then);
}

/// The field at a path of names, for rules written by hand.
std::string value_of(
    job_kind kind, std::string_view base, std::initializer_list<std::string_view> names
) {
    std::vector<const field*> path;
    std::span<const field> rows = spec_field(kind)->fields;
    for (const std::string_view name : names) {
        for (const field& row : rows) {
            if (row.name == name) {
                path.push_back(&row);
            }
        }
        rows = path.back()->fields;
    }
    return effective(base, path);
}

/// One rule per field below `spec` and kind of restriction: few rules, still with clear messages.
std::vector<cel_rule> transition_rules(job_kind kind) {
    const std::string was_paused = value_of(kind, "oldSelf", {"runMode", "pause", "enabled"});
    std::vector<cel_rule> rules;
    for (const change_unit& unit : change_units(*spec_field(kind))) {
        const bool never = unit.when == change::never;
        rules.push_back({
            never ? unchanged(unit) : fmt::format("{} || ({})", was_paused, unchanged(unit)),
            fmt::format(
                "`{}` {}",
                dotted(unit.path),
                never ? "cannot be changed" : "can be changed only while the job is paused"
            ),
            fmt::format(".{}", unit.path.front()->name),
        });
    }
    return rules;
}

std::vector<cel_rule> elastic_rules(job_kind kind) {
    const std::string enabled = value_of(kind, "self", {"elastic", "enabled"});
    const std::string maximum = value_of(kind, "self", {"elastic", "maxReplicas"});
    const std::string expected = value_of(kind, "self", {"elastic", "expectedReplicas"});
    std::string minimum;
    for (const change_unit& unit : change_units(*spec_field(kind))) {
        if (dotted(unit.path) == "elastic.minReplicas") {
            minimum = effective("self", unit.path, unit.fed_by);
        }
    }
    return {
        {fmt::format("!{} || {} != -1", enabled, maximum),
         "`maxReplicas` is missing; elastic training needs the largest number of replicas",
         ".elastic"},
        {fmt::format("{0} == -1 || {0} >= {1}", maximum, minimum),
         "`maxReplicas` must be at least `minReplicas`",
         ".elastic"},
        {fmt::format(
             "{0} == -1 || ({0} >= {1} && ({2} == -1 || {0} <= {2}))", expected, minimum, maximum
         ),
         "`expectedReplicas` must be from `minReplicas` to `maxReplicas`",
         ".elastic"},
    };
}

std::vector<cel_rule> pytorch_rules() {
    constexpr auto kind = job_kind::pytorch;
    const std::string elastic = value_of(kind, "self", {"elastic", "enabled"});
    const auto list_rule = [](std::initializer_list<std::string_view> list) {
        return fmt::format(
            "{}.all(d, d.type == 'master' || self.replicaSpecs.exists(r, r.type == d.type))",
            value_of(kind, "self", list)
        );
    };
    const auto some_positive = [](std::string_view name) {
        return fmt::format("self.replicaSpecs.exists(r, !has(r.{0}) || r.{0} > 0)", name);
    };
    constexpr std::string_view list_message =
        "`type` must be a replica type of the job, or `master`";
    std::vector<cel_rule> rules = elastic_rules(kind);
    rules.insert(
        rules.end(),
        {
            {fmt::format(
                 "!{} || {}", elastic, value_of(kind, "self", {"torchrunConfig", "enabled"})
             ),
             "elastic training needs torchrun: set `torchrunConfig.enabled`",
             ".elastic"},
            {fmt::format(
                 "!{} || {} != 'static'",
                 elastic,
                 value_of(kind, "self", {"torchrunConfig", "rdzvBackend"})
             ),
             "`rdzvBackend` must not be `static` with elastic training",
             ".torchrunConfig"},
            {"self.replicaSpecs.all(r, self.replicaSpecs.exists_one(o, o.type == r.type))",
             "`type` must be unique",
             ".replicaSpecs"},
            {some_positive("replicas"), "the job needs at least one replica", ".replicaSpecs"},
            {some_positive("scalingWeight"),
             "`scalingWeight` must not be 0 for all replica types",
             ".replicaSpecs"},
            {list_rule({"runMode", "debug", "replicaSpecs"}),
             std::string(list_message),
             ".runMode"},
            {list_rule({"runMode", "pause", "resumeSpecs"}), std::string(list_message), ".runMode"},
            {"!has(self.tensorboardSpec) || has(self.tensorboardSpec.logDir) || "
             "(has(self.tensorboardSpec.trainingLogFilesets) && "
             "size(self.tensorboardSpec.trainingLogFilesets) > 0)",
             "`tensorboardSpec` needs one of `trainingLogFilesets` and `logDir`",
             ".tensorboardSpec"},
        }
    );
    return rules;
}

}  // namespace

std::vector<cel_rule> object_rules(job_kind kind) {
    std::vector<cel_rule> rules{
        {"self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",
         "`metadata.name` must be a lower-case DNS label that starts with a letter",
         ""},
    };
    if (kind == job_kind::pytorch) {
        const std::string most = fmt::format(
            "({} ? {} : 0)",
            value_of(kind, "self.spec", {"elastic", "enabled"}),
            value_of(kind, "self.spec", {"elastic", "maxReplicas"})
        );
        // Replicas are at most 10,000, so that the last index has at most four digits.
        rules.push_back({
            fmt::format(
                "self.spec.replicaSpecs.all(r, [[has(r.replicas) ? r.replicas : 1, "
                "{}].max()].all(n, "
                "size(self.metadata.name) + 8 + size(r.type) + "
                "(n <= 10 ? 1 : n <= 100 ? 2 : n <= 1000 ? 3 : 4) <= 63))",
                most
            ),
            "`metadata.name` is too long: names of pods, <name>-<hash>-<type>-<index>, must fit "
            "into "
            "63 characters",
            "",
        });
    }
    return rules;
}

std::vector<cel_rule> spec_rules(job_kind kind) {
    if (spec_field(kind) == nullptr) {
        return {};
    }
    std::vector<cel_rule> rules = pytorch_rules();
    for (cel_rule& rule : transition_rules(kind)) {
        rules.push_back(std::move(rule));
    }
    return rules;
}

}  // namespace signalbox::core::schema
