// SPDX-License-Identifier: Apache-2.0
//
// How soon an object that somebody changes or deletes again and again is put right once more
// (BEHAVIOUR.md 2.6). In memory only; no I/O, no clock.
#pragma once

#include "jobcore/action.hpp"

#include <chrono>
#include <map>
#include <string>
#include <utility>

namespace signalbox::core {

/// Of one job. Pods and the job itself have rules of their own: only its other objects count.
class repair_pace {
public:
    /// Of a clock that never goes back.
    using time = std::chrono::steady_clock::time_point;

    /// `a` must not be carried out before; a time in the past if it may be now.
    time earliest(const action& a, time now) const;
    /// `a` was acknowledged.
    void note(const action& a, time now);

private:
    struct history {
        int count = 0;  ///< without a long pause between two
        time last{};
    };
    std::map<std::pair<object_kind, std::string>, history> by_object_;
};

}  // namespace signalbox::core
