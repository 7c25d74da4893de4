// SPDX-License-Identifier: Apache-2.0
//
// Of several operators on one cluster one acts: leader election around a controller
// (REQUIREMENTS.md B1-B8).
#pragma once

#include "controller/controller.hpp"
#include "k8sio/client.hpp"
#include "k8sio/leader_election.hpp"
#include "k8sio/loop_thread.hpp"
#include "k8sio/synchronization.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <spdlog/logger.h>

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace signalbox::op {

/// The Lease is renewed on the thread of `api`, which may be another one than that of `executor`,
/// where `work` decides and everything here is called.
class leadership {
public:
    /// `api`, of the loop `of_api`, is for the Lease alone, so that renewals wait behind nothing;
    /// it must outlive run(). While `beat` is older than the renew deadline nothing is renewed
    /// (REQUIREMENTS.md B9); it must outlive this object. Identity, seed and callbacks of
    /// `election` are set here. A null `log` is not allowed.
    leadership(
        boost::asio::any_io_executor executor,
        boost::asio::any_io_executor of_api,
        k8sio::client& api,
        k8sio::leader_election_options election,
        const k8sio::heartbeat& beat,
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

    /// True while no one else can be the leader, by the steady clock alone, and `work` knows that
    /// it leads.
    bool leads() const { return leading_ && election_->leads(); }
    /// This process was the leader and is no more, unasked: it has to end (REQUIREMENTS.md B6).
    bool lost() const { return election_->lost(); }

    /// Called when the Lease is lost, on the thread of `api`: that of `work` may hang. May be
    /// empty.
    std::function<void()> at_loss;

private:
    void observe(const std::string& holder);
    void begin(std::int64_t epoch);
    void complain(const k8sio::api_error& error);
    void end(std::exception_ptr broken, k8sio::client& work_api);

    boost::asio::any_io_executor executor_;
    boost::asio::any_io_executor of_api_;
    k8sio::client* api_;
    std::shared_ptr<spdlog::logger> log_;
    std::string identity_;
    std::string lease_;  ///< `namespace/name`, for logs
    std::optional<k8sio::leader_election> election_;
    k8sio::notification changed_;
    controller* work_ = nullptr;
    bool leading_ = false;
    bool known_ = false;  ///< who leads
    bool ended_ = false;  ///< the election
    bool stopping_ = false;
    std::exception_ptr broken_;
    std::optional<k8sio::steady_time> complained_at_;  ///< on the thread of `api`
};

}  // namespace signalbox::op
