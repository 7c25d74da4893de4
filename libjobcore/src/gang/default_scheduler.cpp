// SPDX-License-Identifier: Apache-2.0
//
// The schedulers that jobs may get which name none (BEHAVIOUR.md 8.15).
#include "gang/scheduler.hpp"
#include "jobcore/policy_fields.hpp"

#include <algorithm>

namespace signalbox::core {

std::vector<std::string_view> default_schedulers() {
    std::vector<std::string_view> out{gang::left_open};
    for (const gang::scheduler* s : gang::all_schedulers()) {
        if (s->quota == nullptr) {
            out.push_back(s->name);
        }
    }
    return out;
}

bool set_default_scheduler(policy& of, std::string_view name) {
    const auto known = default_schedulers();
    const auto found = std::ranges::find(known, name);
    if (!name.empty() && found == known.end()) {
        return false;
    }
    of.default_scheduler = name.empty() ? std::string_view() : *found;
    return true;
}

}  // namespace signalbox::core
