// SPDX-License-Identifier: Apache-2.0
#include "api/not_built.hpp"

#include "api/kinds.hpp"
#include "jobcore/schema.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace signalbox::core {
namespace schema {
namespace {

constexpr std::array<unbuilt_feature, 2> features{{
    {"elastic.enabled", "elastic training is not supported yet"},
    {"scheduler.t9kScheduler", "gang scheduling by `t9kScheduler` is not supported yet"},
}};

constexpr std::array<job_kind, 2> kinds{job_kind::deepspeed, job_kind::colossalai};

/// The field at a dotted path; nothing if this kind has none.
const node* find_path(const node& spec, std::string_view path) {
    const node* found = &spec;
    while (found != nullptr && !path.empty()) {
        const auto dot = std::min(path.find('.'), path.size());
        found = found->find(path.substr(0, dot));
        path.remove_prefix(std::min(dot + 1, path.size()));
    }
    return found;
}

}  // namespace

std::span<const unbuilt_feature> unbuilt_features() {
    return features;
}

std::span<const job_kind> unbuilt_kinds() {
    return kinds;
}

void check_not_built(
    job_kind kind, const node& kind_name, const node& spec, findings_collector& findings
) {
    if (std::find(kinds.begin(), kinds.end(), kind) != kinds.end()) {
        findings.error(
            kind_name.order,
            kind_name.pointer,
            fmt::format("{} is not supported yet", to_string(kind)),
            not_supported
        );
    }
    for (const unbuilt_feature& feature : features) {
        const node* asked = find_path(spec, feature.path);
        if (asked == nullptr || !asked->present()) {
            continue;
        }
        if (asked->row->type != value_type::boolean || asked->flag()) {
            findings.error(
                asked->order, asked->pointer, std::string(feature.message), not_supported
            );
        }
    }
}

}  // namespace schema

std::vector<job_kind> supported_kinds() {
    std::vector<job_kind> supported;
    for (const schema::kind_schema& k : schema::all_kinds()) {
        const auto& left_out = schema::kinds;
        if (std::find(left_out.begin(), left_out.end(), k.kind) == left_out.end()) {
            supported.push_back(k.kind);
        }
    }
    return supported;
}

}  // namespace signalbox::core
