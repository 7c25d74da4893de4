// SPDX-License-Identifier: Apache-2.0
//
// What was observed of a job's children, and the functions that decode the API server's JSON into
// it. A controller holds a record for every pod that it watches: hence small records with the facts
// that decisions depend on, and no documents, of which each would take tens of kilobytes.
//
// All is plain values; the functions depend on their arguments alone and may be called from any
// thread.
#pragma once

#include "jobcore/compact.hpp"
#include "jobcore/evidence.hpp"
#include "jobcore/object_kind.hpp"
#include "jobcore/plan.hpp"
#include "jobcore/progress.hpp"
#include "jobcore/time.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::core {

enum class pod_phase : std::uint8_t { pending, running, succeeded, failed, unknown };
/// `Pending` ..., as in `status.phase` of a Pod. Has static storage.
std::string_view to_string(pod_phase phase);

enum class container_state : std::uint8_t { waiting, running, terminated, unknown };
/// `Waiting`, `Running`, `Terminated`, `Unknown`. Has static storage.
std::string_view to_string(container_state state);

/// A container of a Pod, by its status.
struct container_record {
    compact_text name;
    container_state state = container_state::unknown;
    bool init = false;
    /// The pod's annotation says that it is the training container (BEHAVIOUR.md 1.6).
    bool training = false;
    std::int32_t exit_code = 0;  ///< with state terminated only
    compact_text reason;         ///< of the waiting or terminated state
    compact_text message;        ///< termination message or the waiting state's, at most 4 KiB
    optional_instant started;
    optional_instant finished;
};

/// A Pod, reduced to the facts decisions depend on.
struct pod_record {
    std::string name;
    compact_text ns;
    std::string uid;
    compact_text owner_uid;  ///< UID of the controller owner reference; empty if there is none
    std::string resource_version;
    compact_text type;         ///< label `replica-type`; empty if missing
    std::int32_t index = -1;   ///< label `replica-index`; -1 if missing or malformed
    std::int32_t attempt = 0;  ///< label; 0 if missing or malformed, `gone_attempt` for `gone`
    std::int32_t round = 0;
    /// All labels of a pod of ours are there and well-formed (BEHAVIOUR.md 1.6). A pod without
    /// them is found by its name, where it has one of ours (BEHAVIOUR.md 1.9).
    bool labels_complete = false;
    bool reports = false;  ///< it was made with what it takes to report (BEHAVIOUR.md 13.10)
    pod_phase phase = pod_phase::unknown;
    bool scheduled = false;           ///< `spec.nodeName` is set
    bool ready = false;               ///< condition Ready is True
    bool disruption_target = false;   ///< condition DisruptionTarget is True
    compact_text disruption_reason;   ///< of that condition, e.g. `PreemptionByScheduler`
    compact_text disruption_message;  ///< at most 512 bytes
    compact_text gates;               ///< names of `spec.schedulingGates`, with commas
    std::int32_t priority = 0;        ///< `spec.priority`
    bool unschedulable = false;       ///< condition PodScheduled is False with reason Unschedulable
    compact_text scheduler_message;   ///< why it is unschedulable, at most 512 bytes
    compact_text reason;              ///< `status.reason`, e.g. `Evicted`
    compact_text message;             ///< `status.message`, at most 512 bytes
    compact_text node;                ///< `spec.nodeName`
    /// Conditions that not every pod has, a line each: `DisruptionTarget=True`; at most 1,024
    /// bytes.
    compact_text conditions;
    optional_instant creation;
    optional_instant deletion;       ///< `metadata.deletionTimestamp`
    std::int64_t grace_seconds = 0;  ///< `metadata.deletionGracePeriodSeconds`
    /// Whose gang it is a member of, as it says by what its scheduler asks of members; null: it
    /// says nothing of the kind.
    const gang::scheduler* gang = nullptr;
    /// Hash of the fields that we set and that no one else has a reason to change (BEHAVIOUR.md
    /// 2.14); 0: not known, as of a pod that runs or ran, of which no one asks it.
    std::uint64_t content = 0;
    /// Regular containers in spec order, then those init containers that failed or wait in error.
    std::vector<container_record> containers;
};
/// `attempt` of a stuck pod that was given up: it only holds its name (BEHAVIOUR.md 1.3).
inline constexpr std::int32_t gone_attempt = -1;

/// Whose an object with keys is, which carries no mark that no one else could write: what the
/// caller has found out of it (BEHAVIOUR.md 2.13). Key material is not looked at here.
enum class key_standing : std::uint8_t {
    /// The caller made it: its creation was acknowledged with this UID. Also for callers that keep
    /// children where no one else writes.
    made,
    /// It is what the operator would have made of the key pairs in it; whether it did is not known.
    found,
    /// As `found`, but for a specification that has changed since.
    outdated,
    /// It is not what the operator makes: no child of the job, whatever its owner reference says.
    foreign,
};

