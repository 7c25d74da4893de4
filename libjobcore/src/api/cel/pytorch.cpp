// SPDX-License-Identifier: Apache-2.0
//
// Rules of the CRD of PyTorchTrainingJob over several fields (BEHAVIOUR.md api 3).
#include "api/cel/cel.hpp"
#include "api/cel/expressions.hpp"
#include "api/tables/rule_words.hpp"
#include "api/tables/specs.hpp"
#include "api/tables/tables.hpp"

#include <fmt/format.h>

namespace signalbox::core::schema {

std::vector<cel_rule> pytorch_rules() {
    const field& spec = pytorch_spec_field;
    const std::string elastic = value_of(spec, "self", {"elastic", "enabled"});
    const auto some_positive = [](std::string_view name) {
        return fmt::format("self.replicaSpecs.exists(r, !has(r.{0}) || r.{0} > 0)", name);
    };
    const std::string_view size =
        "self.replicaSpecs.map(r, has(r.replicas) ? r.replicas : 1).sum()";
    std::vector<cel_rule> rules = elastic_rules(spec);
    for (cel_rule& rule : mode_rules(spec, "self.replicaSpecs.exists(r, r.type == d.type)")) {
        rules.push_back(std::move(rule));
    }
    rules.push_back(
        {fmt::format(
             "!has(self.scheduler) || !has(self.scheduler.kueue) || self.replicaSpecs.size() <= {}",
             words::most_kueue_types
         ),
         std::string(words::kueue_types),
         ".replicaSpecs"}
    );
    rules.insert(
        rules.end(),
        {
            {fmt::format(
                 "!{} || {}", elastic, value_of(spec, "self", {"torchrunConfig", "enabled"})
             ),
             std::string(words::elastic_needs_torchrun),
             ".elastic"},
            {fmt::format(
                 "!{} || {} != 'static'",
                 elastic,
                 value_of(spec, "self", {"torchrunConfig", "rdzvBackend"})
             ),
             std::string(words::static_rendezvous),
             ".torchrunConfig"},
            {"self.replicaSpecs.all(r, self.replicaSpecs.exists_one(o, o.type == r.type))",
             std::string(words::unique_type),
             ".replicaSpecs"},
            {some_positive("replicas"), std::string(words::no_replica), ".replicaSpecs"},
            {fmt::format("{} <= {}", size, max_replicas),
             fmt::format(words::too_many_replicas, max_replicas),
             ".replicaSpecs"},
            {some_positive("scalingWeight"), std::string(words::no_weight), ".replicaSpecs"},
            {"!has(self.tensorboardSpec) || has(self.tensorboardSpec.logDir) || "
             "(has(self.tensorboardSpec.trainingLogFilesets) && "
             "size(self.tensorboardSpec.trainingLogFilesets) > 0)",
             std::string(words::board_needs_logs),
             ".tensorboardSpec"},
            size_rule(spec, size, pytorch_size_words),
        }
    );
    return rules;
}

std::vector<cel_rule> pytorch_name_rules() {
    return {name_rule(fmt::format(
        "self.spec.replicaSpecs.all(r, [[has(r.replicas) ? r.replicas : 1, {}].max()].all(n, {}))",
        elastic_most(pytorch_spec_field),
        name_room("size(r.type)", "n")
    ))};
}

}  // namespace signalbox::core::schema
