// SPDX-License-Identifier: Apache-2.0
//
// Texts of the enumerations of plan.hpp and observed.hpp, as the API spells them.
#include "jobcore/observed.hpp"
#include "jobcore/plan.hpp"

#include <algorithm>

namespace signalbox::core {

std::string_view to_string(pod_phase phase) {
    switch (phase) {
        case pod_phase::pending:
            return "Pending";
        case pod_phase::running:
            return "Running";
        case pod_phase::succeeded:
            return "Succeeded";
        case pod_phase::failed:
            return "Failed";
        case pod_phase::unknown:
            return "Unknown";
    }
    return {};
}

std::string_view to_string(container_state state) {
    switch (state) {
        case container_state::waiting:
            return "Waiting";
        case container_state::running:
            return "Running";
        case container_state::terminated:
            return "Terminated";
        case container_state::unknown:
            return "Unknown";
    }
    return {};
}

std::optional<object_kind> parse_child_kind(std::string_view version, std::string_view kind) {
    const auto all = all_child_kinds();
    const auto found = std::ranges::find_if(all, [&](object_kind k) {
        return k->name == kind && k->api_version == version;
    });
    return found == all.end() ? std::nullopt : std::optional(*found);
}

void capabilities::set(object_kind kind, served is) {
    const auto at = std::ranges::lower_bound(rows_, kind, {}, &served_kind::kind);
    if (at != rows_.end() && at->kind == kind) {
        at->is = is;
    } else {
        rows_.insert(at, {kind, is});
    }
}

served served_of(std::span<const served_kind> known, object_kind kind) {
    const auto found = std::ranges::find(known, kind, &served_kind::kind);
    return found == known.end() ? served::unknown : found->is;
}

}  // namespace signalbox::core
