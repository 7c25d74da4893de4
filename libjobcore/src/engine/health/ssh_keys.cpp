// SPDX-License-Identifier: Apache-2.0
//
// The Secret that somebody deleted (BEHAVIOUR.md 2.6).
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
};

started_pods count_started(const context& c) {
    started_pods out;
    for_each_slot(c.view, [&](std::size_t, std::int32_t, const slot& s) {
        const bool started = s.done() || (s.current != nullptr && any_started(*s.current));
        out.any = out.any || started;
        out.all = out.all && started;
    });
    return out;
}

}  // namespace

ssh_keys examine_keys(const context& c) {
    ssh_keys keys;
    const auto secret =
        std::ranges::find(c.in.plan.objects, object_kind::secret, &planned_object::kind);
    if (secret == c.in.plan.objects.end()) {
        return keys;
    }
    const started_pods started = count_started(c);
    keys.in_use = started.any;
    keys.name = object_name(*secret, c.status.attempt);
    const child_record* seen = find_child(c.in, object_kind::secret, keys.name);
    if (!started.any || (seen != nullptr && !seen->deleting)) {
        return keys;
    }
    // What was told once is known: the read that confirmed it is not repeated.
    const bool known = seen != nullptr || is_told(c.status, reason::secret_lost) ||
                       is_confirmed_absent(c.in, object_kind::secret, keys.name);
    keys.is = !known        ? ssh_keys::state::unconfirmed
              : started.all ? ssh_keys::state::spent
                            : ssh_keys::state::lost;
    return keys;
}

}  // namespace signalbox::core::engine
