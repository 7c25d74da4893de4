// SPDX-License-Identifier: Apache-2.0
//
// The size of a job is written into its specification once: of an elastic job, so that it can be
// scaled, of another, so that a PodDisruptionBudget can tell how many pods there should be
// (BEHAVIOUR.md 7.1).
#include "engine/facts/ledger.hpp"
#include "engine/view/children.hpp"
#include "engine/work/parts.hpp"
#include "jobcore/strings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace signalbox::core::engine {
namespace {

/// The attempt has what the specification says. Else the note would not be about the pods that are
/// there (10.4).
bool has_size_of_spec(const inputs& in) {
    return std::ranges::equal(
        wanted_in_force(in.job.status, in.plan), in.plan.types, {}, {}, &type_plan::wanted
    );
}

/// A job without a version is on no API server: it has no scale subresource either.
bool wants_size(const inputs& in) {
    if (!in.plan.size_to_write || in.plan.elastic) {
        return in.plan.size_to_write.has_value();
    }
    return !in.job.meta.resource_version.empty() && has_size_of_spec(in);
}

/// The default of an elastic job goes beside anything but a write of the status, which would make
/// the patch stale. The note of another goes alone.
bool may_go(const inputs& in, const decision& made) {
    return in.plan.elastic ? !made.status || made.deferrable()
                           : !made.status && made.stages.empty();
}

action size_patch(const inputs& in) {
    std::string body = fmt::format(
        R"({{"metadata":{{"uid":{},"resourceVersion":{}}},"spec":{{"elastic":{{"expectedReplicas":{}}}}}}})",
        json_string(in.plan.job_uid),
        json_string(in.job.meta.resource_version),
        *in.plan.size_to_write
    );
    return {
        object_kind::job,
        in.plan.job_name,
        patch_object{in.plan.job_uid, std::move(body), std::nullopt},
        {},
        in.plan.elastic ? "the size is written down, so that it can be scaled"
                        : "the size is written down, for the scale subresource",
        "behaviour 7.1"};
}

}  // namespace

std::optional<action> write_size(const inputs& in, const decision& made) {
    if (!wants_size(in)) {
        return std::nullopt;
    }
    action a = size_patch(in);
    const bool now = may_go(in, made);
    const bool beside_record = made.status && !made.deferrable();
    const refusal* r = find_refusal(in, a.kind, a.name);
    if (r != nullptr && !beside_record) {
        // Where it has to stand back it is held, not left out: else its refusal would be forgotten
        // (12.5), and each quiet moment would be a first try.
        const instant next = next_try(in.policy, *r);
        hold(a, now ? next : std::max(next, in.now + in.policy.name_retry), in.now);
        return a;
    }
    return now ? std::optional(std::move(a)) : std::nullopt;
}

}  // namespace signalbox::core::engine
