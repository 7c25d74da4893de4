// SPDX-License-Identifier: Apache-2.0
//
// The pod runtime with real processes: scheduler and kubelet of one machine, against any API
// server.
#pragma once

#include "containers/container_runtime.hpp"
#include "kubelet/life/options.hpp"
#include "pods/pod_runtime.hpp"

#include <k8sio/client.hpp>
#include <k8sio/server/pod_streams.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <memory>
#include <string>
#include <vector>

namespace signalbox::op::kubelet {

class process_runtime : public pods::pod_runtime {
public:
    /// What a user should know of pods here that differ from those of a cluster, a sentence each.
    virtual std::vector<std::string> notices() const = 0;
    /// Where the logs of pods are, in folders NAMESPACE_POD_UID/CONTAINER.
    virtual std::string logs_folder() const = 0;
    /// Where logs are that outlive their pods.
    virtual std::string kept_logs() const = 0;
    /// A socket that listens where all pods reach it, for a service of the caller's, who owns it;
    /// once. Less than 0: there is none.
    virtual int service_socket() = 0;
    /// For an embedded API server. It may outlive the runtime, and then has no pods.
    virtual std::shared_ptr<k8sio::server::pod_streams> streams() = 0;
};

/// `api` must outlive run(), which stops the containers at its end. Uses the client's clock.
std::unique_ptr<process_runtime> make_process_runtime(
    boost::asio::any_io_executor executor,
    k8sio::client& api,
    std::unique_ptr<containers::container_runtime> containers,
    process_options options
);

}  // namespace signalbox::op::kubelet
