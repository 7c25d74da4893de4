// SPDX-License-Identifier: Apache-2.0
//
// What a status tells people who pay for a job and wait for it: where its time went, how its
// attempts ended, how far training is. Plain values; the functions depend on their arguments alone,
// may be called from any thread, and throw nothing but for lack of memory.
#pragma once

#include "jobcore/status.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::core {

/// A part of the time of a job, or of several, in whole seconds.
struct time_share {
    std::string_view name;             ///< as in `status.timeSeconds`; has static storage
    time_kind kind = time_kind::none;  ///< `none` of work that was lost
    bool held = true;                  ///< the job had its place meanwhile
    std::int64_t seconds = 0;
    friend bool operator==(const time_share&, const time_share&) = default;
};

/// Where time went (BEHAVIOUR.md 13.1). The parts together are all of it.
struct time_account {
    /// What was of use first, then what was not, then what the job did not have its place for.
    std::array<time_share, 7> shares{{
        {"running", time_kind::running},
        {"lost", time_kind::none},
        {"stalled", time_kind::stalled},
        {"restarting", time_kind::restarting},
        {"starting", time_kind::starting},
        {"queued", time_kind::queued, false},
        {"paused", time_kind::paused, false},
    }};

    std::int64_t total() const;
    /// What was of use.
    std::int64_t useful() const;
    /// The time in which the job had its place: all but `queued` and `paused`.
    std::int64_t held() const;
    /// The useful part of held(), from 0 to 1 (BEHAVIOUR.md 13.12). Nothing if that is 0.
    std::optional<double> goodput() const;
    /// The parts in percent of total(), each rounded so that all of them together are 100. Zeros
    /// where total() is 0.
    std::array<std::int64_t, 7> percentages() const;
    time_account& operator+=(const time_account& other);
    friend bool operator==(const time_account&, const time_account&) = default;
};

/// What is on record, and until `now` what the job does since. Zeros if nothing is on record.
time_account account_of(const time_spent& time, instant now);

/// The attempts that are on record (BEHAVIOUR.md 13.2), the oldest first, and behind them the
/// present one, if it has not ended: that has no end and no reason, and the step that it has
/// reported.
std::vector<attempt_record> attempts_of(const job_status& status);

/// `step 1200 of 5000 (24 %), about 3 h left, loss 2.31`: one line, of which a terminal obeys
/// nothing. Empty if no one has reported (BEHAVIOUR.md 13.7), or nothing of the kind.
std::string training_in_words(const job_status& status, instant now);
/// The same with `; last report 12 s ago`. Reports of another attempt than the present one are said
/// to be of it. Empty if no one has reported.
std::string progress_in_words(const job_status& status, instant now);

/// The types of the conditions of a job (BEHAVIOUR.md 4.13). A constant.
std::span<const std::string_view> condition_types();

/// `45 s`, `5 min 20 s`, `3 h 5 min`, `2 d 4 h`. Negative ones as their absolute value.
std::string in_words(milliseconds duration);

}  // namespace signalbox::core
