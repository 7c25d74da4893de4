// SPDX-License-Identifier: Apache-2.0
//
// Carries jobs, events and logs, as the API server shows them, to the progress display.
#pragma once

#include "commands/progress.hpp"

#include <k8sio/client.hpp>
#include <k8sio/reflector.hpp>
#include <k8sio/synchronization.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <functional>
#include <set>
#include <string>
#include <string_view>

namespace signalbox::op::cli {

/// `default/mnist` is shown as `mnist`.
std::string display_name(std::string_view ns, std::string_view name);

using elapsed_function = std::function<std::chrono::nanoseconds()>;

/// Jobs of one kind.
class job_watch final : public k8sio::reflector_sink {
public:
    /// `changed` is called after every change.
    job_watch(progress& to, elapsed_function elapsed, std::function<void()> changed)
        : to_(to), elapsed_(std::move(elapsed)), changed_(std::move(changed)) {}

    void upsert(std::string_view json) override;
    void remove(std::string_view json) override;

private:
    progress& to_;
    elapsed_function elapsed_;
    std::function<void()> changed_;
};

/// Events about jobs.
class event_watch final : public k8sio::reflector_sink {
public:
    event_watch(progress& to, elapsed_function elapsed, std::function<void()> changed)
        : to_(to), elapsed_(std::move(elapsed)), changed_(std::move(changed)) {}

    void upsert(std::string_view json) override;
    void remove(std::string_view) override {}

private:
    progress& to_;
    elapsed_function elapsed_;
    std::function<void()> changed_;
};

/// What the training containers of pods write, from their start on.
class log_watch final : public k8sio::reflector_sink {
public:
    /// `api` and `to` must outlive it.
    log_watch(
        boost::asio::any_io_executor executor,
        k8sio::client& api,
        progress& to,
        elapsed_function elapsed
    )
        : executor_(executor), api_(api), to_(to), elapsed_(std::move(elapsed)), ended_(executor) {}

    void upsert(std::string_view json) override;
    void remove(std::string_view) override {}

    /// Ends what is read, and returns when nothing is pending any more.
    boost::asio::awaitable<void> stop();

private:
    class source {  // no aggregate: it is a coroutine's parameter
    public:
        source() = default;
        std::string ns, pod, container;
        std::string job_uid;
        std::string replica;  ///< e.g. `worker-0`
        bool has_sshd = false;
    };
    boost::asio::awaitable<void> read(source from);
    void take(const source& from, std::string& held, std::string_view bytes);
    void tell(const source& from, std::string_view line);

    boost::asio::any_io_executor executor_;
    k8sio::client& api_;
    progress& to_;
    elapsed_function elapsed_;
    std::set<std::string> known_;  ///< UIDs of pods
    std::set<k8sio::response_stream*> open_;
    std::size_t reading_ = 0;
    bool stopping_ = false;
    k8sio::notification ended_;
};

}  // namespace signalbox::op::cli
