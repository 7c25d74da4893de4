// SPDX-License-Identifier: Apache-2.0
//
// How soon an object that somebody changes or deletes again and again is put right once more
// (BEHAVIOUR.md 2.6). In memory only; no I/O, no clock.
#pragma once

#include "jobcore/decide.hpp"
#include "k8sio/clock.hpp"

#include <map>
#include <string>
#include <utility>

namespace signalbox::op {

/// Of one job. Pods and the job itself have rules of their own: only its other objects count.
class repair_pace {
public:
    /// `a` must not be carried out before; a time in the past if it may be now.
    k8sio::steady_time earliest(const core::action& a, k8sio::steady_time now) const;
    /// `a` was acknowledged.
    void note(const core::action& a, k8sio::steady_time now);

private:
    struct history {
        int count = 0;  ///< without a long pause between two
        k8sio::steady_time last{};
    };
    std::map<std::pair<core::object_kind, std::string>, history> by_object_;
};

}  // namespace signalbox::op
