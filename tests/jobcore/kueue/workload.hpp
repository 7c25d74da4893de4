// SPDX-License-Identifier: Apache-2.0
//
// What Kueue makes of a Workload, and what its server refuses: functions of the object's JSON. All
// that was seen on the real one is in tests/gang.
#pragma once

#include "jobcore/time.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace signalbox::test {

/// The object after a JSON merge patch (RFC 7396).
std::string merged(const std::string& object, std::string_view patch);

/// The object after a patch of it or of its subresource, as a server takes that. Nothing: the patch
/// is of another version (409).
std::optional<std::string> patched(
    const std::string& object, std::string_view body, std::string_view subresource
);

namespace workload {

/// Pods of a type that get quota; of a type that is not there, all that it asks for.
using counts = std::map<std::string, int>;

// What Kueue does. Each gives the object after it; the version stays.

/// Quota is kept for it, of the flavour. `admitted`: its pods may run; else a check is not done.
std::string with_quota(
    const std::string& object,
    const counts& given,
    const std::string& flavor,
    bool admitted,
    core::instant at
);
/// It has to wait, for a reason in words.
std::string waiting(const std::string& object, const std::string& message, core::instant at);
/// It has to give back what it has.
std::string evicted(
    const std::string& object,
    const std::string& reason,
    const std::string& message,
    core::instant at
);
/// Somebody has said that it has ended.
std::string finished(const std::string& object, core::instant at);
/// Somebody has written `spec.active`.
std::string activated(const std::string& object, bool active);

// What it says.

/// The status of a condition, `True`; empty: it is not there, or there is no object.
std::string told(const std::string& object, std::string_view type);
bool is_active(const std::string& object);
/// Pods that it asks quota for: least is by `minCount`, where a set has that.
struct wish {
    int all = 0;
    int least = 0;
};
wish asked(const std::string& object);
/// Pods whose quota it takes.
int used(const std::string& object);

/// Why the server or Kueue would not take this change by a controller of jobs, or what it would be
/// stuck in for good; empty: it is good. `of_status`: the change is one of the status.
std::string objection(const std::string& before, const std::string& after, bool of_status);

}  // namespace workload
}  // namespace signalbox::test
