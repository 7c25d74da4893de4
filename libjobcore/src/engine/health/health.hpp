// SPDX-License-Identifier: Apache-2.0
//
// What of the present attempt is lost, done, or not certain yet, by what is observed and recorded.
// Nothing is decided here.
#pragma once

#include "engine/facts/pod_facts.hpp"
#include "engine/facts/reasons.hpp"
#include "engine/view/view.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::core::engine {

/// A wanted replica.
struct replica {
    std::size_t type = 0;
    std::int32_t index = 0;
    friend bool operator==(const replica&, const replica&) = default;
};

/// A replica that can do no more for its attempt (BEHAVIOUR.md 5.2-5.4).
struct loss {
    std::size_t type = 0;  ///< no_type: not a pod but the Secret
    std::int32_t index = 0;
    const pod_record* pod = nullptr;  ///< absent: vanished, or refused for good
    std::string name;
    bool disrupted = false;
    /// Its training container never ran: it was refused, or an init container failed.
    bool never_ran = false;
    /// The code that the restart policy goes by; absent: a failure without a code.
    std::optional<std::int32_t> exit_code;
    bool out_of_memory = false;
    /// Its message, or its log, says that another process ended first (3.9).
    bool secondary = false;
    /// So its message alone.
    bool secondary_by_message = false;
    /// Neither its message nor its log says anything of a failure, and its code is none of its own.
    bool says_nothing = false;
    /// Its log says that it went on after the error, until another process ended.
    bool overcome = false;
    /// The same text says behind the error what follows from another's end.
    bool suffered = false;
    std::int32_t signal = 0;     ///< that it, or the rank that failed, was killed by (crash_signal)
    std::uint64_t sameness = 0;  ///< of its error (termination_note), or of its last words
    std::int32_t way = 0;        ///< in which it ended that names no error: a code of its own
    std::optional<instant> said_at;      ///< when its log says so
    std::string container{};             ///< of which the log tells; empty: there is none
    std::string told_by{};               ///< UID of another pod, whose log the message is of
    std::optional<std::int32_t> rank{};  ///< that failed, where its message tells one
    instant end{};
    std::optional<instant> healthy_until{};  ///< where that was before the end
    bool at_unknown_time = false;            ///< `end` is the time of this decision
    /// Lived shorter than `policy.short_life` (5.4).
    bool short_lived = false;
    engine::cause cause = cause::pod_failed;
    std::string reason;   ///< of the container or Pod, e.g. `OOMKilled`, `Evicted`
    std::string message;  ///< for people

    /// Our bootstrap could not reach the workers (5.4), and that does not count yet.
    bool unreachable() const {
        return cause == engine::cause::workers_unreachable ||
               cause == engine::cause::workers_unreachable_again;
    }
    bool killed() const { return out_of_memory || exit_code == 137 || exit_code == 143; }
    /// Ended by itself, by a code that no kill gives: its peers get the settle time (5.6).
    bool exited() const { return !disrupted && !killed() && !never_ran; }
    /// What it says may be the cause, and its log may say more.
    bool has_log() const { return !disrupted && !unreachable() && !container.empty(); }
};

/// A replica under `Always` that exited 0 and is run again (BEHAVIOUR.md 5.9).
struct repeated_run {
    replica which;
    instant due{};  ///< not before this time
};

/// The object with keys, if the plan has one (BEHAVIOUR.md 2.6). Pods that have started keep the
/// keys that they were given; pods that start later would get other ones, and neither could reach
/// the other.
struct key_object {
    enum class state {
        fine,         ///< there, not needed yet, or not of this job
        unconfirmed,  ///< missing from the view; a live read has to confirm that
        spent,        ///< deleted after every pod had started: no pod needs it in this attempt
        lost,         ///< deleted before every pod had started
    };
    state is = state::fine;
    object_kind kind{};
    std::string name;  ///< of the object, where it is not fine
    /// Containers of this attempt have started with the keys.
    bool in_use = false;
    /// Pods of this attempt were made to mount it.
    bool mounted = false;
};

struct health {
    std::vector<loss> losses;        ///< by type and index
    std::vector<replica> completed;  ///< exited 0 just now, and are not needed again (5.9)
    std::vector<repeated_run> repeated;
    std::vector<replica> unconfirmed;  ///< their absence is not confirmed by a live read (5.3)
    /// Of a job that has stopped: their pod left the view, and it was not seen deleted (1.9).
    std::vector<replica> unaccounted;
    /// How the deciding pod ended before its deletion was asked for, if it did.
    std::optional<pod_end> deciding_end;
    key_object keys;
};

/// Of a job that has ended: completed replicas, and those of which it is not known what became.
health examine(const context& c);

/// One of these pods can be replaced while the others go on: torchrun with a rendezvous that
/// outlives it, and that is not closed by a deciding pod that has exited 0 (BEHAVIOUR.md 5.6).
bool can_replace_one(const context& c, const health& h);

/// The attempt has fewer replicas up than it needs (BEHAVIOUR.md 4.10).
bool below_minimum(const context& c);
/// The attempt is complete: all that it needs is up (BEHAVIOUR.md 4).
bool is_complete(const context& c);

/// The clock of progress (BEHAVIOUR.md 13.8).
struct progress_clock {
    instant since{};  ///< it runs since then
    instant due{};    ///< when it says that the job stands still
    bool still = false;
    bool unreported = false;  ///< no report came in this attempt
    std::string text{};       ///< for people, if it stands still
};
/// Nothing while the attempt does not run as a whole, or no one has to report.
std::optional<progress_clock> find_progress_clock(const context& c);

/// The furthest step that is known of any attempt.
std::optional<std::int64_t> furthest_step(const context& c);

/// The failure that is named for all of them (BEHAVIOUR.md 3.13). They are in order of type and
/// index. Null if all were disrupted.
const loss* first_failure(std::span<const loss> losses);

/// What was read of the log of the pod of that UID; null: it was not read.
const log_evidence* evidence_of(const context& c, const std::string& uid);

/// The last incident is so near that what vanished now counts as short-lived (5.4).
bool is_soon_after_incident(const context& c);

// The parts of examine(), each in a file of its own.

/// The first failure is told by a pod that still runs, where that pod's log says more of it: what
/// was before, or the same of a lower pod.
void hear_witnesses(const context& c, health& out);
/// Fills losses, completed, repeated, unconfirmed, deciding_end.
void examine_replicas(const context& c, health& out);
key_object examine_keys(const context& c);

}  // namespace signalbox::core::engine
