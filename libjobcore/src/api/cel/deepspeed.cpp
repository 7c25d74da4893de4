// SPDX-License-Identifier: Apache-2.0
//
// Rules of the CRD of DeepSpeedJob over several fields (BEHAVIOUR.md api 2).
#include "api/cel/cel.hpp"
#include "api/cel/expressions.hpp"
#include "api/tables/rule_words.hpp"
#include "api/tables/specs.hpp"

#include <fmt/format.h>

namespace signalbox::core::schema {

std::vector<cel_rule> deepspeed_rules() {
    const field& spec = deepspeed_spec_field;
    const auto value = [&](std::initializer_list<std::string_view> names) {
        return value_of(spec, "self", names);
    };
    // These have no training program of `config.run`.
    const std::string other = fmt::format(
        "{} || {} != ''", value({"runMode", "debug", "enabled"}), value({"config", "customCommand"})
    );
    const std::string python = value({"config", "run", "python"});
    std::vector<cel_rule> rules = elastic_rules(spec);
    for (cel_rule& rule : mode_rules(spec, "d.type == 'worker'")) {
        rules.push_back(std::move(rule));
    }
    rules.push_back(
        {fmt::format(
             "{} || [size({}) > 0, size({}) > 0, size({}) > 0].exists_one(b, b)",
             other,
             python,
             value({"config", "run", "module"}),
             value({"config", "run", "exec"})
         ),
         std::string(words::one_program),
         ".config"}
    );
    rules.push_back(size_rule(spec, value({"worker", "replicas"}), deepspeed_size_words));
    rules.push_back(
        {fmt::format(
             "{} || {} == 'none' || size({}) > 0", other, value({"config", "autotune"}), python
         ),
         std::string(words::autotune_needs_script),
         ".config"}
    );
    return rules;
}

std::vector<cel_rule> deepspeed_name_rules() {
    const field& spec = deepspeed_spec_field;
    return {name_rule(fmt::format(
        "[[{}, {}].max()].all(n, {})",
        value_of(spec, "self.spec", {"worker", "replicas"}),
        elastic_most(spec),
        name_room("6", "n")
    ))};
}

}  // namespace signalbox::core::schema
