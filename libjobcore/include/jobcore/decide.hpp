// SPDX-License-Identifier: Apache-2.0
//
// The reconcile decision: (job, observed children, policy, now) -> (status, staged actions,
// wake-up, events). A pure function: equal inputs give equal outputs, the order of observed objects
// does not matter, and calling it again after any subset of a stage took effect converges.
#pragma once

#include "jobcore/diagnostic.hpp"
#include "jobcore/observed.hpp"
#include "jobcore/plan.hpp"
#include "jobcore/policy.hpp"
#include "jobcore/spec.hpp"
#include "jobcore/status.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::core {

enum class verb {
    create,   ///< POST what render_action gives; AlreadyExists: BEHAVIOUR.md 2.7
    patch,    ///< merge patch `body`, with the UID as precondition
    remove,   ///< DELETE with the UID as precondition
    confirm,  ///< one live GET; answer by observed::absences or by the object itself
};
std::string_view to_string(verb v);

struct action {
    verb what = verb::create;
    object_kind kind = object_kind::pod;
    std::string name;
    /// Precondition of patch and remove; empty for create and confirm.
    std::string uid;
    /// Pods: which one (create). Other kinds: only `attempt` counts.
    pod_identity pod;
    /// Number for find_object, for create and patch of anything but a pod or the job.
    std::size_t object = 0;
    /// The merge patch of a patch action, JSON.
    std::string body;
    /// remove: delete dependents first (TTL deletion of the job).
    bool foreground = false;
    /// Held: not to be carried out before this time, and the stages after it neither. A held action
    /// is still returned, so that the refusal that made it wait stays (design.md 3, refusals).
    std::optional<instant> not_before;
    /// One line: why, for people.
    std::string why;
    /// The rule it follows, e.g. `behaviour 5.7`.
    std::string_view rule;

    friend bool operator==(const action&, const action&) = default;
};

/// Actions of one stage are independent; a stage starts when every action of the one before is
/// acknowledged. A failed, refused or held action ends the pass after its stage. A decision whose
/// stages hold something has a wake_up at or before the earliest not_before.
using stage = std::vector<action>;

struct event {
    bool warning = false;
    std::string reason;
    std::string message;
    friend bool operator==(const event&, const event&) = default;
};

struct decision {
    /// The new status, if it differs. Written before any stage; the answer counts as observed.
    std::optional<job_status> status;
    /// The difference is in counts only and may wait up to a second (BEHAVIOUR.md 4.16).
    bool deferrable = false;
    std::vector<stage> stages;
    /// When to decide again though nothing is observed; nothing: only on observation.
    std::optional<instant> wake_up;
    /// Sent once, after the status was written.
    std::vector<event> events;

    friend bool operator==(const decision&, const decision&) = default;
};

/// What still acts when the specification as a whole is invalid (BEHAVIOUR.md 4.2).
struct spec_fragments {
    bool pause = false;
    std::optional<std::int64_t> active_deadline_seconds;
};

/// A job's specification, parsed and compiled once per (UID, generation); shared and immutable.
struct compiled_job {
    std::string uid;
    std::int64_t generation = 0;
    /// The annotations it was compiled with (BEHAVIOUR.md api 1).
    std::map<std::string, std::string, std::less<>> annotations;
    /// `spec.managedBy` as written; empty: ours.
    std::string managed_by;
    spec_fragments fragments;
    /// Absent if the specification has errors.
    std::optional<job_spec> spec;
    std::optional<job_plan> plan;
    /// All errors and warnings.
    std::vector<diagnostic> findings;
    /// Compared with the specification before it, something was changed that may not be (10.2).
    bool forbidden_edit = false;
};

/// A job as read from the API server.
struct job_object {
    job_meta meta;
    job_status status;
    std::shared_ptr<const compiled_job> compiled;
};

/// Reads a job object. `previous` is reused when UID and generation are the same, so that a status
/// update costs no compilation; else the new specification is compared with it. Nothing, with
/// `error` set, if the text is no job of our kinds.
std::optional<job_object> read_job(
    std::string_view object_json,
    const std::shared_ptr<const compiled_job>& previous,
    std::string& error
);

/// Decides. `job` and `seen` must be fresh in the sense of design.md 3 ("Freshness").
/// `now` is API-server time. Never throws on any input but for lack of memory.
decision decide(const job_object& job, const observed& seen, const policy& rules, instant now);

/// The JSON of a create action's object. `job` must be the one the decision was made on, with the
/// decision's status applied.
std::string render_action(const job_object& job, const action& a);

}  // namespace signalbox::core
