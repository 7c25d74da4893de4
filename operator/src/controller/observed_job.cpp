// SPDX-License-Identifier: Apache-2.0
#include "controller/observed_job.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

namespace signalbox::op {

observed_job::observed_job(
    const cluster_views& views, const job_reports& reports, const job_entry& entry, bool reads_logs
) {
    const std::string& uid = entry.object->meta.uid;
    const auto add = [&job = entry.object->meta](auto records, auto& held, auto& to) {
        for (auto& record : records) {
            if (core::is_child_of(*record, job.uid, job.ns)) {
                to.push_back(record.get());
                held.push_back(std::move(record));
            }
        }
    };
    add(views.pods.find<by_owner>(uid), held_pods_, pods_);
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
            add(view->store.find<by_owner>(uid), held_children_, children_);
        }
    }
    served_ = views.capabilities();
    seen_.pods = pods_;
    seen_.children = children_;
    seen_.refusals = entry.answers.refusals();
    seen_.absences = entry.answers.absences();
    seen_.served_kinds = served_;
    seen_.no_room = entry.no_room;
    seen_.admitted = entry.answers.admitted();
    seen_.logs = entry.answers.logs();
    seen_.readings = entry.answers.readings();
    seen_.reads_logs = reads_logs;
    reports.show(uid, seen_);
}

void forget_disproved(const cluster_views& views, job_entry& entry) {
    if (entry.answers.absences().empty()) {
        return;
    }
    const std::string& uid = entry.object->meta.uid;
    // A set: all pods of a large job may vanish at once.
    const auto shown = views.pods.find<by_owner>(uid);
    std::unordered_set<std::string_view> pods;
    for (const auto& pod : shown) {
        pods.insert(pod->name);
    }
    entry.answers.forget_disproved([&](core::object_kind kind, std::string_view name) {
        if (kind == core::object_kind::pod) {
            return pods.count(name) != 0;
        }
        const child_view* const view = views.view_of(kind);
        if (view == nullptr) {
            return false;
        }
        const auto records = view->store.find<by_owner>(uid);
        return std::ranges::any_of(records, [&](const auto& r) { return r->name == name; });
    });
}

}  // namespace signalbox::op
