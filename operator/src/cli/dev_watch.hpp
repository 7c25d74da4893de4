// SPDX-License-Identifier: Apache-2.0
//
// Carries jobs and events, as the API server shows them, to the progress display.
#pragma once

#include "cli/progress.hpp"

#include <k8sio/reflector.hpp>

#include <functional>
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

}  // namespace signalbox::op::cli
