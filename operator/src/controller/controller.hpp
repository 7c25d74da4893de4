// SPDX-License-Identifier: Apache-2.0
//
// The controller: keeps views of jobs and their children, and lets libjobcore's decisions happen.
// It decides nothing about kinds or rules, and remembers nothing that must survive a restart.
#pragma once

#include "controller/explained_job.hpp"
#include "controller/job_reports.hpp"
#include "controller/options.hpp"
#include "jobcore/policy.hpp"
#include "k8sio/client.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <spdlog/logger.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::op {

/// Events of one watched namespace, or of all, that were not written.
struct event_loss {
    std::uint64_t events = 0;
    std::string last_error;  ///< why the last was not; empty if none was dropped for an answer
};

class request_slots;

/// One controller for all kinds of controller_options::kinds. Not thread-safe: everything happens
/// on the executor's one thread.
class controller {
public:
    /// `api` must outlive run(). A null `logger` logs nothing.
    controller(
        boost::asio::any_io_executor executor,
        k8sio::client& api,
        core::policy rules,
        controller_options options = {},
        std::shared_ptr<spdlog::logger> logger = nullptr
    );
    /// Only before run() started or after it returned.
    ~controller();
    controller(const controller&) = delete;
    controller& operator=(const controller&) = delete;

    /// Runs until stop(), or until one of its parts dies: lists, watches, decides and acts. An API
    /// server that is away ends nothing. After stop() it takes in nothing new, waits for the
    /// requests under way (10 s at most) and for the queued events, and returns. Once per object.
    /// Not to be cancelled.
    boost::asio::awaitable<void> run();
    void stop();
    /// This process leads from now on (controller_options::leads). What another one decided on may
    /// be newer than the views: they are listed once more before anything is decided
    /// (BEHAVIOUR.md 12.2). Before run() there is nothing to list.
    void take_over();
    /// A process of a pod has reported; its token is known to be that of the pod. Without `said`
    /// nothing is taken: whether it would be. Only in a process that leads.
    report_outcome take_report(const report_sender& from, const core::progress_message* said);
    /// Before run(): what of the status of jobs of `kind` is to be written back as it was found, as
    /// JSON pointers within it (BEHAVIOUR.md 12.12).
    void keep_status(core::job_kind kind, const std::vector<std::string>& pointers);
    /// After run(): which part died, and how; empty if it was stopped.
    const std::string& failure() const;

    /// True when every view is complete; a job kind that the server does not serve is left out.
    bool synced() const;
    controller_counters counters() const;
    /// What keeps views from being up to date now, one line per resource; empty when all is well.
    std::vector<std::string> problems() const;

    /// Jobs known, and pods of jobs held.
    std::size_t job_count() const;
    std::size_t pod_count() const;
    /// Jobs that wait for others of their namespace (BEHAVIOUR.md 2.12).
    std::size_t jobs_without_room() const;
    /// Jobs waiting for their turn now; passes under way.
    std::size_t queue_depth() const;
    std::size_t active_passes() const;
    /// Requests of passes that may be in flight now (REQUIREMENTS.md R10).
    std::size_t request_limit() const;
    /// How often a job was ready for a pass.
    std::uint64_t keys_queued() const;
    /// One for each watch; where there is one for each namespace, with its name before a slash.
    std::vector<k8sio::view_state> views() const;
    /// Calls it with each job in view, and with the API server's time.
    void for_each_job(
        const std::function<void(const core::job_object& job, core::instant now)>& visit
    ) const;
    /// What is to be said of the jobs of that name, on the views as they are; of each kind at most
    /// one.
    std::vector<explained_job> explain(std::string_view ns, std::string_view name) const;
    /// Events that were not written (see k8sio::event_recorder::dropped()).
    std::uint64_t dropped_events() const;
    /// The same for each watched namespace, always in the same order.
    std::vector<event_loss> event_losses() const;

private:
    struct part;
    template <class Number>
    std::size_t sum(Number of) const;

    boost::asio::any_io_executor executor_;
    std::unique_ptr<request_slots> slots_;
    std::vector<std::unique_ptr<part>> parts_;  ///< one for each namespace, or one for all
};

}  // namespace signalbox::op
