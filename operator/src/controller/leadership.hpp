// SPDX-License-Identifier: Apache-2.0
//
// Of several operators on one cluster one acts: leader election around a controller
// (REQUIREMENTS.md B1-B8).
#pragma once

#include "controller/controller.hpp"
#include "k8sio/client.hpp"
#include "k8sio/leader_election.hpp"
#include "k8sio/synchronization.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <spdlog/logger.h>

#include <exception>
#include <memory>
#include <optional>
#include <string>

namespace signalbox::op {

/// Not thread-safe: everything happens on the executor's one thread.
class leadership {
public:
    /// `api` is for the Lease alone, so that renewals wait behind nothing; it must outlive run().
    /// Identity, seed and callbacks of `election` are set here. A null `log` is not allowed.
    leadership(
        boost::asio::any_io_executor executor,
        k8sio::client& api,
        k8sio::leader_election_options election,
        std::shared_ptr<spdlog::logger> log
    );

    /// What is wrong with the options, or an empty text.
    std::string problem() const { return election_->problem(); }

    /// Seeks the Lease and runs `work`, which follows (keeps its views, writes nothing) until the
    /// Lease is here. `work` begins when it is known who leads: where no one does, its first lists
    /// come after the Lease. Returns after work's end, with the Lease let go behind its last write.
    /// If the Lease is lost, `work` is stopped and what it has under way on `work_api` is cut off.
    /// Once per object.
    boost::asio::awaitable<void> run(controller& work, k8sio::client& work_api);
    /// Ends a wait for the first word about the Lease; `work` is stopped by whoever calls this.
    void stop();

    /// True while no one else can be the leader, by the steady clock alone.
    bool leads() const { return election_->leads(); }
    /// This process was the leader and is no more, unasked: it has to end (REQUIREMENTS.md B6).
    bool lost() const { return election_->lost(); }

private:
    void observe(const std::string& holder);
    void begin();
    void complain(const k8sio::api_error& error);
    void end(std::exception_ptr broken, k8sio::client& work_api);

    boost::asio::any_io_executor executor_;
    k8sio::client* api_;
    std::shared_ptr<spdlog::logger> log_;
    std::string identity_;
    std::string lease_;  ///< `namespace/name`, for logs
    std::optional<k8sio::leader_election> election_;
    k8sio::notification changed_;
    controller* work_ = nullptr;
    bool known_ = false;  ///< who leads
    bool ended_ = false;  ///< the election
    bool stopping_ = false;
    std::exception_ptr broken_;
    std::optional<k8sio::steady_time> complained_at_;
};

}  // namespace signalbox::op
