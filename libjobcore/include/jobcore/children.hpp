// SPDX-License-Identifier: Apache-2.0
//
// The children of one job, for callers that keep them in their own memory and not in an API server:
// what decide() takes of them, and what carried-out actions make of them.
#pragma once

#include "jobcore/carry_out.hpp"
#include "jobcore/decide.hpp"

#include <cstdint>
#include <list>
#include <string>
#include <string_view>
#include <utility>
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
    capabilities served;  ///< what is not said here is not served yet
    /// `perform` carries out `read_log`: by `answer::said`, of what judge_log gives.
    bool reads_logs = false;

    /// All of it, for decide(). Valid until anything here changes.
    observed seen();

    /// Carries `made` out, whose status `job` has and the caller has stored: `perform` takes each
    /// action that is due, in the order that counts, and tells what became of it: `done{uid}` with
    /// a text that no other object ever had, `answer::refused`, or `answer::unanswered`. What took
    /// effect is in the lists then; what is deleted is gone: where that takes time, set
    /// pod_record::deletion instead and remove the record when it is over. A patch of the job
    /// itself changes nothing here: it is for the caller's own copy of the specification.
    template <class Perform>
    progress carry_out(
        const job_object& job, const decision& made, instant now, Perform&& perform
    ) {
        return core::carry_out(answers_, made, job.status, now, [&](const action& a) {
            return take(job, made, a, perform(a), now);
        });
    }

    /// The action took effect. `uid`: of what a creation has made; else without meaning.
    struct done {
        std::string uid;
    };
    using result_of_action = std::variant<done, answer::refused, answer::said, answer::unanswered>;

    const job_answers& answers() const { return answers_; }

private:
    outcome take(
        const job_object& job,
        const decision& made,
        const action& a,
        result_of_action what,
        instant now
    );
    /// What took effect comes into the lists.
    void apply(
        const job_object& job, const decision& made, const action& a, std::string uid, instant now
    );
    bool has(object_kind kind, std::string_view name) const;

    job_answers answers_;

    std::vector<const pod_record*> pod_views_;
    std::vector<const child_record*> other_views_;
};

}  // namespace signalbox::core
