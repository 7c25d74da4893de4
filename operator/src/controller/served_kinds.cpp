// SPDX-License-Identifier: Apache-2.0
#include "controller/served_kinds.hpp"

#include "controller/resource_table.hpp"

#include <algorithm>
#include <utility>

namespace signalbox::op {

namespace {

/// Kinds to ask for: extensions of features that are not left out.
std::vector<const k8sio::resource_type*> types_to_ask(const feature_set& without) {
    std::vector<const k8sio::resource_type*> out;
    for (const watched_kind& kind : watched_children()) {
        if (kind.when == watched::if_served && is_wanted(kind.kind, without)) {
            out.push_back(kind.type);
        }
    }
    return out;
}

k8sio::discovery_timing timing_of(const core::policy& rules) {
    k8sio::discovery_timing out;
    out.interval = rules.capability_retry;
    return out;
}

}  // namespace

core::served served_by(std::optional<bool> answer) {
    return !answer ? core::served::unknown : *answer ? core::served::yes : core::served::no;
}

served_kinds::served_kinds(
    k8sio::client& api,
    const settings& config,
    const cluster_views& views,
    const child_watches& watches,
    k8sio::controller& runtime
)
    : config_(&config),
      watches_(&watches),
      runtime_(&runtime),
      poll_(api, types_to_ask(config.options.without), *this, timing_of(config.rules)) {
    for (const watched_kind& kind : watched_children()) {
        if (kind.when == watched::if_served) {
            rows_.push_back({views.view_of(kind.kind), kind.type});
        }
    }
}

void served_kinds::answered(const k8sio::resource_type& type, bool served) {
    const row& r = *std::ranges::find(rows_, &type, &row::type);
    const bool news = r.view->offered != served_by(served);
    r.view->offered = served_by(served);
    // What a reflector leaves in the view is forgotten; the next look may start another.
    const bool is_watched = runtime_->reflector_of(r.view->store) != nullptr;
    if (served && !is_watched) {
        watches_->watch(type, r.view->store, false);
    } else if (!served && is_watched) {
        runtime_->unwatch(r.view->store);
    }
    if (news) {
        config_->log->info(
            "the server {} {}",
            served ? "serves" : "does not serve",
            type.plural() + "." + type.group()
        );
    }
}

bool served_kinds::lists_complete() const {
    return std::ranges::all_of(rows_, [](const row& r) {
        return r.view->offered != core::served::yes || r.view->store.synced();
    });
}

}  // namespace signalbox::op
