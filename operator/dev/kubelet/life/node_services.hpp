// SPDX-License-Identifier: Apache-2.0
//
// What the pods of a node share.
#pragma once

#include "containers/container_runtime.hpp"
#include "kubelet/life/options.hpp"
#include "kubelet/pod/environment.hpp"
#include "pods/pod_runtime.hpp"

#include <k8sio/client.hpp>
#include <k8sio/event_recorder.hpp>
#include <k8sio/synchronization.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <functional>
#include <set>
#include <string>

namespace signalbox::op::kubelet {

/// Everything here outlives the pods.
class node_services {
public:
    node_services(
        boost::asio::any_io_executor of,
        k8sio::client& client,
        containers::container_runtime& runtime,
        const process_options& said
    );
    node_services(const node_services&) = delete;
    node_services& operator=(const node_services&) = delete;

    /// Runs the task; idle() waits for all of them.
    void spawn(boost::asio::awaitable<void> task);
    boost::asio::awaitable<void> idle();

    void tell(const pod_spec& pod, bool warning, std::string reason, std::string message);
    void complain(const std::string& what) const;

    k8sio::clock& time() { return api.time(); }
    k8sio::steady_time now() const { return api.time().steady_now(); }
    core::instant server_now() const;

    boost::asio::any_io_executor executor;
    k8sio::client& api;
    containers::container_runtime& containers;
    const process_options& options;
    k8sio::event_recorder events;
    k8sio::semaphore requests;  ///< status writes at a time
    /// Services of a namespace, for variables.
    std::function<std::vector<service_entry>(const std::string& ns)> services;
    /// A pod has ended: what it had of the node is free.
    std::function<void(const std::string& uid)> released;
    /// A pod's object and everything of it are gone.
    std::function<void(const std::string& uid)> gone;
    pod_place place;  ///< address and size of the node
    std::string hosts_file, resolver_file;
    pods::runtime_counters counters;
    std::set<std::string> unseen_files;  ///< that were told of
    std::set<std::string> kept_logs;     ///< files of logs that were begun

private:
    std::size_t tasks_ = 0;
    k8sio::notification no_task_;
};

}  // namespace signalbox::op::kubelet
