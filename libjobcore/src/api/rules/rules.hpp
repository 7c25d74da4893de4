// SPDX-License-Identifier: Apache-2.0
//
// Rules over several fields, and those that inspect templates and launcher arguments
// (BEHAVIOUR.md api 6.1, mark L). They run over trees with errors too, so that all errors are found
// at once: a rule skips what is broken already.
#pragma once

#include "api/walk/walk.hpp"
#include "jobcore/spec.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::core::schema {

/// A replica type and the number of indexes it may come to have.
struct name_need {
    std::string_view type;
    std::int64_t replicas = 0;
};

/// What is too much of a job's name, in characters, for pods `<job>-H-<type>-<index>`
/// (BEHAVIOUR.md api 6.3); 0 or less: it fits.
std::int64_t name_excess(std::string_view job, const name_need& need);

/// The form and the room of `metadata.name`.
void check_name(
    const node& metadata,
    std::string_view name,
    std::span<const name_need> needs,
    findings_collector& findings
);

/// `size` is that of the job while it is not elastic, as far as it is known.
void check_elastic(
    const node& elastic,
    std::int64_t minimum,
    std::optional<std::int64_t> size,
    findings_collector& findings
);
/// Warns of another number than the one that the operator writes for a job that is not elastic, for
/// the reason `why` (BEHAVIOUR.md 7.1, api 6.7).
void warn_size(
    const node& expected,
    std::optional<std::int64_t> size,
    std::string_view why,
    findings_collector& findings
);
/// At most one scheduler is named (BEHAVIOUR.md api 1.4).
void check_scheduler(const node& scheduler, findings_collector& findings);
/// `types` are those that the debug and resume lists may name, besides `master`.
void check_run_mode(
    const node& mode, std::span<const std::string> types, findings_collector& findings
);

/// Of `runPolicy`, what tables cannot say of its failure rules (BEHAVIOUR.md 13.3).
void check_failure_rules(const node& policy, findings_collector& findings);

/// The container that trains, of several without a sign the first (BEHAVIOUR.md api 1.13); nothing
/// if there is none. `index` gets its place.
const json::value* training_container(
    const json::value& pod_template, std::span<const std::string_view> names, std::size_t& index
);
/// What a kind wants of a template.
struct template_rules {
    /// Names of the training container, in order of preference.
    std::span<const std::string_view> training_names;
    bool needs_args = false;  ///< the training container has to have `args`
    bool wants_name = false;  ///< a warning if no container has one of the names
    /// Nothing may be mounted into the training container there or below.
    std::span<const std::string_view> reserved_paths = {};
};
void check_template(
    const node& pod_template, const template_rules& rules, findings_collector& findings
);

/// Warns of `$(VAR)` where the kubelet expands nothing, and where a launcher does not.
void warn_references(const node& pod_template, findings_collector& findings);
void warn_references_in(const node& list, findings_collector& findings);

/// Warns of each member of these names that is written.
void warn_idle(
    const node& parent,
    std::span<const std::string_view> names,
    std::string_view why,
    findings_collector& findings
);

/// Who gives a pod's processes their ranks.
struct rank_rules {
    std::span<const std::string_view> training_names;
    bool launcher = false;  ///< a launcher does; else the operator, by pod
    bool several = false;   ///< the type may have more than one replica
};
/// Ranks and addresses that the user sets in place of ours (BEHAVIOUR.md api 6.8).
void check_rank_variables(
    const node& pod_template, const rank_rules& rules, findings_collector& findings
);

/// What an API server would refuse of the pods that the specification describes
/// (BEHAVIOUR.md api 6.6).
void check_kubernetes(const node& spec, findings_collector& findings);

/// The most replicas that elastic training may come to; 0 without it.
std::int64_t elastic_most(const node& spec);

void check_torchrun(const node& spec, findings_collector& findings);
void check_pytorch(const node& spec, findings_collector& findings);
void check_pytorch_pods(const node& spec, findings_collector& findings);
std::vector<name_need> pytorch_name_needs(const node& spec);
std::optional<std::int64_t> pytorch_size(const node& spec);

void check_deepspeed_args(const node& config, findings_collector& findings);
void check_deepspeed(const node& spec, findings_collector& findings);
void check_deepspeed_pods(const node& spec, findings_collector& findings);
std::vector<name_need> deepspeed_name_needs(const node& spec);
std::optional<std::int64_t> deepspeed_size(const node& spec);

void check_torch_args(const node& options, findings_collector& findings);
void check_colossalai(const node& spec, findings_collector& findings);
void check_colossalai_pods(const node& spec, findings_collector& findings);
std::vector<name_need> colossalai_name_needs(const node& spec);
std::optional<std::int64_t> colossalai_size(const node& spec);

}  // namespace signalbox::core::schema
