// SPDX-License-Identifier: Apache-2.0
//
// Leader election on a Lease as a state machine (REQUIREMENTS.md B1-B7): it is told what happened
// and says what to do next. No I/O, no clock: steady times come in, and nothing else decides. The
// times in the Lease are for people and for other programs.
#pragma once

#include "k8sio/error.hpp"
#include "k8sio/time.hpp"
#include "protocol/jitter.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace signalbox::k8sio::protocol {

/// `spec` of a Lease, with the version of the object.
class lease_record {
public:
    lease_record() = default;
    std::string resource_version;
    std::string holder;  ///< empty: released
    std::int64_t duration_seconds = 0;
    std::string acquire_time;  ///< as they stand there
    std::string renew_time;
    std::int64_t transitions = 0;
};
/// Nothing if it is no Lease.
std::optional<lease_record> read_lease(std::string_view object);
/// A Lease to be created (without resource_version), or what is to be changed of one.
std::string lease_object(
    const std::string& ns, const std::string& name, const lease_record& record
);

/// REQUIREMENTS.md B1. `identity`: of this start of this process, not of its pod (B5).
class elector_settings {
public:
    elector_settings() = default;
    std::string identity;
    std::chrono::seconds lease_duration{15};
    std::chrono::seconds renew_deadline{10};
    std::chrono::seconds retry_period{2};
    std::uint64_t seed = 0;

    /// What is wrong with it, or an empty text.
    std::string problem() const;
};

/// What the shell has to do next.
class elector_action {
public:
    enum class kind {
        get,     ///< read the Lease, then on_read()
        create,  ///< POST `record`, then on_written()
        update,  ///< write `record`, if the version is still its own, then on_written()
        sleep,   ///< until `until`, then next()
        finish,  ///< it is over: released, or lost
    };
    elector_action() = default;

    kind what = kind::finish;
    lease_record record;
    steady_time until{};  ///< of a request too: what has no answer by then has failed
};

class elector_fsm {
public:
    explicit elector_fsm(elector_settings settings);

    /// `wall`: for the times that are written; no decision depends on them.
    elector_action next(steady_time now, wall_time wall);
    void on_read(steady_time now, const result<lease_record>& lease);
    void on_written(steady_time now, const result<lease_record>& lease);
    /// Behind the last write: lets the Lease go, if it is held, and finishes (B4).
    void stop() { stopping_ = true; }

    /// The time until which this process is the leader, if it renews no more: the end of the renew
    /// deadline of the last renewal, counted from before it was sent. In the past, or nothing, if
    /// it is not. Asked before each write (B7).
    std::optional<steady_time> leads_until() const;
    bool leads(steady_time now) const { return leads_until() && now < *leads_until(); }
    /// The number of transitions under which it leads: rises with each holder (B7).
    std::int64_t epoch() const { return epoch_; }
    /// It was the leader and is no more, other than by stop(): the process has to end (B6).
    bool lost() const;
    /// Who holds the Lease, as far as one knows.
    const std::string& holder() const { return seen_ ? seen_->holder : none_; }

private:
    struct candidate {};
    struct leader {
        steady_time until;
    };
    struct releasing {};  ///< it was the leader, and is to let the Lease go
    struct ended {
        bool lost = false;
    };

    void observe(steady_time now, const lease_record& lease);
    void fail(steady_time now, const api_error& error);
    bool is_ours() const { return seen_ && seen_->holder == settings_.identity; }
    elector_action write(steady_time now, wall_time wall);
    elector_action ask(steady_time now);
    steady_time runs_out_at() const;
    steady_time request_limit(steady_time now) const;
    enum class pace { regular, after_failure };
    void sleep(steady_time now, pace how);

    elector_settings settings_;
    jitter random_;
    std::optional<lease_record> seen_;  // what the server last showed; nothing: it has no Lease
    bool doubt_ = true;                 // seen_ is to be read again before anything is written
    steady_time seen_since_{};          // when seen_ was last found changed
    steady_time asked_at_{};            // before the request under way was sent
    std::optional<steady_time> sleep_until_;
    std::variant<candidate, leader, releasing, ended> state_;
    std::int64_t epoch_ = 0;
    bool stopping_ = false;
    std::string none_;
};

}  // namespace signalbox::k8sio::protocol
