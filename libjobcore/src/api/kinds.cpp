// SPDX-License-Identifier: Apache-2.0
//
// The names of the kinds, and which table belongs to which.
#include "api/tables.hpp"
#include "api/tables_kinds.hpp"
#include "jobcore/schema.hpp"

#include <algorithm>
#include <array>

namespace signalbox::core {
namespace {

struct kind_names {
    job_kind kind;
    std::string_view name;
    std::string_view plural;
};

constexpr std::array kinds{
    kind_names{job_kind::pytorch, "PyTorchTrainingJob", "pytorchtrainingjobs"},
    kind_names{job_kind::deepspeed, "DeepSpeedJob", "deepspeedjobs"},
    kind_names{job_kind::colossalai, "ColossalAIJob", "colossalaijobs"},
};

const kind_names& names_of(job_kind kind) {
    return *std::find_if(kinds.begin(), kinds.end(), [&](const auto& k) { return k.kind == kind; });
}

}  // namespace

std::string_view to_string(job_kind kind) {
    return names_of(kind).name;
}

std::optional<job_kind> parse_job_kind(std::string_view kind) {
    for (const kind_names& k : kinds) {
        if (k.name == kind) {
            return k.kind;
        }
    }
    return std::nullopt;
}

std::string_view plural(job_kind kind) {
    return names_of(kind).plural;
}

std::vector<job_kind> supported_kinds() {
    return {job_kind::pytorch};
}

namespace schema {

const field* spec_field(job_kind kind) {
    return kind == job_kind::pytorch ? &pytorch_spec_field : nullptr;
}

bool is_elastic_kind(job_kind kind) {
    return kind != job_kind::colossalai;
}

}  // namespace schema

}  // namespace signalbox::core
