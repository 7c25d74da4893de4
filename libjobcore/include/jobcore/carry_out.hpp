// SPDX-License-Identifier: Apache-2.0
//
// How a decision is carried out: which action may go next, and what is kept of the answers. The one
// door for callers that wait for each answer and for those that have many requests under way.
//
//     work_order order = answers.begin(made, job.status);     // that of `made` is stored in it
//     while (const action* a = order.next(now)) {
//         order.note(*a, <what became of it>, now);
//     }
//
// Nothing here does input or output or waits. One thread at a time.
#pragma once

#include "jobcore/decide.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace signalbox::core {

/// What may become of an action.
namespace answer {

/// The action took effect.
struct acknowledged {};
/// What was to be created is there already and the job's own; it is about to come into view.
struct present {};
/// The live read of confirm_absence has not found the object, or another owner's.
struct absent {};
/// The server, or whatever keeps the children, said no.
struct refused {
    int http_code = 0;  ///< 422: never; 403 with `exceeded quota`: not now (BEHAVIOUR.md 2.8)
    std::string reason{};
    std::string message{};
    /// The name is taken by an object of another owner (BEHAVIOUR.md 1.8).
    bool foreign_owner = false;
    /// The namespace is being deleted (BEHAVIOUR.md 2.5).
    bool namespace_terminating = false;
    /// With foreign_owner: it says that it is the job's, but not by its content
    /// (BEHAVIOUR.md 2.13).
    bool foreign_content = false;
};
/// What the log says that read_log asked for; the default value, if it could not be read.
struct said {
    log_evidence what{};
};
/// What read_object asked for.
struct told {
    std::string json{};
};
/// Not tried, without an answer, or failed in a way that says nothing about the object.
struct unanswered {};

/// The refusal of an object whose name another owner has (BEHAVIOUR.md 1.8).
refused by_other_owner();
/// The refusal of an object with keys whose name another one has, which is key_standing::foreign.
refused by_other_content();

}  // namespace answer

/// What became of an action.
using outcome = std::variant<
    answer::acknowledged,
    answer::present,
    answer::absent,
    answer::refused,
    answer::said,
    answer::told,
    answer::unanswered>;

class work_order;

/// What was answered to the actions of one job and counts for the next decisions: refusals,
/// confirmed absences, what logs said and what was read (BEHAVIOUR.md 12.5, 12.6, 12.14). In memory
/// only: after a restart the first try is refused again, and that is all there is to know.
class job_answers {
public:
    /// For observed. Valid until the next change.
    std::span<const refusal> refusals() const { return refusals_; }
    std::span<const confirmed_absence> absences() const { return absences_; }
    std::span<const std::uint64_t> admitted() const { return admitted_; }
    std::span<const log_evidence> logs() const { return logs_; }
    std::span<const object_reading> readings() const { return readings_; }
    /// What is kept of refusals of this action. Null if it was not refused. As long as refusals().
    const refusal* find(const action& a) const;

    /// Forgets what this decision no longer asks for, and gives what carries it out. There is no
    /// other way to its actions. `stored` is the status that the job has now, where it is kept: if
    /// `made` has one that may not wait and `stored` is another, no action goes, and the order is
    /// unrecorded() (BEHAVIOUR.md 12.3). `made` and this object must outlive the order, and stay in
    /// place.
    work_order begin(const decision& made, const job_status& stored);

    /// A pod that was made has this content, says the server's answer (observed::admitted). Kept
    /// until no decision makes pods or has something to record.
    void admit(std::uint64_t content);

    /// Forgets absences of objects for which `in_view(kind, name)` is true: they are there.
    template <class InView>
    void forget_disproved(InView&& in_view) {
        std::erase_if(absences_, [&](const confirmed_absence& a) {
            return in_view(a.kind, std::string_view(a.name));
        });
    }

private:
    friend class work_order;

    void forget_unasked(const decision& made);
    void forget_refusal(const action& a);
    void add(const action& a, answer::refused no, instant now);

    std::vector<refusal> refusals_;
    std::vector<confirmed_absence> absences_;
    std::vector<std::uint64_t> admitted_;  // few: what differs between pods stands elsewhere
    std::vector<log_evidence> logs_;
    std::vector<object_reading> readings_;
};

/// The actions of one decision, in the order that it needs (BEHAVIOUR.md 12.4). Made by
/// job_answers::begin. Several may be under way at once: as many of one stage as the caller likes.
class work_order {
public:
    /// The next action that may go at `now`: of the present stage, or of the one after it once all
    /// of it is acknowledged. Null if there is none: for now while answers are open (waits()), else
    /// for good. An action that is held ends the order after its stage. Valid as long as the
    /// decision; to be followed by note() exactly once.
    const action* next(instant now);

    /// What became of an action that next() gave.
    void note(const action& a, outcome what, instant now);

    /// The decision's status is not stored: next() gives nothing.
    bool unrecorded() const { return unrecorded_; }
    /// Answers are open.
    bool waits() const { return open_ > 0; }
    /// Something was changed: decide again at once, else at decision::wake_up.
    bool acted() const { return acted_; }
    /// Which stage next() was last in.
    std::size_t stage_number() const { return stage_; }

private:
    friend class job_answers;
    work_order(job_answers& answers, const decision& made, bool unrecorded)
        : answers_(&answers), made_(&made), unrecorded_(unrecorded) {}

    job_answers* answers_;
    const decision* made_;
    bool unrecorded_;
    std::size_t stage_ = 0;
    std::size_t next_ = 0;  ///< in the stage
    std::size_t open_ = 0;  ///< given out and not answered
    bool complete_ = true;  ///< all of the stage that has gone was acknowledged
    bool acted_ = false;
};

/// A hash of all that a status says but times: those of one that is decided anew because the server
/// has not kept it are others each second. For callers that write such a status ever more slowly.
std::size_t hash_without_times(const job_status& status, job_kind kind);

/// What came of carrying a decision out.
enum class progress {
    nothing,     ///< nothing was changed: decide again at decision::wake_up
    made,        ///< something was changed: decide again at once
    unrecorded,  ///< its status is not stored: nothing was tried, and nothing will be
};

/// Carries a decision out by a caller that waits for each answer: `perform` takes an action and
/// gives its outcome. `stored` as for job_answers::begin.
template <class Perform>
progress carry_out(
    job_answers& answers,
    const decision& made,
    const job_status& stored,
    instant now,
    Perform&& perform
) {
    work_order order = answers.begin(made, stored);
    if (order.unrecorded()) {
        return progress::unrecorded;
    }
    while (const action* a = order.next(now)) {
        order.note(*a, perform(*a), now);
    }
    return order.acted() ? progress::made : progress::nothing;
}

}  // namespace signalbox::core
