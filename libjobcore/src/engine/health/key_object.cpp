// SPDX-License-Identifier: Apache-2.0
//
// The object with keys that somebody deleted (BEHAVIOUR.md 2.6).
#include "engine/facts/ledger.hpp"
#include "engine/health/health.hpp"
#include "engine/view/children.hpp"

#include <algorithm>

namespace signalbox::core::engine {
namespace {

bool any_started(const pod_record& pod) {
    return std::ranges::any_of(pod.containers, [](const container_record& c) {
        return !c.init && has_started(c);
    });
}

struct started_pods {
    bool any = false;
    bool all = true;
    bool made = false;  ///< a pod of the attempt was made, whether it has started or not
};

started_pods count_started(const context& c) {
    started_pods out;
    for_each_replica(c.view, [&](std::size_t, std::int32_t, const replica_view& s) {
        const bool started = s.done() || (s.current != nullptr && any_started(*s.current));
        out.made = out.made || s.done() || s.seen || s.current != nullptr;
        out.any = out.any || started;
        out.all = out.all && started;
    });
    return out;
}

}  // namespace

key_object examine_keys(const context& c) {
    key_object keys;
    const auto with_keys = std::ranges::find_if(c.in.plan.objects, &planned_object::has_keys);
    if (with_keys == c.in.plan.objects.end()) {
        return keys;
    }
    const started_pods started = count_started(c);
    keys.in_use = started.any;
    keys.mounted = started.made;
    keys.kind = with_keys->kind;
    keys.name = object_name(*with_keys, c.status.attempt);
    const child_record* seen = find_child(c.in, keys.kind, keys.name);
    if (!started.any || (seen != nullptr && !seen->deleting)) {
        return keys;
    }
    // What was told once is known: the read that confirmed it is not repeated.
    const bool known = seen != nullptr || is_told(c.status, reason::secret_lost) ||
                       is_confirmed_absent(c.in, keys.kind, keys.name);
    keys.is = !known        ? key_object::state::unconfirmed
              : started.all ? key_object::state::spent
                            : key_object::state::lost;
    return keys;
}

}  // namespace signalbox::core::engine
