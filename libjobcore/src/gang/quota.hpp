// SPDX-License-Identifier: Apache-2.0
//
// What a scheduler that gives quota has beside (BEHAVIOUR.md 8.11-8.14): its object asks for quota,
// pods are made once that is admitted, and what became of them is written back into its status.
#pragma once

#include "jobcore/observed.hpp"
#include "json/json.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace signalbox::core::gang {

/// An object of the cluster, by its name.
struct named_object {
    object_kind kind;
    std::string name;
    friend bool operator==(const named_object&, const named_object&) = default;
};

/// What is written into the status of an object that asks for quota.
struct quota_change {
    enum class what : std::uint8_t {
        release,  ///< the quota is given back, and asked for again
        finish,   ///< it is given back for good
        ready,    ///< all pods run
        unready,  ///< they did, and do not
        reclaim,  ///< that of pods which have ended is given back
    };
    what is = what::release;
    instant now{};
    bool succeeded = false;  ///< with `finish`
    /// With `reclaim`: pods whose quota is given back, by type, those of before included.
    std::vector<std::pair<std::string_view, std::int32_t>> reclaimed{};
};

/// Functions without state. Each takes any answer that the scheduler's `read` gives.
struct quota_scheme {
    /// The kinds of the cluster's objects that it refers to.
    std::span<const object_kind> reads;
    /// What of them tells the value of the priority that the job asks for; nothing: no priority.
    std::optional<named_object> (*priority_class)(const gang_request& asked) = nullptr;
    /// That value, from the object.
    std::optional<std::int32_t> (*priority)(const json::value& object) = nullptr;
    /// What of them tells what pods get by the admission, each once.
    std::vector<named_object> (*flavors)(const quota_answer& says) = nullptr;
    /// The admission, from these objects. `uid` is that of the object that was admitted.
    admission_record (*admit
    )(const quota_answer& says, std::string_view uid, std::span<const object_reading> read
    ) = nullptr;
    /// The value of `status` in a merge patch, JSON.
    std::string (*status)(const quota_answer& says, const quota_change& change) = nullptr;
    /// `template` of what asks for quota, from a pod of a type.
    std::string (*pod_template)(const json::value& pod) = nullptr;
};

}  // namespace signalbox::core::gang
