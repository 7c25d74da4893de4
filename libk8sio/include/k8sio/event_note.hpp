// SPDX-License-Identifier: Apache-2.0
//
// What an Event is to tell (REQUIREMENTS.md N1, N3-N5).
#pragma once

#include <cstdint>
#include <string>

namespace signalbox::k8sio {

/// The object an event is about. An empty namespace means an object of the cluster, whose events
/// are in `default` (REQUIREMENTS.md N3). Empty parts are left out.
class object_reference {
public:
    object_reference() = default;
    std::string api_version, kind, ns, name, uid, resource_version;
};

/// Which notes go first where there is no room for all (REQUIREMENTS.md N5).
enum class event_rank : std::uint8_t {
    detail,  ///< of one part of the object among others
    state,   ///< where the object stands
    end,     ///< how it ended: the one that is still looked for afterwards
};

/// What to tell. Notes that are equal but for the version of the object are one Event with a count,
/// if they come within 10 minutes: no counters, times or UIDs in the message (REQUIREMENTS.md N1,
/// N4).
class event_note {
public:
    event_note() = default;
    object_reference regarding;
    bool warning = false;  ///< type Warning, else Normal
    std::string reason;    ///< CamelCase; cut to 128 bytes
    std::string message;   ///< cut to 1,023 bytes at a UTF-8 boundary
    event_rank rank = event_rank::state;
};

}  // namespace signalbox::k8sio