/// What an object that asks for quota says of it (BEHAVIOUR.md 8.11).
struct quota_answer {
    /// One set of pods in it, by the name of its replica type.
    struct pod_set {
        std::string type;
        std::int32_t asked = 0;              ///< pods that it asks quota for
        std::int32_t count = 0;              ///< pods that have it
        std::int32_t reclaimed = 0;          ///< of them: given back
        std::vector<std::string> flavors{};  ///< what gives them quota, by name
        admitted_marks marks{};              ///< what its checks want of the pods
        friend bool operator==(const pod_set&, const pod_set&) = default;
    };
    bool reserved = false;   ///< quota is kept for it
    bool admitted = false;   ///< and its pods may run
    bool evicted = false;    ///< they have to stop, and the quota has to be given back
    bool finished = false;   ///< it will never ask again
    bool ready = false;      ///< it says that its pods are ready
    std::string since;       ///< when quota was reserved, in its own words
    std::string queue;       ///< that it stands in
    std::string conditions;  ///< its list as it is, JSON: whoever writes one writes all
    std::vector<pod_set> sets{};

    /// Null: it has none of that type. Valid as long as this object.
    const pod_set* find(std::string_view type) const {
        for (const pod_set& s : sets) {
            if (s.type == type) {
                return &s;
            }
        }
        return nullptr;
    }
    friend bool operator==(const quota_answer&, const quota_answer&) = default;
};

/// What a scheduler says of a gang by the object that it is placed by (BEHAVIOUR.md 8.5).
struct gang_answer {
    enum class state : std::uint8_t {
        unsaid,    ///< nothing, or nothing yet
        waiting,   ///< its pods may not start, and it says why
        admitted,  ///< its pods may start
    };
    state is = state::unsaid;
    std::string words;  ///< its own, for people; at most 512 bytes
    /// That of the object, which its pods have to have.
    std::optional<std::int32_t> priority;
    /// What of the object the job asks for cannot be changed now.
    bool fixed = false;
    /// Of schedulers that give quota; null: of others.
    std::shared_ptr<const quota_answer> quota{};
    friend bool operator==(const gang_answer&, const gang_answer&) = default;
};

/// Any other child.
struct child_record {
    object_kind kind = object_kind::service;
    std::string name;
    std::string ns;
    std::string uid;
    std::string owner_uid;
    std::string resource_version;
    optional_instant creation;
    std::int32_t attempt = 0;  ///< label; 0 if missing
    bool deleting = false;
    /// Objects with keys: who made it.
    key_standing keys = key_standing::made;
    /// TensorBoard objects and Deployments: it serves, and if not, why, by their status
    /// (BEHAVIOUR.md 9.2).
    bool ready = false;
    std::string reason;
    std::uint64_t fingerprint = 0;  ///< of the fields we set; see expected_fingerprint
    /// Secrets and ConfigMaps: of what can never be changed; see expected_data_fingerprint.
    std::uint64_t data_fingerprint = 0;
    /// Services: the attempt that `spec.selector` names, 0 if it names none, -1 if it is no number;
    /// see expected_selected_attempt.
    std::int32_t selected_attempt = 0;
    /// Services: keys of `spec.selector` that are none of ours; a repair must remove them.
    std::vector<std::string> foreign_selector_keys;
    /// What a scheduler places pods by: hashes of the fields of its kind's row, in their order.
    std::vector<std::uint64_t> fields{};
    /// What it says; null: nothing.
    std::shared_ptr<const gang_answer> gang{};
};

/// Decodes a Pod (an item of a list or a watch event's object). Nothing if it is no JSON object or
/// has no name and UID. Reads only what it needs, skipping the rest without allocation.
std::optional<pod_record> decode_pod(std::string_view json);
/// Has the record share with others what pods have in common: namespace, owner, type, node, names
/// of containers.
void share_texts(pod_record& pod, text_pool& pool);

/// pod_record::content of a Pod that has no UID yet; 0 if the text is no JSON.
std::uint64_t content_of_pod(std::string_view json);

/// Decodes another child of the given kind, under the same conditions.
std::optional<child_record> decode_child(object_kind kind, std::string_view json);

/// Reads a private key in PEM form and gives its pair as key slots have it; nothing if it is no key
/// of their kind, or its two halves do not fit.
using key_reader = std::function<std::optional<key_pair>(std::string_view private_pem)>;

