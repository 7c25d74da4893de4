// SPDX-License-Identifier: Apache-2.0
#include "api/job/kinds.hpp"

#include "api/bind/bind.hpp"
#include "api/tables/specs.hpp"

#include <algorithm>
#include <array>

namespace signalbox::core {
namespace schema {
namespace {

constexpr std::array kinds{
    kind_schema{
        .kind = job_kind::pytorch,
        .name = "PyTorchTrainingJob",
        .plural = "pytorchtrainingjobs",
        .short_name = "pj",
        .doc = "A training of one or several replica types with PyTorch, plain or started by "
               "torchrun.",
        .spec = &pytorch_spec_field,
        .status = &pytorch_status_field,
        .has_restarts = true,
        .check = check_pytorch,
        .check_pods = check_pytorch_pods,
        .name_needs = pytorch_name_needs,
        .size = pytorch_size,
        .size_words = pytorch_size_words,
        .bind = bind_pytorch,
        .spec_rules = pytorch_rules,
        .name_rules = pytorch_name_rules,
    },
    kind_schema{
        .kind = job_kind::deepspeed,
        .name = "DeepSpeedJob",
        .plural = "deepspeedjobs",
        .short_name = "dj",
        .doc = "A training with DeepSpeed: workers, the first of which runs the launcher.",
        .spec = &deepspeed_spec_field,
        .status = &deepspeed_status_field,
        .has_restarts = true,
        .check = check_deepspeed,
        .check_pods = check_deepspeed_pods,
        .name_needs = deepspeed_name_needs,
        .size = deepspeed_size,
        .size_words = deepspeed_size_words,
        .bind = bind_deepspeed,
        .spec_rules = deepspeed_rules,
        .name_rules = deepspeed_name_rules,
    },
    kind_schema{
        .kind = job_kind::colossalai,
        .name = "ColossalAIJob",
        .plural = "colossalaijobs",
        .short_name = "caij",
        .doc = "A training with Colossal-AI: workers, and a launcher in a pod of its own.",
        .spec = &colossalai_spec_field,
        .status = &colossalai_status_field,
        .has_restarts = false,
        .check = check_colossalai,
        .check_pods = check_colossalai_pods,
        .name_needs = colossalai_name_needs,
        .size = colossalai_size,
        .size_words = colossalai_size_words,
        .bind = bind_colossalai,
        .spec_rules = colossalai_rules,
        .name_rules = colossalai_name_rules,
    },
};

}  // namespace

std::span<const kind_schema> all_kinds() {
    return kinds;
}

const kind_schema& schema_of(job_kind kind) {
    return *std::find_if(kinds.begin(), kinds.end(), [&](const auto& k) { return k.kind == kind; });
}

}  // namespace schema

std::string_view to_string(job_kind kind) {
    return schema::schema_of(kind).name;
}

std::optional<job_kind> parse_job_kind(std::string_view kind) {
    for (const schema::kind_schema& k : schema::all_kinds()) {
        if (k.name == kind) {
            return k.kind;
        }
    }
    return std::nullopt;
}

std::string_view plural(job_kind kind) {
    return schema::schema_of(kind).plural;
}

bool restarts(job_kind kind) {
    return schema::schema_of(kind).has_restarts;
}

}  // namespace signalbox::core
