// SPDX-License-Identifier: Apache-2.0
//
// The size of an elastic job is written into its specification once, so that it can be scaled
// (BEHAVIOUR.md 7.1).
#include "engine/view/children.hpp"
#include "engine/work/parts.hpp"
#include "json/json.hpp"

#include <fmt/format.h>

#include <utility>

namespace signalbox::core::engine {

std::optional<action> write_default_size(const inputs& in) {
    if (!in.plan.elastic || !in.plan.elastic->default_expected) {
        return std::nullopt;
    }
    std::string body = fmt::format(
        R"({{"metadata":{{"uid":{},"resourceVersion":{}}},"spec":{{"elastic":{{"expectedReplicas":{}}}}}}})",
        json::quoted(in.plan.job_uid),
        json::quoted(in.job.meta.resource_version),
        *in.plan.elastic->default_expected
    );
    action a{
        object_kind::job,
        in.plan.job_name,
        patch_object{in.plan.job_uid, std::move(body), std::nullopt},
        {},
        "the size is written down, so that it can be scaled",
        "behaviour 7.1"};
    if (const refusal* r = find_refusal(in, a.kind, a.name)) {
        hold(a, next_try(in.policy, *r), in.now);
    }
    return a;
}

}  // namespace signalbox::core::engine
