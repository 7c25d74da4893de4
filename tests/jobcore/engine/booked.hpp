// SPDX-License-Identifier: Apache-2.0
//
// What tests say of the time that a job has booked (BEHAVIOUR.md 13.1).
#pragma once

#include "engine/jobs.hpp"

#include <catch2/catch.hpp>

#include <chrono>
#include <cstdint>

namespace signalbox::test {

inline std::int64_t booked_seconds(const world& w) {
    return std::chrono::floor<core::seconds>(*w.status().time.since - at(0)).count();
}

/// All that is booked is the time from the creation on.
inline void check_booked(const world& w) {
    const core::time_spent& t = w.status().time;
    INFO(core::format_status(w.status(), core::job_kind::pytorch));
    REQUIRE(t.since);
    CHECK(t.total() == booked_seconds(w));
    CHECK(t.unsaved <= t.running);
    CHECK(t.recoverable <= t.lost);
}

/// Made at 0, running from 20 on, with 5 s for what is late.
inline void start_at_20(world& w) {
    w.settle();
    w.to(at(20));
    w.run_all();
    w.settle();
}

}  // namespace signalbox::test
