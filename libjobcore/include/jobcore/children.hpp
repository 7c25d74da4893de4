// SPDX-License-Identifier: Apache-2.0
//
// The children of one job, for callers that keep them in their own memory and not in an API server:
// what decide() takes of them, and what carried-out actions make of them.
#pragma once

#include "jobcore/decide.hpp"

#include <cstdint>
#include <list>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace signalbox::core {

/// The record of what a creation of `made` has made, as an API server would show it at once: a pod
/// that is Pending, any other object with the fingerprints of what the job needs. `uid` is any text
/// that no other object ever had. The default pod_record for an action that creates nothing.
std::variant<pod_record, child_record> record_of(
    const job_object& job, const decision& made, const action& a, std::string uid, instant now
);

/// The pod's containers have started, and it is Ready. Nothing changes if it is not Pending.
void note_start(pod_record& pod, instant now);

/// The pod's containers that run have ended with that code, and so has the pod. Nothing changes if
/// it does not run.
void note_end(pod_record& pod, std::int32_t exit_code, instant now);

/// The children of one job and what was said about them. The lists may be changed at will: a pod
/// starts, ends, is gone. Any thread may use it, one at a time.
class job_children {
public:
    std::list<pod_record> pods;
    std::list<child_record> others;
    std::vector<refusal> refusals;
    std::vector<confirmed_absence> absences;
    capabilities served;  ///< what is not said here is not served yet

    /// All of it, for decide(). Valid until anything here changes.
    observed seen();

    /// Forgets what this decision no longer asks for: refusals and confirmed absences
    /// (BEHAVIOUR.md 12.5, 12.6). To be called for every decision, before its actions.
    void follow(const decision& made);

    /// The action took effect. What it creates gets `uid`, which nothing had before; what it
    /// deletes is gone: where that takes time, set pod_record::deletion instead and remove the
    /// record when it is over. A patch of the job itself changes nothing here: it is for the
    /// caller's own copy of the specification.
    void carried_out(
        const job_object& job, const decision& made, const action& a, std::string uid, instant now
    );

    /// The action was refused. `http_code` as an API server would say: 422 for never, 403 with
    /// `exceeded quota` for not now (BEHAVIOUR.md 2.8).
    void refused(const action& a, int http_code, std::string_view message, instant now);

private:
    bool has(object_kind kind, std::string_view name) const;

    std::vector<const pod_record*> pod_views_;
    std::vector<const child_record*> other_views_;
};

}  // namespace signalbox::core
