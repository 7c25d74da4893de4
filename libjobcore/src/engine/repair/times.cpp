// SPDX-License-Identifier: Apache-2.0
#include "engine/repair/times.hpp"

#include "engine/shown/shown.hpp"

#include <algorithm>
#include <chrono>

namespace signalbox::core::engine {
namespace {

constexpr milliseconds far_ahead_of_us = std::chrono::hours(1);

time_kind kind_by_phase(job_phase phase) {
    return phase == job_phase::paused    ? time_kind::paused
           : phase == job_phase::running ? time_kind::running
                                         : time_kind::starting;
}

std::int64_t& member_of(time_spent& t, time_kind kind) {
    return kind == time_kind::paused    ? t.paused
           : kind == time_kind::running ? t.running
                                        : t.starting;
}

std::int64_t most_recoverable(const time_spent& t) {
    return may_come_back(t.in) ? t.lost : 0;
}

bool is_whole_second(instant t) {
    return t == round_down_to_second(t);
}

}  // namespace

std::optional<time_spent> find_true_time(const inputs& in, const job_status& s) {
    const time_spent& t = s.time;
    if (is_final(s.phase)) {
        return std::nullopt;  // an end leaves it as it was
    }
    if (!t.since) {
        return t == time_spent{} ? std::nullopt : std::optional(time_spent{});
    }
    const instant now = round_down_to_second(in.now);
    const instant origin = round_down_to_second(in.job.meta.creation_time.value_or(*t.since));
    const bool since_is_wrong =
        *t.since > in.now + far_ahead_of_us || *t.since < origin || !is_whole_second(*t.since);
    const bool known = in.job.meta.creation_time.has_value();
    const std::int64_t told = std::chrono::floor<seconds>(*t.since - origin).count();
    if (!since_is_wrong && t.in != time_kind::none && t.unsaved <= t.running &&
        t.recoverable <= most_recoverable(t) && (!known || t.total() == told)) {
        return std::nullopt;
    }
    time_spent out = t;
    const time_kind kind = kind_by_phase(s.phase);
    out.in = t.in == time_kind::none ? kind : t.in;
    out.since = since_is_wrong ? std::max(now, origin) : *t.since;
    const std::int64_t all =
        known ? std::chrono::floor<seconds>(*out.since - origin).count() : out.total();
    if (out.total() > all) {
        const time_kind in_now = out.in;
        const auto since = out.since;
        out = {};
        out.in = in_now;
        out.since = since;
    }
    member_of(out, kind) += all - out.total();
    out.unsaved = std::min(out.unsaved, out.running);
    out.recoverable = std::min(out.recoverable, most_recoverable(out));
    return out;
}

}  // namespace signalbox::core::engine
