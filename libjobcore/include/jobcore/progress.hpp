// SPDX-License-Identifier: Apache-2.0
//
// What training processes report of their progress (BEHAVIOUR.md 13.7), and how a caller keeps the
// reports of an attempt in one record; where pods report to. Plain values; the functions depend on
// their arguments alone and may be called from any thread.
#pragma once

#include "jobcore/time.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::core {

struct progress_metric {
    std::string name;
    std::string value;  ///< a number as it was written
    friend bool operator==(const progress_metric&, const progress_metric&) = default;
};

/// What one process has said. What it has not said is absent.
struct progress_message {
    std::int32_t attempt = 0;  ///< of the pod that it came from
    std::int32_t rank = 0;
    std::optional<std::int64_t> current_step;
    std::optional<std::int64_t> total_steps;
    std::optional<std::int32_t> percentage;
    std::optional<std::int64_t> remaining_seconds;
    std::optional<std::int64_t> checkpoint_step;     ///< a checkpoint of that step is written
    std::optional<std::int64_t> checkpoint_seconds;  ///< how long writing it took
    std::vector<progress_metric> metrics;
};

/// How far one rank has come, where more than one reports.
struct rank_progress {
    std::int32_t rank = 0;
    std::optional<std::int64_t> step;
    instant advanced{};  ///< when it came there
    friend bool operator==(const rank_progress&, const rank_progress&) = default;
};

/// All reports of one attempt together. Times are API-server time at which the caller got them.
struct progress_report {
    std::int32_t attempt = 0;
    std::int32_t rank = 0;  ///< the one that said the rest last
    std::optional<std::int64_t> current_step;
    std::optional<std::int64_t> total_steps;
    std::optional<std::int32_t> percentage;
    std::optional<std::int64_t> remaining_seconds;
    std::vector<progress_metric> metrics;
    std::optional<std::int64_t> checkpoint_step;
    std::optional<instant> checkpoint_time;
    std::optional<std::int64_t> checkpoint_seconds;
    instant time{};                    ///< of the last message
    instant advanced{};                ///< of the last one that told of progress
    std::vector<rank_progress> ranks;  ///< by rank; at most `most_ranks`
    friend bool operator==(const progress_report&, const progress_report&) = default;
};
inline constexpr std::size_t most_ranks = 4096;
inline constexpr std::size_t most_metrics = 16;

/// Takes a message into the record; one of a later attempt begins it anew, one of an earlier
/// attempt is nothing. False if it was nothing. A message that tells neither step nor percentage
/// tells of progress by itself. Linear in the logarithm of the ranks, but for a rank that is new.
bool take_message(progress_report& into, const progress_message& said, instant now);

/// Where the pods of a job report to (BEHAVIOUR.md 13.10). Without `url` nowhere.
struct progress_access {
    std::string url;  ///< what the path of a job is appended to: `https://signalbox.ops.svc:8444`
    std::string ca;   ///< PEM, of who vouches for the receiver; empty: whoever the image trusts
    bool of_all_jobs = false;  ///< also attempts of jobs that do not ask for it
    friend bool operator==(const progress_access&, const progress_access&) = default;
};

/// Audience of the tokens that reports are sent with.
inline constexpr std::string_view progress_audience = "progress.batch.tensorstack.dev";

/// What follows the URL for a job: `/namespaces/<ns>/<plural>/<name>`.
std::string progress_path(std::string_view ns, std::string_view plural, std::string_view job_name);

}  // namespace signalbox::core
