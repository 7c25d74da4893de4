// SPDX-License-Identifier: Apache-2.0
//
// What was observed of a job's children: small records instead of documents (client.md 4.6), and
// the functions that decode the API server's JSON into them.
#pragma once

#include "jobcore/compact.hpp"
#include "jobcore/plan.hpp"
#include "jobcore/time.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::core {

enum class pod_phase : std::uint8_t { pending, running, succeeded, failed, unknown };
std::string_view to_string(pod_phase phase);

enum class container_state : std::uint8_t { waiting, running, terminated, unknown };
std::string_view to_string(container_state state);

struct container_record {
    std::string name;
    container_state state = container_state::unknown;
    bool init = false;
    std::int32_t exit_code = 0;  ///< with state terminated only
    rare_text reason;            ///< of the waiting or terminated state
    rare_text message;           ///< termination message or the waiting state's, at most 4 KiB
    optional_instant started;
    optional_instant finished;
};

/// A Pod, reduced to the facts decisions depend on.
struct pod_record {
    std::string name;
    std::string uid;
    std::string owner_uid;  ///< UID of the controller owner reference; empty if there is none
    std::string resource_version;
    std::string type;          ///< label `replica-type`; empty if missing
    std::int32_t index = -1;   ///< label `replica-index`; -1 if missing or malformed
    std::int32_t attempt = 0;  ///< label; 0 if missing or malformed, `gone_attempt` for `gone`
    std::int32_t round = 0;
    bool labels_complete = false;  ///< all labels of BEHAVIOUR.md 1.6 are there and well-formed
    bool master = false;           ///< label `job-role=master`
    pod_phase phase = pod_phase::unknown;
    bool scheduled = false;          ///< `spec.nodeName` is set
    bool ready = false;              ///< condition Ready is True
    bool disruption_target = false;  ///< condition DisruptionTarget is True
    bool unschedulable = false;      ///< condition PodScheduled is False with reason Unschedulable
    rare_text reason;                ///< `status.reason`, e.g. `Evicted`
    rare_text message;               ///< `status.message`, at most 512 bytes
    optional_instant creation;
    optional_instant deletion;       ///< `metadata.deletionTimestamp`
    std::int64_t grace_seconds = 0;  ///< `metadata.deletionGracePeriodSeconds`
    /// Regular containers in spec order, then those init containers that failed or wait in error.
    std::vector<container_record> containers;
};
inline constexpr std::int32_t gone_attempt = -1;

/// Any other child.
struct child_record {
    object_kind kind = object_kind::service;
    std::string name;
    std::string uid;
    std::string owner_uid;
    std::string resource_version;
    std::int32_t attempt = 0;  ///< label; 0 if missing
    bool deleting = false;
    /// TensorBoard objects and Deployments: it serves, and if not, why (their status; 9.2).
    bool ready = false;
    std::string reason;
    std::uint64_t fingerprint = 0;  ///< of the fields we set; see expected_fingerprint
    /// Secrets and ConfigMaps: of what can never be changed; see expected_data_fingerprint.
    std::uint64_t data_fingerprint = 0;
    /// Services: keys of `spec.selector` that are none of ours; a repair must remove them.
    std::vector<std::string> foreign_selector_keys;
};

/// Decodes a Pod (an item of a list or a watch event's object). Nothing if it is no JSON object or
/// has no name and UID. Reads only what it needs, skipping the rest without allocation.
std::optional<pod_record> decode_pod(std::string_view json);

/// Decodes another child of the given kind, under the same conditions.
std::optional<child_record> decode_child(object_kind kind, std::string_view json);

/// Whether the API server serves a kind. Unknown counts as "not yet" (design.md 3).
enum class served { unknown, no, yes };

struct capabilities {
    served pod_group = served::unknown;
    served tensorboard = served::unknown;
};

/// A write of this job that the server refused and that has not succeeded since. One whose action
/// the engine no longer returns is dropped by the caller.
struct refusal {
    object_kind kind = object_kind::pod;
    std::string name;
    std::int32_t attempt = 0;
    std::int32_t round = 0;
    int http_code = 0;
    std::string reason;   ///< `Status.reason`
    std::string message;  ///< the server's message
    /// The live read after AlreadyExists showed an object of another owner (BEHAVIOUR.md 1.8).
    bool foreign_owner = false;
    /// The refusal says that the namespace is being deleted (BEHAVIOUR.md 2.5).
    bool namespace_terminating = false;
    std::int32_t count = 1;
    instant first{};
    instant last{};
};

/// A child whose absence a live read has confirmed (BEHAVIOUR.md 5.3), valid until seen again.
struct confirmed_absence {
    object_kind kind = object_kind::pod;
    std::string name;
};

/// Everything observed of one job. Views: must outlive the call of decide only. Order is
/// irrelevant.
struct observed {
    std::span<const pod_record* const> pods;
    std::span<const child_record* const> children;
    std::span<const refusal> refusals;
    std::span<const confirmed_absence> absences;
    capabilities served_kinds;
};

}  // namespace signalbox::core
