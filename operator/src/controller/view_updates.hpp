// SPDX-License-Identifier: Apache-2.0
//
// What answers to our own requests show goes into the views before the watch brings it, and later
// passes wait until the watch has brought it too (BEHAVIOUR.md 12.1).
#pragma once

#include "controller/cluster_views.hpp"
#include "controller/server_clock.hpp"
#include "k8sio/controller.hpp"
#include "k8sio/object_write.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace signalbox::op {

/// `views` and `runtime`, the controller that keeps them, must outlive it.
class view_updates {
public:
    view_updates(cluster_views& views, k8sio::controller& runtime, server_clock clock)
        : views_(&views), runtime_(&runtime), clock_(clock) {}

    /// The status was decided on these: no later pass may look at older ones.
    void require(const std::string& job_uid, const std::vector<std::string>& versions);

    /// How the view of children of this kind, or of jobs of that one, stands now: for the functions
    /// below, which get the answer to a request that is sent after this.
    k8sio::view_mark mark(core::object_kind kind, core::job_kind job) const;

    /// Takes the answer to a write or live read of a child or of the job itself into the views, and
    /// lets later passes wait for it. False if the text could not be read. `of`: the request; one
    /// that was put right is shown by the watch for sure, whatever other labels it has not. A view
    /// that it contradicts is listed anew (REQUIREMENTS.md W13). `asked`: mark() before the request
    /// was sent.
    bool note_object(
        job_entry& entry,
        core::object_kind kind,
        std::string_view object_json,
        const k8sio::view_mark& asked,
        k8sio::write_step of
    );
    /// A child is gone, says an answer.
    void note_gone(core::object_kind kind, const std::string& uid);
    /// Makes the answer the job object held. Null if it could not be read.
    job_entry_ptr note_job(std::string_view object_json, const k8sio::view_mark& asked);
    /// The job is gone, says a live read.
    void note_job_gone(const core::job_meta& job);

private:
    bool note_pod(
        job_entry& entry,
        std::string_view object_json,
        const k8sio::view_mark& asked,
        k8sio::write_step of
    );
    template <class Record>
    void hold_against(
        const k8sio::store<Record, by_owner>& store,
        const Record& live,
        std::string_view object_json,
        const k8sio::view_mark& asked
    ) const;

    cluster_views* views_;
    k8sio::controller* runtime_;
    server_clock clock_;
};

}  // namespace signalbox::op
