// SPDX-License-Identifier: Apache-2.0
//
// What a decision asks its caller to do: one request to the API server, or to whatever keeps the
// job's children.
//
// All is plain values; the functions depend on their arguments alone and may be called from any
// thread.
#pragma once

#include "jobcore/observed.hpp"
#include "jobcore/plan.hpp"
#include "jobcore/time.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace signalbox::core {

/// POST of the pod that render_action gives. After AlreadyExists the caller reads the object live:
/// if the job owns it, it comes into view; another owner's is a refusal with `foreign_owner`
/// (BEHAVIOUR.md 2.7, 1.8).
struct create_pod {
    pod_identity pod;
    friend bool operator==(const create_pod&, const create_pod&) = default;
};

/// POST of another object that render_action gives; else as create_pod. For a Secret the caller
/// makes keys first (planned_object::key_slots).
struct create_object {
    object_identity object;
    friend bool operator==(const create_object&, const create_object&) = default;
};

/// Merge patch with the UID as precondition. Of the job itself it changes the specification
/// (BEHAVIOUR.md 7.1), of a pod the label of its attempt (BEHAVIOUR.md 1.3).
struct patch_object {
    std::string uid;
    std::string body;  ///< JSON
    /// What the object is again after it; absent for pods and the job.
    std::optional<object_identity> becomes;
    /// `status`, or empty for the object itself. Has static storage. The body then has the version
    /// of the object, too: what was decided on another one fails with 409, and is decided anew.
    std::string_view subresource = {};
    friend bool operator==(const patch_object&, const patch_object&) = default;
};

/// DELETE with the UID as precondition. 404, and another UID, are success.
struct delete_object {
    std::string uid;
    bool foreground = false;  ///< dependents first (TTL deletion of the job)
    friend bool operator==(const delete_object&, const delete_object&) = default;
};

/// One live GET past all caches. If the object is not there, or is another owner's, the next
/// decisions get its name in observed::absences; if it is, it comes into view (BEHAVIOUR.md 12.6).
struct confirm_absence {
    friend bool operator==(const confirm_absence&, const confirm_absence&) = default;
};

/// One GET of the end of the log of a container that has ended, with times. What judge_log makes of
/// it goes into observed::logs; so does an empty one, if there was no usable answer by `until`:
/// none is asked for twice (BEHAVIOUR.md 12.14).
struct read_log {
    std::string pod_uid;
    std::string container;
    std::int32_t lines = 0;  ///< its last ones
    std::int32_t bytes = 0;  ///< not more of them
    instant until{};         ///< the job waits no longer
    friend bool operator==(const read_log&, const read_log&) = default;
};

/// One GET of an object that is none of the job's (all_read_kinds): of the whole cluster. What it
/// gives goes into observed::readings. An error is a refusal, which holds the next try.
struct read_object {
    friend bool operator==(const read_object&, const read_object&) = default;
};

/// The verbs in words; both creations are `create`, both reads `read`.
enum class verb { create, patch, remove, confirm, read };
/// `create`, `patch`, `delete`, `confirm`, `read`. Has static storage.
std::string_view to_string(verb v);

/// One request (BEHAVIOUR.md 12.4).
struct action {
    object_kind kind = object_kind::pod;
    std::string name;
    std::variant<
        create_pod,
        create_object,
        patch_object,
        delete_object,
        confirm_absence,
        read_log,
        read_object>
        request;
    /// Held: not to be carried out before this time, nor the stages after it. It is returned all
    /// the same: a refusal whose action is no longer returned is forgotten, and with it how long to
    /// wait (BEHAVIOUR.md 12.5).
    std::optional<instant> not_before;
    /// One line: why, for people.
    std::string why;
    /// The rule it follows, e.g. `behaviour 5.7`. Has static storage.
    std::string_view rule;

    verb what() const;
    /// Which pod a create_pod makes; null for every other request. Valid as long as the action.
    const pod_identity* pod() const;
    /// Which object is created or repaired; null for every other request. As pod().
    const object_identity* object() const;
    /// The precondition of a patch or deletion; else empty. As pod().
    std::string_view uid() const;
    /// The merge patch of a patch; else empty. As pod().
    std::string_view body() const;
    /// What of the object a patch is of, if not the object itself.
    std::string_view subresource() const;

    friend bool operator==(const action&, const action&) = default;
};

/// Actions that are independent of each other: they may go at the same time, in any order. A stage
/// starts when every action of the one before is acknowledged. A failed, refused or held action
/// ends the pass after its stage; deciding anew after any part of it took effect converges
/// (BEHAVIOUR.md 12.4).
using stage = std::vector<action>;

/// The refusal of a creation or patch, as it is the first time: about the action, at `now`. What
/// the server said is the caller's to add.
refusal refusal_of(const action& a, instant now);

/// Whether the refusal is of this action, or of one like it in an earlier decision
/// (BEHAVIOUR.md 12.5). Never of a deletion: those have no refusals.
bool is_refusal_of(const refusal& r, const action& a);

}  // namespace signalbox::core
