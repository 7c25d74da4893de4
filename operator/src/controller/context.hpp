// SPDX-License-Identifier: Apache-2.0
//
// What the parts of the controller share: the views, the client, the runtime. Private to this
// folder.
#pragma once

#include "controller/job_table.hpp"
#include "controller/options.hpp"
#include "controller/resource_table.hpp"
#include "jobcore/observed.hpp"
#include "k8sio/client.hpp"
#include "k8sio/controller.hpp"
#include "k8sio/store.hpp"
#include "k8sio/synchronization.hpp"

#include <spdlog/logger.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace signalbox::op {

/// Between two tries of a watch or list, and up to as much again: a server that is back shall find
/// every job as wanted within a minute (REQUIREMENTS.md R6).
inline constexpr std::chrono::seconds longest_backoff{10};

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

struct context {
    context(
        boost::asio::any_io_executor loop,
        k8sio::client& client,
        core::policy policy,
        controller_options settings,
        std::string namespace_name,
        std::shared_ptr<spdlog::logger> logger,
        job_listener& jobs_listener
    );

    boost::asio::any_io_executor executor;
    k8sio::client* api;
    core::policy rules;
    controller_options options;
    std::string ns;  ///< that is looked after; empty: all
    std::shared_ptr<spdlog::logger> log;
    controller_counters counters;
    pod_store pods;
    std::vector<std::unique_ptr<child_view>> children;
    job_table jobs;
    std::vector<std::unique_ptr<job_sink>> job_views;
    k8sio::semaphore slots;
    /// Of the controller that owns this; set before anything runs.
    k8sio::controller* runtime = nullptr;

    /// API-server time (BEHAVIOUR.md 12.8).
    core::instant now() const;
    k8sio::steady_time steady_now() const { return api->time().steady_now(); }
    /// The steady time at which now() reaches `at`.
    k8sio::steady_time steady_of(core::instant at) const;

    /// Has `store` filled with what is ours of `type`, and changes queue their jobs. `required`: no
    /// decision is made without it.
    template <class Record>
    void watch_children(
        const k8sio::resource_type& type, k8sio::store<Record, by_owner>& store, bool required
    ) const;

    /// No new request is started.
    bool stopping() const { return runtime->stopping(); }
    /// Which of the kinds that not every server serves decisions may count on now.
    core::capabilities capabilities() const;
    /// Versions up to which each view of children has seen everything, in a fixed order.
    std::vector<std::string> view_versions() const;
    /// The status was decided on these: no later pass may look at older ones.
    void require_views(const std::string& job_uid, const std::vector<std::string>& versions);

    /// How the view of children of this kind, or of jobs of that one, stands now: for
    /// note_object() or note_job(), which get the answer to a request that is sent after this.
    k8sio::view_mark mark(core::object_kind kind, core::job_kind job) const;

    /// Takes the answer to a write or live read of a child or of the job itself into the views, and
    /// lets later passes wait for it. False if the text could not be read. `labelled`: the watch
    /// shows it for sure, whatever other labels it has not. A view that it contradicts is listed
    /// anew (REQUIREMENTS.md W13).
    bool note_object(
        job_entry& entry,
        core::object_kind kind,
        std::string_view object_json,
        const k8sio::view_mark& asked,
        bool labelled = false
    );
    /// A child is gone, says an answer.
    void note_gone(core::object_kind kind, const std::string& uid);
    /// Makes the answer the job object held. Null if it could not be read.
    job_entry_ptr note_job(std::string_view object_json, const k8sio::view_mark& asked);
    /// The job is gone, says a live read.
    void note_job_gone(const core::job_meta& job);

    /// Null for a kind that has no view of its own: pods, jobs.
    child_view* view_of(core::object_kind kind) const;

private:
    bool note_pod(
        job_entry& entry, std::string_view object_json, const k8sio::view_mark& asked, bool labelled
    );
    template <class Record>
    void hold_against(
        const k8sio::store<Record, by_owner>& store,
        const Record& live,
        std::string_view object_json,
        const k8sio::view_mark& asked
    ) const;
    job_sink* job_view(core::job_kind kind) const;
};

template <class Record>
void context::watch_children(
    const k8sio::resource_type& type, k8sio::store<Record, by_owner>& store, bool required
) const {
    k8sio::watch_options watched;
    watched.reflect.ns = ns;
    watched.reflect.label_selector = children_selector;
    watched.reflect.backoff_max = longest_backoff;
    watched.required = required;
    if (!required) {
        watched.max_age = std::chrono::nanoseconds{0};  // discovery says when it is gone
    }
    // A job that comes later queues itself; another controller's never comes.
    const auto job_of = [this](const Record& child) {
        return jobs.find(child.owner_uid) ? child.owner_uid : std::string();
    };
    runtime->watch(type, store, job_of, std::move(watched));
}

/// `namespace/name`, for logs.
std::string full_name(const core::job_meta& meta);

}  // namespace signalbox::op
