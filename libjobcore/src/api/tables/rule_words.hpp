// SPDX-License-Identifier: Apache-2.0
//
// What rules over several fields say, by the library (api/rules), which knows the place and the
// values and adds them, and by the API server (api/cel), which says just this.
#pragma once

#include <cstddef>
#include <string_view>

namespace signalbox::core::schema::words {

inline constexpr std::string_view name_form =
    "`metadata.name` must be a lower-case DNS label that starts with a letter";
inline constexpr std::string_view name_room =
    "`metadata.name` is too long: names of pods, <name>-<hash>-<type>-<index>, must fit into 63 "
    "characters";
inline constexpr std::string_view listed_type =
    "`type` must be a replica type of the job, or `master`";

inline constexpr std::size_t most_kueue_types = 8;
inline constexpr std::string_view kueue_types =
    "Kueue takes 8 replica types of a job at most: join some of them";
inline constexpr std::string_view one_scheduler = "`scheduler` must name one scheduler at most";

inline constexpr std::string_view elastic_needs_maximum =
    "`maxReplicas` is missing; elastic training needs the largest number of replicas";
inline constexpr std::string_view maximum_below_minimum =
    "`maxReplicas` must be at least `minReplicas`";
inline constexpr std::string_view expected_outside =
    "`expectedReplicas` must be from `minReplicas` to `maxReplicas`";

inline constexpr std::string_view elastic_needs_torchrun =
    "elastic training needs torchrun: set `torchrunConfig.enabled`";
inline constexpr std::string_view static_rendezvous =
    "`rdzvBackend` must not be `static` with elastic training";
inline constexpr std::string_view unique_type = "`type` must be unique";
inline constexpr std::string_view no_replica = "the job needs at least one replica";
/// A format: the bound.
inline constexpr std::string_view too_many_replicas =
    "the job may have at most {} replicas in all types together";
inline constexpr std::string_view no_weight = "`scalingWeight` must not be 0 for all replica types";
inline constexpr std::string_view board_needs_logs =
    "`tensorboardSpec` needs one of `trainingLogFilesets` and `logDir`";

inline constexpr std::string_view one_program =
    "exactly one of `run.python`, `run.module`, `run.exec` must be set, or `customCommand`";
inline constexpr std::string_view autotune_needs_script =
    "`autotune` needs a script: set `run.python`";

inline constexpr std::string_view mixed_forms =
    "`launcher` and `worker` must not be mixed with `torchConfig` and `replicaSpecs`";
inline constexpr std::string_view no_worker = "`worker` is missing";
/// A format: the field.
inline constexpr std::string_view no_script =
    "`{}` is missing; it must be the training script and its arguments";
inline constexpr std::string_view entry_types =
    "`replicaSpecs` must have one entry of type `worker` and at most one of type `launcher`";
inline constexpr std::string_view one_launcher = "`replicas` of the launcher must be 1";
inline constexpr std::string_view no_limit = "`limit` must be 0: a ColossalAIJob does not restart";

}  // namespace signalbox::core::schema::words
