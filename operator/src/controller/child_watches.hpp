// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "controller/cluster_views.hpp"
#include "k8sio/controller.hpp"

#include <chrono>
#include <string>
#include <utility>

namespace signalbox::op {

/// Between two tries of a watch or list, and up to as much again: a server that is back shall find
/// every job as wanted within a minute (REQUIREMENTS.md R6).
inline constexpr std::chrono::seconds longest_backoff{10};

/// Starts the watches of children. `views` and `runtime` must outlive it.
class child_watches {
public:
    child_watches(const cluster_views& views, k8sio::controller& runtime, std::string ns)
        : views_(&views), runtime_(&runtime), ns_(std::move(ns)) {}

    /// Has `store` filled with what is ours of `type`, and changes queue their jobs. `required`: no
    /// decision is made without it.
    template <class Record>
    void watch(
        const k8sio::resource_type& type, k8sio::store<Record, by_owner>& store, bool required
    ) const;

private:
    const cluster_views* views_;
    k8sio::controller* runtime_;
    std::string ns_;
};

template <class Record>
void child_watches::watch(
    const k8sio::resource_type& type, k8sio::store<Record, by_owner>& store, bool required
) const {
    k8sio::watch_options watched;
    watched.reflect.ns = ns_;
    watched.reflect.label_selector = children_selector;
    watched.reflect.backoff_max = longest_backoff;
    watched.required = required;
    if (!required) {
        watched.max_age = std::chrono::nanoseconds{0};  // discovery says when it is gone
    }
    // A job that comes later queues itself; another controller's never comes.
    const auto job_of = [views = views_](const Record& child) {
        return views->jobs.find(child.owner_uid) ? child.owner_uid : std::string();
    };
    runtime_->watch(type, store, job_of, std::move(watched));
}

}  // namespace signalbox::op
