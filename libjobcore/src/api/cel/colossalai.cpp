// SPDX-License-Identifier: Apache-2.0
//
// Rules of the CRD of ColossalAIJob over several fields (BEHAVIOUR.md api 4).
#include "api/cel/cel.hpp"
#include "api/cel/expressions.hpp"
#include "api/tables/rule_words.hpp"
#include "api/tables/specs.hpp"

#include <fmt/format.h>

namespace signalbox::core::schema {
namespace {

/// That every entry of the second shape fulfils the condition on `r`.
std::string every_entry(std::string_view condition) {
    return fmt::format("!has(self.replicaSpecs) || self.replicaSpecs.all(r, {})", condition);
}

}  // namespace

std::vector<cel_rule> colossalai_rules() {
    const field& spec = colossalai_spec_field;
    const std::string size = fmt::format(
        "((has(self.replicaSpecs) ? self.replicaSpecs.map(r, r.type != 'worker' ? 0 : "
        "has(r.replicas) ? r.replicas : 1).sum() : {}) + 1)",
        value_of(spec, "self", {"worker", "replicas"})
    );
    const std::string debug = value_of(spec, "self", {"runMode", "debug", "enabled"});
    std::vector<cel_rule> rules = mode_rules(spec, "d.type in ['launcher', 'worker']");
    rules.insert(
        rules.end(),
        {
            {"!(has(self.launcher) || has(self.worker)) || "
             "!(has(self.torchConfig) || has(self.replicaSpecs))",
             std::string(words::mixed_forms),
             ""},
            {"has(self.worker) || has(self.replicaSpecs)", std::string(words::no_worker), ""},
            {fmt::format(
                 "!has(self.worker) || {} || size({}) > 0",
                 debug,
                 value_of(spec, "self", {"worker", "command"})
             ),
             fmt::format(words::no_script, "command"),
             ".worker"},
            {fmt::format(
                 "!has(self.replicaSpecs) || {} || size({}) > 0",
                 debug,
                 value_of(spec, "self", {"torchConfig", "script"})
             ),
             fmt::format(words::no_script, "script"),
             ".torchConfig"},
            {"!has(self.replicaSpecs) || (self.replicaSpecs.exists_one(r, r.type == 'worker') && "
             "self.replicaSpecs.all(r, self.replicaSpecs.exists_one(o, o.type == r.type)))",
             std::string(words::entry_types),
             ".replicaSpecs"},
            {every_entry("r.type != 'launcher' || !has(r.replicas) || r.replicas == 1"),
             std::string(words::one_launcher),
             ".replicaSpecs"},
            {every_entry("!has(r.restartPolicy) || !has(r.restartPolicy.limit) || "
                         "r.restartPolicy.limit <= 0"),
             std::string(words::no_limit),
             ".replicaSpecs"},
            size_rule(spec, size, colossalai_size_words),
        }
    );
    return rules;
}

std::vector<cel_rule> colossalai_name_rules() {
    const std::string workers =
        value_of(colossalai_spec_field, "self.spec", {"worker", "replicas"});
    return {
        name_rule(name_room("8", "1")),  // launcher
        name_rule(fmt::format("[{}].all(n, {})", workers, name_room("6", "n"))),
        name_rule(fmt::format(
            "!has(self.spec.replicaSpecs) || "
            "self.spec.replicaSpecs.all(r, [has(r.replicas) ? r.replicas : 1].all(n, {}))",
            name_room("size(r.type)", "n")
        )),
    };
}

}  // namespace signalbox::core::schema
