// SPDX-License-Identifier: Apache-2.0
//
// Logs, exec, attach and port-forward of pods that run as processes.
#pragma once

#include "kubelet/life/node_services.hpp"
#include "kubelet/life/pod_worker.hpp"

#include <k8sio/server/pod_streams.hpp>

#include <functional>
#include <memory>
#include <string>

namespace signalbox::op::kubelet {

/// It may outlive the pods: after detach() there are none.
class node_streams final : public k8sio::server::pod_streams {
public:
    /// Null if there is no such pod here.
    using lookup = std::function<std::shared_ptr<pod_worker>(const std::string& uid)>;
    node_streams(node_services& node, lookup find) : node_(&node), find_(std::move(find)) {}
    void detach() { node_ = nullptr; }

    k8sio::result<std::unique_ptr<k8sio::server::byte_source>> open_log(
        const k8sio::server::pod_ref& pod, const k8sio::server::log_options& options
    ) override;
    boost::asio::awaitable<k8sio::result<std::unique_ptr<k8sio::server::container_process>>> exec(
        const k8sio::server::pod_ref& pod, const k8sio::server::process_options& options
    ) override;
    boost::asio::awaitable<k8sio::result<std::unique_ptr<k8sio::server::container_process>>> attach(
        const k8sio::server::pod_ref& pod, const k8sio::server::process_options& options
    ) override;
    boost::asio::awaitable<k8sio::result<std::unique_ptr<k8sio::server::byte_channel>>> connect(
        const k8sio::server::pod_ref& pod, std::uint16_t port
    ) override;

private:
    std::shared_ptr<pod_worker> worker_of(const k8sio::server::pod_ref& pod) const;
    /// Null if it does not run.
    std::shared_ptr<container_run> running(
        const k8sio::server::pod_ref& pod, const std::string& container
    ) const;

    node_services* node_;
    lookup find_;
};

}  // namespace signalbox::op::kubelet
