// SPDX-License-Identifier: Apache-2.0
//
// Rules in CEL for the CRD: those over several fields, and what may change. One file per kind has
// the rules of its own.
#pragma once

#include "api/tables/schema_types.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace signalbox::core::schema {

struct cel_rule {
    std::string rule;
    std::string message;
    std::string field_path;  ///< below the place of the rule; empty: that place
};

/// The form of the name of a job, at the object.
cel_rule job_name_rule();
/// What may change when (BEHAVIOUR.md api 7), at `spec`.
std::vector<cel_rule> transition_rules(const field& spec);

/// Rules of `elastic`, for the kinds that have it.
std::vector<cel_rule> elastic_rules(const field& spec);
/// What makes the size of a job that is not elastic, for messages, by kind.
inline constexpr std::string_view pytorch_size_words = "the sum of `replicas`";
inline constexpr std::string_view deepspeed_size_words = "`worker.replicas`";
inline constexpr std::string_view colossalai_size_words =
    "`replicas` of the workers and 1 for the launcher";
/// What is wrong with another size.
std::string size_message(std::string_view words);
/// That the size of a job that is not elastic is changed by `replicas` alone (BEHAVIOUR.md
/// api 7.1). `size` is its number of pods, in CEL. The message has no number: to the server a text
/// that is made of one may have any length, and costs too much.
cel_rule size_rule(const field& spec, std::string_view size, std::string_view words);
/// At most one scheduler, and the types in the debug and resume lists. `is_type` says in CEL that
/// `d.type` is one of the job.
std::vector<cel_rule> mode_rules(const field& spec, std::string_view is_type);
/// The job's name leaves room for `count` pods of a type of `type_size` characters
/// (BEHAVIOUR.md api 6.3); all in CEL, at the object.
std::string name_room(std::string_view type_size, std::string_view count);
/// `elastic.maxReplicas` if elastic training is on, else 0; at the object.
std::string elastic_most(const field& spec);
/// The rule made of an expression of name_room.
cel_rule name_rule(std::string expression);

std::vector<cel_rule> pytorch_rules();
std::vector<cel_rule> pytorch_name_rules();
std::vector<cel_rule> deepspeed_rules();
std::vector<cel_rule> deepspeed_name_rules();
std::vector<cel_rule> colossalai_rules();
std::vector<cel_rule> colossalai_name_rules();

}  // namespace signalbox::core::schema