/// Whether a pod_record or child_record is a child of the job with this UID, in this namespace:
/// one that names the UID from another namespace is no child (BEHAVIOUR.md 1.7).
template <class Record>
bool is_child_of(const Record& record, std::string_view job_uid, std::string_view job_ns) {
    return record.owner_uid == job_uid && record.ns == job_ns;
}

/// Whether the API server serves a kind. `unknown` counts as *not yet*; `yes` may be said only when
/// the view of that kind is complete (BEHAVIOUR.md 12.7).
enum class served { unknown, no, yes };

/// What is known of one kind.
struct served_kind {
    object_kind kind;
    served is = served::unknown;
    friend bool operator==(const served_kind&, const served_kind&) = default;
};

/// `unknown` if nothing was said of the kind.
served served_of(std::span<const served_kind> known, object_kind kind);

/// What is known of the kinds that not every cluster serves (object_kind_row::extension). After a
/// change every job that has not ended has to be decided again.
class capabilities {
public:
    void set(object_kind kind, served is);
    served of(object_kind kind) const { return served_of(rows_, kind); }
    std::span<const served_kind> all() const { return rows_; }
    /// Valid until the next change.
    operator std::span<const served_kind>() const { return rows_; }
    friend bool operator==(const capabilities&, const capabilities&) = default;

private:
    std::vector<served_kind> rows_;  // sorted by kind
};

/// A creation or patch for this job that the server refused and that has not succeeded since. The
/// caller keeps it in memory, raises `count` when the same action is refused again, and drops it
/// when the action succeeds or a decision no longer returns it (BEHAVIOUR.md 12.5).
struct refusal {
    object_kind kind = object_kind::pod;
    std::string name;
    std::int32_t attempt = 0;  ///< of the pod that was refused, as its action said
    std::int32_t round = 0;
    int http_code = 0;
    std::string reason;   ///< `Status.reason`
    std::string message;  ///< the server's message
    /// The live read after AlreadyExists showed an object of another owner (BEHAVIOUR.md 1.8).
    bool foreign_owner = false;
    /// The refusal says that the namespace is being deleted (BEHAVIOUR.md 2.5).
    bool namespace_terminating = false;
    std::int32_t count = 1;
    instant first{};  ///< API-server time of the first refusal, and of the last
    instant last{};
    /// With foreign_owner: it names the job as its owner, but is not what is made for the job
    /// (BEHAVIOUR.md 2.13).
    bool foreign_content = false;
};

/// A child that a live read, asked for by the action `confirm`, has not found. It is given to every
/// decision until the child is in view again or decisions no longer ask (BEHAVIOUR.md 5.3, 12.6).
struct confirmed_absence {
    object_kind kind = object_kind::pod;
    std::string name;
};

/// What `read_object` has read. It is given to every decision until one asks for no such read.
struct object_reading {
    object_kind kind;
    std::string name;
    std::string json;  ///< the object
};

/// Everything observed of one job: all its children, and no older than decide() demands. The spans
/// and what they point to must live during the call that they are given to, no longer. Order, and
/// objects that the job does not own, make no difference; no pointer may be null.
struct observed {
    std::span<const pod_record* const> pods;
    std::span<const child_record* const> children;  ///< all but pods
    std::span<const refusal> refusals;
    std::span<const confirmed_absence> absences;
    /// Of kinds that are not listed it is not known whether the server serves them.
    std::span<const served_kind> served_kinds;
    /// The jobs of the namespace that have begun, or come first, leave no room for this one
    /// (BEHAVIOUR.md 2.12; room_ledger says so).
    bool no_room = false;
    /// pod_record::content of pods that the caller made, as the server answered: admission may have
    /// changed what was sent (BEHAVIOUR.md 2.14). Not needed by callers without an admission.
    std::span<const std::uint64_t> admitted = {};
    /// What the logs said that the action `read_log` asked for (BEHAVIOUR.md 12.14).
    std::span<const log_evidence> logs{};
    /// Whether the caller carries out `read_log`; else no decision asks for logs.
    bool reads_logs = false;
    /// What was read of the objects that the action `read_object` asked for (BEHAVIOUR.md 12.15).
    std::span<const object_reading> readings{};
    /// What the processes of the job have reported; null: nothing that the caller knows
    /// (BEHAVIOUR.md 13.7). One of another attempt than the job's is nothing.
    const progress_report* progress = nullptr;
    /// Since when the caller gets all reports; absent: it gets none, and nothing stands still for
    /// it.
    std::optional<instant> progress_since{};
    /// Where pods that are made now can report to; null: nowhere (BEHAVIOUR.md 13.10).
    const progress_access* reports_to = nullptr;
};

}  // namespace signalbox::core
