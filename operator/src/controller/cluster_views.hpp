// SPDX-License-Identifier: Apache-2.0
//
// What is known of the cluster: the views of jobs and of their children. Only data; watches fill
// them, and answers (view_updates).
#pragma once

#include "controller/features.hpp"
#include "controller/job_table.hpp"
#include "controller/resource_table.hpp"
#include "jobcore/observed.hpp"
#include "k8sio/store.hpp"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::op {

/// The index of children by the UID of their job.
struct by_owner {
    template <class Record>
    const std::string& operator()(const Record& child) const {
        return child.owner_uid;
    }
};
using pod_store = k8sio::store<core::pod_record, by_owner>;
using child_store = k8sio::store<core::child_record, by_owner>;

/// The view of one kind of children other than pods.
struct child_view {
    /// `wanted`: no feature is left out that needs the kind (BEHAVIOUR.md 2.11).
    child_view(const watched_kind& row, bool wanted);

    core::object_kind kind;
    watched how;
    child_store store;
    /// What discovery said; kinds that every server serves are never asked for, nor those that are
    /// not wanted.
    core::served offered;

    /// A kind counts as served when its view is complete: before that, decisions would take
    /// absence from the view for absence from the server.
    core::served served() const {
        const bool incomplete =
            how != watched::by_name && offered == core::served::yes && !store.synced();
        return incomplete ? core::served::unknown : offered;
    }
    /// Decisions look at it, and wait for it to show our own writes.
    bool in_use() const { return served() == core::served::yes; }
};

struct cluster_views {
    /// `without`: features whose kinds are not looked at. `listener` must outlive this.
    cluster_views(job_listener& listener, const feature_set& without);

    cluster_views(const cluster_views&) = delete;
    cluster_views& operator=(const cluster_views&) = delete;

    pod_store pods;
    std::vector<std::unique_ptr<child_view>> children;
    job_table jobs;
    std::vector<std::unique_ptr<job_sink>> job_views;

    /// Whoever reads a pod reads it here: what all pods of a job say is kept once. Empty if the
    /// text could not be read.
    std::optional<core::pod_record> read_pod(std::string_view object_json);

    /// Which of the kinds that not every server serves decisions may count on now.
    core::capabilities capabilities() const;
    /// Versions up to which each view of children has seen everything, in a fixed order.
    std::vector<std::string> versions() const;
    /// Null for a kind that has no view of its own: pods, jobs.
    child_view* view_of(core::object_kind kind) const;
    /// Null for a kind of jobs that is not looked after.
    job_sink* view_of(core::job_kind kind) const;

private:
    core::text_pool texts_;  ///< of pods
};

}  // namespace signalbox::op
