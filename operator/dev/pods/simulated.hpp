// SPDX-License-Identifier: Apache-2.0
//
// The simulated pod runtime: scheduler and kubelet of every node at once, in virtual or real time,
// against any API server.
#pragma once

#include "controller/job_reports.hpp"
#include "pods/pod_runtime.hpp"
#include "pods/scenario.hpp"

#include <k8sio/client.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <functional>
#include <memory>
#include <string>

namespace signalbox::op::pods {

class simulated_options {
public:
    simulated_options() = default;
    std::string ns;                  ///< only pods of this namespace; empty: all
    std::string label_selector;      ///< only pods that match
    std::size_t max_in_flight = 16;  ///< requests at once
    int nodes = 4;                   ///< pods are bound to `sim-node-0` ... in turn
    bool create_nodes = false;       ///< create the Node objects, if they are not there
    bool bound_only = false;         ///< a scheduler binds pods: they live from then on
    double speed = 1;                ///< everything happens this many times as fast
    scenario script;
    /// Takes what pods report of their training; empty: no one does.
    std::function<void(const report_sender& from, const core::progress_message& said)> report;
    /// Told of settings that make no sense and of writes that failed.
    std::function<void(const std::string&)> complain;
};

/// `api` must outlive run(). Uses the client's clock.
std::unique_ptr<pod_runtime> make_simulated_runtime(
    boost::asio::any_io_executor executor, k8sio::client& api, simulated_options options
);

}  // namespace signalbox::op::pods
