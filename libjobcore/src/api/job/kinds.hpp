// SPDX-License-Identifier: Apache-2.0
//
// One row per kind: its names, its table, its rules, its binding. Nothing else in src/api asks
// which kind it has before it.
#pragma once

#include "api/cel/cel.hpp"
#include "api/rules/rules.hpp"
#include "jobcore/spec.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace signalbox::core::schema {

struct kind_schema {
    job_kind kind;
    std::string_view name;
    std::string_view plural;
    std::string_view short_name;
    std::string_view doc;
    const field* spec;
    const field* status;
    bool has_restarts;
    /// Rules over several fields, and L rules (BEHAVIOUR.md api 6.1).
    void (*check)(const node& spec, findings_collector& findings);
    /// What is wrong with the pods, though the job is valid (BEHAVIOUR.md api 6.6, api 6.8).
    void (*check_pods)(const node& spec, findings_collector& findings);
    /// What the job's name has to leave room for (BEHAVIOUR.md api 6.3).
    std::vector<name_need> (*name_needs)(const node& spec);
    /// How many pods a job has that is not elastic (BEHAVIOUR.md 7.1); nothing of an elastic one,
    /// and where what is broken leaves that open.
    std::optional<std::int64_t> (*size)(const node& spec);
    std::string_view size_words;  ///< what makes that number, for messages
    /// From a specification without errors.
    job_spec (*bind)(const node& spec);
    /// Rules of the CRD over several fields, at `spec`.
    std::vector<cel_rule> (*spec_rules)();
    /// Rules of the CRD on the room that the name leaves, at the object.
    std::vector<cel_rule> (*name_rules)();
};

std::span<const kind_schema> all_kinds();
const kind_schema& schema_of(job_kind kind);

}  // namespace signalbox::core::schema
