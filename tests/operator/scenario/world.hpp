// SPDX-License-Identifier: Apache-2.0
//
// A whole cluster in one thread and virtual time: embedded API server, simulated kubelets, a user,
// an auditor, and the operator as it runs in production, which may die and come back.
#pragma once

#include "controller/controller.hpp"
#include "jobcore/decide.hpp"
#include "k8sio/client.hpp"
#include "k8sio/server/api_server.hpp"
#include "pods/deployments.hpp"
#include "pods/simulated.hpp"
#include "scenario/auditor.hpp"
#include "scenario/mortal_transport.hpp"
#include "signalbox_test/jobcore_builders.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <spdlog/logger.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace signalbox::test {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// Within which whatever waits for nothing has happened.
inline constexpr std::chrono::nanoseconds soon = seconds{10};

class world_options {
public:
    world_options() = default;
    /// Which simulated pod does what; see operator/dev/pods.
    op::pods::scenario script;
    core::policy rules;
    op::controller_options controller;
    k8sio::server::server_options server;
    /// What lies between operators and the server; none: nothing.
    std::function<
        std::unique_ptr<k8sio::transport>(std::unique_ptr<k8sio::transport>, k8sio::clock&)>
        path;
    /// Of operators; null: none, or standard output if SIGNALBOX_TEST_LOG is set.
    std::shared_ptr<spdlog::logger> log;
};

/// One core/v1 Event about a job.
struct seen_event {
    std::string type, reason, message;
    int count = 1;
};

class world {
public:
    explicit world(world_options options = world_options());
    ~world();

    // Time.
    /// Lets everything happen that is due now.
    void settle();
    /// Steps until `done`, at most this much virtual time. True if it came true.
    bool run_until(const std::function<bool()>& done, std::chrono::nanoseconds limit);
    void run_for(std::chrono::nanoseconds duration);
    /// Since the start.
    std::chrono::nanoseconds elapsed() const { return time_.steady_now().time_since_epoch(); }

    // The operator.
    void start_operator();
    /// The process is gone between one instruction and the next: nothing more is sent.
    void kill_operator();
    /// SIGTERM.
    void stop_operator();
    /// The same, without waiting for its end.
    void stop_soon() { bury(); }
    op::controller& operator_() { return *process_->work; }
    mortal_transport& operator_transport() { return *process_->transport; }
    /// Of the last one that was stopped or killed: nothing of it is left.
    bool operator_ended() const { return graveyard_.empty(); }
    bool operator_runs() const { return process_ != nullptr; }
    /// Writes of all operator processes so far, leases and events left out.
    std::size_t writes_of_dead() const { return dead_writes_; }
    /// A new process comes this long after one that died by itself; nothing: never.
    std::optional<std::chrono::nanoseconds> restart_after;

    /// Called before each request of processes that start from now on.
    std::function<void(const k8sio::http_request&)> on_request;

    // The user. Each request runs to its end without time going by, if it can.
    std::string create(const k8sio::resource_type& type, const std::string& body);
    /// Gives the UID. A job of another kind than PyTorchTrainingJob is a text of job_texts.hpp.
    std::string create_job(const job_builder& job);
    std::string create_job(const std::string& job_json);
    /// Applies `tests/support/crds/<name>.yaml`.
    void serve(const std::string& name);
    k8sio::result<std::string> get(const k8sio::resource_type& type, const std::string& name);
    std::vector<std::string> list(const k8sio::resource_type& type);
    void patch_job(const std::string& name, const std::string& merge_patch);
    /// `kubectl scale`: a PUT on the scale subresource. The error, if it is refused.
    k8sio::result<std::string> scale_job(const std::string& name, int replicas);
    /// What the disruption controller reads of a job.
    k8sio::result<std::string> read_scale(const std::string& name);
    k8sio::result<std::string> patch(
        const k8sio::resource_type& type,
        const std::string& name,
        const std::string& merge_patch,
        const std::string& subresource = {}
    );
    void remove(
        const k8sio::resource_type& type,
        const std::string& name,
        std::optional<std::int64_t> grace = {}
    );
    /// These send a request, but do not wait for its end: for use inside one of the operator.
    void create_soon(const k8sio::resource_type& type, const std::string& body);
    void remove_soon(const k8sio::resource_type& type, const std::string& name);
    void patch_soon(
        const k8sio::resource_type& type, const std::string& name, const std::string& merge_patch
    );

    // What is there.
    core::job_status status(const std::string& job);
    const k8sio::resource_type& type_of_job(const std::string& job) const;
    std::string phase(const std::string& job);
    bool is_phase(const std::string& job, const std::string& wanted) {
        return phase(job) == wanted;
    }
    std::vector<core::pod_record> pods();
    /// Pods that are neither ended nor terminating.
    std::size_t live_pods();
    std::vector<seen_event> events(const std::string& job);
    std::size_t event_count(const std::string& job, const std::string& reason);

    k8sio::server::api_server& server() { return server_; }
    k8sio::clock& time() { return time_; }
    k8sio::client& user() { return user_; }
    boost::asio::any_io_executor loop() { return loop_.get_executor(); }
    auditor& audit() { return audit_; }

    /// Runs an operation of the user to its end and gives its result.
    template <class T>
    T finish(boost::asio::awaitable<T> operation) {
        std::optional<T> value;
        boost::asio::co_spawn(
            loop_,
            std::move(operation),
            [&value](std::exception_ptr broken, T result) {
                if (broken) {
                    std::rethrow_exception(broken);
                }
                value.emplace(std::move(result));
            }
        );
        run_to_value([&value] { return value.has_value(); });
        return std::move(*value);
    }

private:
    struct process {
        std::unique_ptr<mortal_transport> transport;
        std::unique_ptr<k8sio::client> api;
        std::unique_ptr<op::controller> work;
        std::shared_ptr<bool> ended = std::make_shared<bool>(false);
    };

    void run_to_value(const std::function<bool()>& done);
    void spawn_forever(boost::asio::awaitable<void> task);
    bool step(k8sio::steady_time limit);
    void look_after_process();
    void bury();
    void clear_graveyard();

    world_options options_;
    boost::asio::io_context loop_{1};
    k8sio::virtual_clock time_;
    k8sio::server::api_server server_;
    std::unique_ptr<k8sio::transport> user_transport_, kubelet_transport_;
    k8sio::client user_, kubelet_;
    auditor audit_;
    std::unique_ptr<op::pods::pod_runtime> pods_;
    op::pods::simulated_deployments deployments_;
    std::map<std::string, core::job_kind> kinds_;  ///< of the jobs created here
    std::unique_ptr<process> process_;
    std::vector<std::unique_ptr<process>> graveyard_;
    std::optional<k8sio::steady_time> restart_at_;
    std::size_t dead_writes_ = 0;
    std::size_t running_ = 0;
};

/// A rule of a pod scenario.
op::pods::rule pods_of_type(const std::string& type, op::pods::settings does);

}  // namespace signalbox::test
