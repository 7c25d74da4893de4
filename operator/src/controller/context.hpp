// SPDX-License-Identifier: Apache-2.0
//
// What the parts of the controller share: the views, the fence, the way to the server. Private to
// this folder.
#pragma once

#include "controller/job_table.hpp"
#include "controller/options.hpp"
#include "controller/record_store.hpp"
#include "controller/signal.hpp"
#include "jobcore/observed.hpp"
#include "k8sio/client.hpp"
#include "k8sio/version_fence.hpp"

#include <spdlog/logger.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::op {

using pod_store = record_store<core::pod_record>;

/// The view of one kind of children other than pods.
struct child_view {
    core::object_kind kind;
    record_store<core::child_record> store;
    /// What discovery said; kinds that every server serves are never asked for.
    core::served offered = core::served::yes;

    /// A kind counts as served when its view is complete: before that, decisions would take
    /// absence from the view for absence from the server.
    core::served served() const {
        const bool incomplete = offered == core::served::yes && !store.synced();
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
        std::shared_ptr<spdlog::logger> logger,
        view_listener& views,
        job_listener& jobs_listener
    );

    boost::asio::any_io_executor executor;
    k8sio::client* api;
    core::policy rules;
    controller_options options;
    std::shared_ptr<spdlog::logger> log;
    controller_counters counters;
    pod_store pods;
    std::vector<std::unique_ptr<child_view>> children;
    job_table jobs;
    k8sio::version_fence fence;
    slot_pool slots;
    /// No new request is started.
    bool stopping = false;
    /// To be called for a sign that the server's data went back in time (REQUIREMENTS.md V6).
    std::function<void()> suspect;

    /// API-server time (BEHAVIOUR.md 12.8).
    core::instant now() const;
    k8sio::steady_time steady_now() const { return api->time().steady_now(); }
    /// The steady time at which now() reaches `at`.
    k8sio::steady_time steady_of(core::instant at) const;

    /// True if all that is seen of this job is at least as new as our last acknowledged write and
    /// as the views its status was decided on (BEHAVIOUR.md 12.1).
    bool is_fresh(const job_entry& entry) const;
    /// Views of kinds that not every server serves hold nobody up: see served_kinds.
    bool views_synced() const;
    /// Which of the kinds that not every server serves decisions may count on now.
    core::capabilities capabilities() const;
    /// Versions up to which each view of children has seen everything, in a fixed order.
    std::vector<std::string> view_versions() const;
    /// The status was decided on these: no later pass may look at older ones.
    void require_views(const std::string& job_uid, const std::vector<std::string>& versions);

    /// Takes the answer to a write or live read of a child or of the job itself into the views, and
    /// raises the fence. False if the text could not be read. `labelled`: the watch shows it for
    /// sure, whatever other labels it has not.
    bool note_object(
        job_entry& entry,
        core::object_kind kind,
        std::string_view object_json,
        bool labelled = false
    );
    /// A child is gone, says an answer.
    void note_gone(core::object_kind kind, const std::string& uid);
    /// Makes the answer the job object held. Null if it could not be read.
    job_entry_ptr note_job(std::string_view object_json);

    /// Null for a kind that has no view of its own: pods, jobs.
    child_view* view_of(core::object_kind kind) const;

private:
    bool note_pod(job_entry& entry, std::string_view object_json, bool labelled);
};

/// `namespace/name`, for logs.
std::string full_name(const core::job_meta& meta);

}  // namespace signalbox::op
