// SPDX-License-Identifier: Apache-2.0
//
// Stands in for the Deployment controller where there is none. The simulated one says of our
// Deployments that their pods are there, and makes none.
#pragma once

#include "pods/deployment_record.hpp"

#include <k8sio/client.hpp>
#include <k8sio/reflector.hpp>
#include <k8sio/resource.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace signalbox::op::pods {

class deployment_options {
public:
    deployment_options() = default;
    std::string ns;  ///< only Deployments of this namespace; empty: all
    /// From a change of a Deployment until its pods are said to be available.
    std::chrono::nanoseconds delay = std::chrono::milliseconds{100};
    /// Told of writes that failed.
    std::function<void(const std::string&)> complain;
};

/// The type of Deployments.
const k8sio::resource_type& deployment_type();

/// What to watch of a type, by a label selector.
k8sio::reflector_options reflect(const deployment_options& options, std::string_view selector);

/// Looks after Deployments labelled as the operator's own.
class deployment_controller {
public:
    /// Only before run() started or after it returned.
    virtual ~deployment_controller() = default;

    /// Goes on until stop(); returns when nothing is pending any more. Call once.
    virtual boost::asio::awaitable<void> run() = 0;
    virtual void stop() = 0;
};

class simulated_deployments final : public deployment_controller {
public:
    /// `api` must outlive run(). Uses the client's clock.
    simulated_deployments(
        boost::asio::any_io_executor executor, k8sio::client& api, deployment_options options
    );
    ~simulated_deployments() override;

    boost::asio::awaitable<void> run() override;
    void stop() override;

private:
    class impl;
    std::unique_ptr<impl> impl_;
};

}  // namespace signalbox::op::pods
