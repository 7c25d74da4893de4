// SPDX-License-Identifier: Apache-2.0
#include "controller/served_kinds.hpp"

#include "controller/resource_table.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace signalbox::op {

namespace {

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
    : rows_(rows_of(views, config.options.without)),
      config_(&config),
      watches_(&watches),
      runtime_(&runtime),
      poll_(api, types(), *this, timing_of(config.rules)) {}

/// Extensions of features that are not left out.
std::vector<served_kinds::row> served_kinds::rows_of(
    const cluster_views& views, const feature_set& without
) {
    std::vector<row> out;
    for (const watched_kind& kind : watched_children()) {
        if (kind.when == watched::if_served && is_wanted(kind.kind, without)) {
            out.push_back({views.view_of(kind.kind), kind.type});
        }
    }
    return out;
}

std::vector<const k8sio::resource_type*> served_kinds::types() const {
    std::vector<const k8sio::resource_type*> out;
    std::ranges::transform(rows_, std::back_inserter(out), &row::type);
    return out;
}

void served_kinds::answered(const k8sio::resource_type& type, bool served) {
    std::ranges::find(rows_, &type, &row::type)->served = served;
    bool open = true;  // it is known that no version before is served
    for (row& r : rows_) {
        if (is_same_resource(*r.type, type)) {
            if (r.served) {
                offer(r, open && *r.served);
            }
            open = open && r.served == false;
        }
    }
}

void served_kinds::offer(row& r, bool served) {
    const k8sio::resource_type& type = *r.type;
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
