// SPDX-License-Identifier: Apache-2.0
//
// The reconcile decision: (job, observed children, policy, now) -> (status, staged actions,
// wake-up, events). What a caller has to keep to is stated at each member; BEHAVIOUR.md 12 has it
// as one list, with reasons.
//
// Nothing here has state: results depend on the arguments alone, any thread may call at any time,
// and objects given out are plain values. A compiled_job is immutable and may be shared by threads.
#pragma once

#include "jobcore/action.hpp"
#include "jobcore/diagnostic.hpp"
#include "jobcore/observed.hpp"
#include "jobcore/plan.hpp"
#include "jobcore/policy.hpp"
#include "jobcore/result.hpp"
#include "jobcore/schema.hpp"
#include "jobcore/spec.hpp"
#include "jobcore/status.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::core {

/// A Kubernetes event about the job (BEHAVIOUR.md 11.1).
struct event {
    bool warning = false;
    std::string reason;
    std::string message;
    friend bool operator==(const event&, const event&) = default;
};

/// What is to be done. Empty (the default value) if all is as it should be, if the job is being
/// deleted, and if another controller runs it (BEHAVIOUR.md 10.1, 2.9).
struct decision {
    /// The new status, if it differs from the job's. It is written before any stage, with the UID
    /// and resource version of the job that was decided on, and its answer counts as observed. If
    /// that is refused as stale, nothing else of the decision may be done (BEHAVIOUR.md 12.3).
    std::optional<job_status> status;
    /// Not zero: the status differs in counts, in the generation that is observed, in reports of
    /// progress or in texts of others alone. It may be written later, at most so long after the
    /// last write of this job; stages may go before (BEHAVIOUR.md 4.16, 12.10).
    milliseconds defer{};
    bool deferrable() const { return defer > milliseconds::zero(); }
    std::vector<stage> stages;
    /// What render_action needs of the status that the stages belong to; empty where none of the
    /// actions creates or repairs anything.
    render_options rendering;
    /// What was read of logs counts for the next decision too; else it may be forgotten
    /// (BEHAVIOUR.md 12.14).
    bool keeps_logs = false;
    /// When to decide again though nothing is observed, at or before the earliest `not_before` of
    /// the stages; absent: only when something is observed (BEHAVIOUR.md 12.9). API-server time.
    std::optional<instant> wake_up;
    /// Each to be sent once, after the status was written.
    std::vector<event> events;

    friend bool operator==(const decision&, const decision&) = default;
};

/// A warning and the generation that had it first; 0 if that is not known.
struct dated_warning {
    diagnostic what;
    std::int64_t since = 0;
};

/// A job's specification, parsed and compiled once for as long as it does not change; shared and
/// immutable.
struct compiled_job {
    std::string uid;
    std::int64_t generation = 0;
    /// Of the text of `spec`: after a restore another one may have the same generation.
    std::uint64_t spec_hash = 0;
    /// The annotations it was compiled with (BEHAVIOUR.md api 1.11).
    std::map<std::string, std::string, std::less<>> annotations;
    /// The queue by label that it was compiled with (BEHAVIOUR.md 8.10).
    std::string queue;
    /// The chosen scheduler that it was compiled with (BEHAVIOUR.md 8.15).
    std::string scheduler;
    /// `spec.managedBy` as written; empty: ours.
    std::string managed_by;
    spec_fragments fragments;
    /// Both or neither; absent if the specification has errors. The replicas of `spec` come without
    /// their templates, which are most of a job: `plan` has them prepared.
    std::optional<job_spec> spec;
    std::optional<job_plan> plan;
    /// Where there is no plan, what is known without one (bare_plan); else null.
    std::shared_ptr<const job_plan> bare;
    /// Of `spec`.
    edit_marks marks;
    /// All errors and warnings.
    std::vector<diagnostic> findings;
    /// Of the warnings those that a later generation may have brought (BEHAVIOUR.md 11.1); while
    /// there are errors, as they were before.
    std::vector<dated_warning> warnings;
    /// Compared with the specification before it, something was changed that may not be
    /// (BEHAVIOUR.md 10.2).
    bool forbidden_edit = false;
};

/// A job as read from the API server.
struct job_object {
    job_meta meta;
    job_status status;
    /// Set by read_job; without it decide() does nothing.
    std::shared_ptr<const compiled_job> compiled;
    /// About the bytes of the specification: of its names and texts, and a few for each value.
    std::size_t spec_bytes = 0;
};

/// Reads a job object (JSON). `previous`, which may be null, is what an earlier version of the same
/// job was compiled to: it is reused when UID, generation, specification, our annotations, the
/// queue and the chosen scheduler are the same, so that a status update costs no compilation; else
/// the new specification is compared with it. An invalid specification is no error here: it gives
/// findings (BEHAVIOUR.md 4.2). An error if the text is no JSON object, of another kind or version,
/// or without name or UID.
result<job_object> read_job(
    std::string_view object_json, const std::shared_ptr<const compiled_job>& previous = nullptr
);

/// The job without its specification, which is not looked at: `compiled` is null.
result<job_object> read_job_head(std::string_view object_json);

/// For callers that keep the status in their own memory: the job in hand with the specification of
/// this text, of the same job and with a greater generation. It keeps its status, whatever the text
/// has. An error also if the text is of another UID.
result<job_object> read_again(std::string_view object_json, const job_object& held);

/// Decides what is to be done about a job.
///
/// Absence is evidence here: a pod that is not among `seen` is to be created, or is lost. Hence
/// `job` and `seen` must be at least as new as every acknowledged write of the caller to this job
/// or its children, and as the views on which the job's status was decided; the first view after a
/// start comes from a consistent read (BEHAVIOUR.md 12.1, 12.2). On older ones the decision may
/// delete or create what it should not, and no call can find that out.
///
/// `seen` has to have all children of the job; what others own is ignored. `now` is API-server
/// time, not that of the machine (BEHAVIOUR.md 12.8). A decision that records something with
/// consequences returns no action that depends on it: write the status, then decide again
/// (BEHAVIOUR.md 12.3). Equal arguments give equal decisions, whatever the order of
/// observed objects. Any input is accepted, a damaged status too; nothing is thrown but for lack of
/// memory (BEHAVIOUR.md 12.11).
decision decide(const job_object& job, const observed& seen, const policy& rules, instant now);

/// The JSON of the object that an action of `made` creates. `job` is the one that the decision was
/// made on, whatever became of its status since. An error if the object has key slots
/// (key_slots_of) that `keys` has no key for, or if the action creates nothing.
result<std::string> render_action(
    const job_object& job, const decision& made, const action& a, const key_pairs& keys = {}
);

/// Of what an action creates, what is key material; empty for most. Valid as long as `job`.
std::span<const key_slot> key_slots_of(const job_object& job, const action& a);

/// What a live object with keys is to the job by its content: `found`, `outdated` or `foreign`. All
/// of `data` is compared with what would be written for the pairs whose private keys are in it
/// (BEHAVIOUR.md 2.13). `found` too if the job, as it is specified now, has no such object. Nothing
/// of the keys is kept.
key_standing standing_of_keys(
    const job_object& job, std::string_view object_json, const key_reader& read_key
);

/// The object that an action creates or repairs, as the job needs it, for people and comparisons:
/// each key slot has generated_marker. Empty for any other action.
std::string preview_action(const job_object& job, const decision& made, const action& a);

}  // namespace signalbox::core
