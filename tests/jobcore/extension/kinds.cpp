// SPDX-License-Identifier: Apache-2.0
//
// In place of the library's api/job/kinds.cpp and launch/kinds.cpp, with one kind only: nothing
// else needs the others.
#include "api/job/kinds.hpp"

#include "api/tables/specs.hpp"
#include "extension/process_job.hpp"
#include "launch/kinds.hpp"

namespace signalbox::core {
namespace schema {
namespace {

constexpr kind_schema process{
    .kind = process_kind,
    .name = "ProcessJob",
    .plural = "processjobs",
    .short_name = "prj",
    .doc = "Processes.",
    .spec = &process_spec_field,
    .status = &pytorch_status_field,
    .has_restarts = true,
    .check = check_process,
    .check_pods = [](const node&, findings_collector&) {},
    .name_needs = process_name_needs,
    .size = process_size,
    .size_words = "`process.replicas`",
    .bind = bind_process,
    .spec_rules = [] { return std::vector<cel_rule>(); },
    .name_rules = [] { return std::vector<cel_rule>(); },
};

}  // namespace

std::span<const kind_schema> all_kinds() {
    return {&process, 1};
}

const kind_schema& schema_of(job_kind) {
    return process;
}

}  // namespace schema

std::string_view to_string(job_kind) {
    return schema::process.name;
}

std::optional<job_kind> parse_job_kind(std::string_view kind) {
    return kind == schema::process.name ? std::optional(process_kind) : std::nullopt;
}

std::string_view plural(job_kind) {
    return schema::process.plural;
}

bool restarts(job_kind) {
    return schema::process.has_restarts;
}

const launch::kind_row& launch::row_of(job_kind) {
    static constexpr kind_row row{process_kind, compile_process};
    return row;
}

}  // namespace signalbox::core
