// SPDX-License-Identifier: Apache-2.0
//
// The operator as a process: event loop, connection, signals, and one controller.
#pragma once

#include "controller/controller.hpp"
#include "k8sio/connect.hpp"
#include "k8sio/leader_election.hpp"
#include "k8sio/loop_thread.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <spdlog/logger.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace signalbox::op {

/// What of a running operator others may look at, from its loop's thread alone.
struct running_operator {
    boost::asio::any_io_executor loop;
    /// Of another thread, for what answers while that of `loop` computes; it runs from before
    /// attachment::begin() until after attachment::end().
    boost::asio::any_io_executor answers;
    const k8sio::heartbeat* beat = nullptr;  ///< of `loop`
    k8sio::clock* time = nullptr;
    controller* work = nullptr;
    k8sio::client* api = nullptr;  ///< of `loop`; writes nothing unless this process leads
    /// Whether this process may act; true without an election.
    std::function<bool()> leads;
    std::string lease;  ///< name of the Lease; empty without an election
    std::shared_ptr<spdlog::logger> log;
};

/// Runs beside the controller, on the same loop.
class attachment {
public:
    virtual ~attachment() = default;
    /// Before anything runs; gives why it cannot, or an empty text.
    virtual std::string begin(const running_operator& of) = 0;
    /// SIGTERM has come: the controller ends soon.
    virtual void stopping() = 0;
    /// The controller has ended: nothing may be left that keeps the loop.
    virtual void end() = 0;
};

struct run_options {
    k8sio::cluster_config cluster;
    /// A seed of 0 is replaced by a random one.
    k8sio::connect_options connect;
    core::policy rules;
    controller_options controller;
    /// If set, only the holder of this Lease acts; of it namespace, name and durations count.
    std::optional<k8sio::leader_election_options> election;
    /// Null logs nothing.
    std::shared_ptr<spdlog::logger> log;
    /// How often the state of the views is looked at for the log.
    std::chrono::nanoseconds report_interval = std::chrono::seconds{10};
    /// Null: there is none. It must outlive the call.
    attachment* beside = nullptr;
};

/// Runs the controller until SIGTERM or SIGINT: then nothing new is started, requests under way and
/// queued events are finished, and 0 is returned (REQUIREMENTS.md H1). A second signal ends the
/// process at once with code 130. An API server that is away is waited for, but for a leader
/// (below). A part that dies ends the process with code 1 and says why in the log; so does a lease
/// that is lost, with code 4 (REQUIREMENTS.md B6). 2, with a line in the log, if the configuration
/// makes no connection possible, or the options of the election do not fit.
int run_operator(run_options options);

}  // namespace signalbox::op
