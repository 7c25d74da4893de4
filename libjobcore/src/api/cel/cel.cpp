// SPDX-License-Identifier: Apache-2.0
#include "api/cel/cel.hpp"

#include "api/cel/expressions.hpp"
#include "api/tables/rule_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <utility>

namespace signalbox::core::schema {
// One rule per field below `spec` and kind of restriction: few rules, still with clear messages.
std::vector<cel_rule> transition_rules(const field& spec) {
    const std::string was_paused = value_of(spec, "oldSelf", {"runMode", "pause", "enabled"});
    std::vector<cel_rule> rules;
    for (const change_unit& unit : change_units(spec)) {
        const bool never = unit.when == change::never;
        rules.push_back({
            never ? unchanged(unit) : fmt::format("{} || ({})", was_paused, unchanged(unit)),
            change_message(unit),
            fmt::format(".{}", unit.path.front()->name),
        });
    }
    return rules;
}

std::vector<cel_rule> elastic_rules(const field& spec) {
    const std::string enabled = value_of(spec, "self", {"elastic", "enabled"});
    const std::string maximum = value_of(spec, "self", {"elastic", "maxReplicas"});
    const std::string expected = value_of(spec, "self", {"elastic", "expectedReplicas"});
    std::string minimum;
    for (const change_unit& unit : change_units(spec)) {
        if (dotted(unit.path) == "elastic.minReplicas") {
            minimum = value_of(unit, "self");
        }
    }
    return {
        {fmt::format("!{} || {} != -1", enabled, maximum),
         std::string(words::elastic_needs_maximum),
         ".elastic"},
        {fmt::format("{0} == -1 || {0} >= {1}", maximum, minimum),
         std::string(words::maximum_below_minimum),
         ".elastic"},
        {fmt::format(
             "!{3} || {0} == -1 || ({0} >= {1} && ({2} == -1 || {0} <= {2}))",
             expected,
             minimum,
             maximum,
             enabled
         ),
         std::string(words::expected_outside),
         ".elastic"},
    };
}

std::string size_message(std::string_view words) {
    return fmt::format(
        "`expectedReplicas` of a job that is not elastic must be its size, {}; to change that, "
        "pause the job and change `replicas`",
        words
    );
}

cel_rule size_rule(const field& spec, std::string_view size, std::string_view words) {
    const auto noted = [&](std::string_view base) {
        return value_of(spec, base, {"elastic", "expectedReplicas"});
    };
    const bool may_be_elastic = has_field(spec, {"elastic", "enabled"});
    return {
        fmt::format(
            "{}{} in [-1, {}, {}]",
            may_be_elastic ? value_of(spec, "self", {"elastic", "enabled"}) + " || " : "",
            noted("self"),
            noted("oldSelf"),
            size
        ),
        size_message(words),
        ".elastic.expectedReplicas"};
}

cel_rule scheduler_rule(const field& spec) {
    const auto row = std::ranges::find(spec.fields, "scheduler", &field::name);
    std::string named;
    for (const field& scheduler : row->fields) {
        named += fmt::format("{}has(self.scheduler.{})", named.empty() ? "" : ", ", scheduler.name);
    }
    return {
        fmt::format("!has(self.scheduler) || [{}].filter(s, s).size() <= 1", named),
        std::string(words::one_scheduler),
        ".scheduler"};
}

std::vector<cel_rule> mode_rules(const field& spec, std::string_view is_type) {
    std::vector<cel_rule> rules{scheduler_rule(spec)};
    for (const std::string& list :
         {value_of(spec, "self", {"runMode", "debug", "replicaSpecs"}),
          value_of(spec, "self", {"runMode", "pause", "resumeSpecs"})}) {
        rules.push_back(
            {fmt::format("{}.all(d, d.type == 'master' || {})", list, is_type),
             std::string(words::listed_type),
             ".runMode"}
        );
    }
    return rules;
}

std::string name_room(std::string_view type_size, std::string_view count) {
    // Replicas are at most 10,000, so that the last index has at most four digits.
    return fmt::format(
        "size(self.metadata.name) + 8 + {0} + "
        "({1} <= 10 ? 1 : {1} <= 100 ? 2 : {1} <= 1000 ? 3 : 4) <= 63",
        type_size,
        count
    );
}

std::string elastic_most(const field& spec) {
    return fmt::format(
        "({} ? {} : 0)",
        value_of(spec, "self.spec", {"elastic", "enabled"}),
        value_of(spec, "self.spec", {"elastic", "maxReplicas"})
    );
}

cel_rule name_rule(std::string expression) {
    return {std::move(expression), std::string(words::name_room), ""};
}

cel_rule job_name_rule() {
    return {
        "self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",
        std::string(words::name_form),
        ""};
}

}  // namespace signalbox::core::schema
