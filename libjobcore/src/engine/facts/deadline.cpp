// SPDX-License-Identifier: Apache-2.0
#include "engine/facts/deadline.hpp"

namespace signalbox::core::engine {

bool deadline_passed(const inputs& in) {
    const auto& start = in.job.status.start_time;
    const auto limit = in.plan.run.active_deadline_seconds;
    if (!limit || !start || in.now < *start) {
        return false;
    }
    // Compared by subtraction: a huge limit must not overflow the sum.
    return std::chrono::duration_cast<seconds>(in.now - *start).count() >= *limit;
}

std::optional<instant> deadline_of(const inputs& in, std::optional<instant> start) {
    constexpr std::int64_t far = 100LL * 365 * 24 * 3600;
    const auto limit = in.plan.run.active_deadline_seconds;
    if (!limit || !start || *limit >= far) {
        return std::nullopt;
    }
    return *start + seconds(*limit);
}

}  // namespace signalbox::core::engine
