// SPDX-License-Identifier: Apache-2.0
#include "engine/facts/chosen_scheduler.hpp"

#include "gang/scheduler.hpp"

#include <algorithm>
#include <vector>

namespace signalbox::core::engine {
namespace {

bool takes_job(const inputs& in, std::string_view scheduler) {
    const auto& possible = in.job.compiled->plan->possible_schedulers;
    return std::ranges::find(possible, scheduler) != possible.end();
}

/// Those that may be chosen, the preferred one first.
std::vector<const gang::scheduler*> candidates(const inputs& in) {
    std::vector<const gang::scheduler*> out;
    for (const gang::scheduler* s : gang::all_schedulers()) {
        if (s->by_choice && takes_job(in, s->name)) {
            out.push_back(s);
        }
    }
    return out;
}

/// The first of its versions of which that is so; null: none.
const object_kind* find_version(const inputs& in, const gang::scheduler& by, served is) {
    const auto found = std::ranges::find_if(by.objects, [&](object_kind kind) {
        return served_of(in.seen.served_kinds, kind) == is;
    });
    return found == by.objects.end() ? nullptr : &*found;
}

}  // namespace

json::asked_scheduler asked_scheduler_of(const inputs& in) {
    const spec_fragments& spec = in.job.compiled->fragments;
    return {spec.scheduler, spec.queue};
}

bool is_scheduler_open(const job_status& status) {
    return status.scheduler == gang::left_open;
}

bool has_no_scheduler(const job_status& status) {
    return status.scheduler == gang::none_chosen;
}

bool is_compiled_for_other(const inputs& in, const job_status& status) {
    const compiled_job& compiled = *in.job.compiled;
    const bool chosen =
        gang::find_scheduler(status.scheduler) != nullptr && compiled.scheduler != status.scheduler;
    return chosen ||
           compiled.queue != json::queue_in_force({}, true, status.queue, asked_scheduler_of(in));
}

std::string scheduler_at_begin(const inputs& in) {
    const auto& asked = in.job.compiled->spec->scheduler;
    if (asked) {
        return asked->name == gang::left_open ? asked->name : std::string();
    }
    const std::string_view usual = in.policy.default_scheduler;
    return usual == gang::left_open || takes_job(in, usual) ? std::string(usual) : std::string();
}

std::variant<std::string_view, object_kind> choose_scheduler(const inputs& in) {
    for (const gang::scheduler* s : candidates(in)) {
        if (find_version(in, *s, served::yes) != nullptr) {
            return s->name;
        }
        if (const object_kind* unknown = find_version(in, *s, served::unknown)) {
            return *unknown;
        }
    }
    return gang::none_chosen;
}

}  // namespace signalbox::core::engine
