// SPDX-License-Identifier: Apache-2.0
#include "jobcore/repair_pace.hpp"

#include <algorithm>

namespace signalbox::core {

namespace {

using std::chrono::seconds;

/// So often at once: what was just made may well be edited.
constexpr int free_writes = 4;
constexpr seconds first_delay{1};
constexpr seconds longest_delay{300};
constexpr seconds pause{60};

seconds delay_after(int count) {
    if (count < free_writes) {
        return seconds{0};
    }
    seconds delay = first_delay;
    for (int i = free_writes; i < count && delay < longest_delay; ++i) {
        delay *= 2;
    }
    return std::min(delay, longest_delay);
}

bool counts(const action& a) {
    const bool writes = a.what() == verb::create || a.what() == verb::patch;
    return writes && a.kind != object_kind::pod && a.kind != object_kind::job;
}

}  // namespace

repair_pace::time repair_pace::earliest(const action& a, time now) const {
    const auto found = by_object_.find({a.kind, a.name});
    if (!counts(a) || found == by_object_.end()) {
        return now;
    }
    const history& h = found->second;
    const bool over = now - h.last > delay_after(h.count) + pause;
    return over ? now : h.last + delay_after(h.count);
}

void repair_pace::note(const action& a, time now) {
    if (!counts(a)) {
        return;
    }
    std::erase_if(by_object_, [&](const auto& entry) {
        return now - entry.second.last > delay_after(entry.second.count) + pause;
    });
    history& h = by_object_[{a.kind, a.name}];
    ++h.count;
    h.last = now;
}

}  // namespace signalbox::core
