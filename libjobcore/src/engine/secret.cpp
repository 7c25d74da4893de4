// SPDX-License-Identifier: Apache-2.0
//
// The ssh Secret that somebody deleted (BEHAVIOUR.md 2.6). Pods that have started keep the keys
// they were given; pods that start later would get other ones, and neither could reach the other.
#include "engine/ledger.hpp"
#include "engine/objects.hpp"
#include "engine/restart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace signalbox::core::engine {
namespace {

const planned_object* planned_secret(const job_plan& plan) {
    const auto it = std::ranges::find(plan.objects, object_kind::secret, &planned_object::kind);
    return it == plan.objects.end() ? nullptr : &*it;
}

bool any_started(const pod_record& pod) {
    return std::ranges::any_of(pod.containers, [](const container_record& c) {
        return !c.init && has_started(c);
    });
}

struct started_pods {
    bool any = false;
    bool all = true;
};

/// Confirmed by a live read now, or on record as told.
bool is_known_lost(const pass& p, std::string_view name) {
    const bool told = p.is_told(reason::secret_lost) && p.job.status.attempt == p.next.attempt;
    return told || is_confirmed_absent(p, object_kind::secret, name);
}

started_pods count_started(pass& p) {
    started_pods out;
    for_each_slot(p, [&](std::size_t, std::int32_t, const slot& s) {
        const bool started = s.settled() || (s.current != nullptr && any_started(*s.current));
        out.any = out.any || started;
        out.all = out.all && started;
    });
    return out;
}

void record_loss(pass& p, std::string name) {
    loss lost;
    lost.role = no_role;
    lost.disrupted = true;
    lost.cause = cause::secret_lost;
    lost.end = p.now;
    lost.short_lived = is_soon_after_incident(p);
    lost.message = fmt::format("Secret {} was deleted before every pod had started", name);
    lost.name = std::move(name);
    verdict v;
    v.restartable = true;
    v.scope = restart_scope::job;
    record_incident(p, std::array{std::move(lost)}, v);
}

}  // namespace

bool check_secret(pass& p) {
    const planned_object* secret = planned_secret(p.plan);
    if (secret == nullptr) {
        return false;
    }
    const started_pods started = count_started(p);
    p.keys_in_use = started.any;
    std::string name = object_name(*secret, p.next.attempt);
    const child_record* seen = find_child(p, object_kind::secret, name);
    if (!started.any || (seen != nullptr && !seen->deleting)) {
        return false;
    }
    if (seen == nullptr && !is_known_lost(p, name)) {
        action read;
        read.what = verb::confirm;
        read.kind = object_kind::secret;
        read.name = std::move(name);
        read.pod.attempt = p.next.attempt;
        read.why = "the Secret with the ssh keys is missing";
        read.rule = "behaviour 5.3";
        p.add_stage({std::move(read)});
        return false;
    }
    if (started.all) {
        p.facts.push_back(
            {reason::secret_lost,
             fmt::format(
                 "Secret {} was deleted; the running pods keep their keys, and it is made again "
                 "with the next attempt",
                 name
             )}
        );
        return false;
    }
    record_loss(p, std::move(name));
    return true;
}

}  // namespace signalbox::core::engine
