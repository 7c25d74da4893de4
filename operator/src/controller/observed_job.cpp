// SPDX-License-Identifier: Apache-2.0
#include "controller/observed_job.hpp"

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>

namespace signalbox::op {

observed_job::observed_job(const cluster_views& views, const job_entry& entry) {
    const std::string& uid = entry.object->meta.uid;
    const auto add = [&job = entry.object->meta](const auto& records, auto& to) {
        std::ranges::copy_if(records, std::back_inserter(to), [&job](const auto* record) {
            return core::is_child_of(*record, job.uid, job.ns);
        });
    };
    add(views.pods.find<by_owner>(uid), pods_);
    for (const core::pod_record& hidden : entry.hidden_pods) {
        const bool shown = std::any_of(pods_.begin(), pods_.end(), [&](const core::pod_record* p) {
            return p->uid == hidden.uid;
        });
        if (!shown) {
            pods_.push_back(&hidden);
        }
    }
    for (const auto& view : views.children) {
        if (view->in_use()) {
            add(view->store.find<by_owner>(uid), children_);
        }
    }
    served_ = views.capabilities();
    seen_.pods = pods_;
    seen_.children = children_;
    seen_.refusals = entry.refusals.all();
    seen_.absences = entry.absences;
    seen_.served_kinds = served_;
}

void forget_disproved(const cluster_views& views, job_entry& entry) {
    if (entry.absences.empty()) {
        return;
    }
    const std::string& uid = entry.object->meta.uid;
    // A set: all pods of a large job may vanish at once.
    std::unordered_set<std::string_view> pods;
    for (const core::pod_record* pod : views.pods.find<by_owner>(uid)) {
        pods.insert(pod->name);
    }
    std::erase_if(entry.absences, [&](const core::confirmed_absence& absence) {
        if (absence.kind == core::object_kind::pod) {
            return pods.count(absence.name) != 0;
        }
        return std::any_of(
            views.children.begin(),
            views.children.end(),
            [&](const std::unique_ptr<child_view>& view) {
                const auto records = view->store.find<by_owner>(uid);
                return view->kind == absence.kind &&
                       std::any_of(
                           records.begin(),
                           records.end(),
                           [&](const core::child_record* r) { return r->name == absence.name; }
                       );
            }
        );
    });
}

}  // namespace signalbox::op
