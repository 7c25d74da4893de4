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

/// In any of its versions.
bool has_version(const inputs& in, const gang::scheduler& by, served is) {
    return std::ranges::any_of(by.objects, [&](object_kind kind) {
        return served_of(in.seen.served_kinds, kind) == is;
    });
}

}  // namespace

bool is_scheduler_open(const job_status& status) {
    return status.scheduler == gang::left_open;
}

bool is_compiled_for_other(const inputs& in, const job_status& status) {
    return gang::find_scheduler(status.scheduler) != nullptr &&
           in.job.compiled->scheduler != status.scheduler;
}

std::string scheduler_at_begin(const inputs& in) {
    const auto& asked = in.job.compiled->spec->scheduler;
    if (asked) {
        return asked->name == gang::left_open ? asked->name : std::string();
    }
    const std::string_view usual = in.policy.default_scheduler;
    return usual == gang::left_open || takes_job(in, usual) ? std::string(usual) : std::string();
}

std::optional<std::string_view> choose_scheduler(const inputs& in) {
    for (const gang::scheduler* s : candidates(in)) {
        if (has_version(in, *s, served::yes)) {
            return s->name;
        }
        if (has_version(in, *s, served::unknown)) {
            return std::nullopt;
        }
    }
    return gang::none_chosen;
}

std::optional<object_kind> find_unknown_kind(const inputs& in) {
    for (const gang::scheduler* s : candidates(in)) {
        const auto unknown = std::ranges::find_if(s->objects, [&](object_kind kind) {
            return served_of(in.seen.served_kinds, kind) == served::unknown;
        });
        if (unknown != s->objects.end()) {
            return *unknown;
        }
    }
    return std::nullopt;
}

}  // namespace signalbox::core::engine
