// SPDX-License-Identifier: Apache-2.0
//
// One of several processes is the leader, by a Lease of the API server (REQUIREMENTS.md B1-B8).
#pragma once

#include "k8sio/client.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace signalbox::k8sio {

/// Which Lease, and how patient one is. All processes that compete use the same durations.
class leader_election_options {
public:
    leader_election_options() = default;
    std::string ns;
    std::string name;
    /// Of this start of this process: make_identity(). A name that comes again would take its
    /// predecessor's Lease for its own (REQUIREMENTS.md B5).
    std::string identity;
    std::chrono::seconds lease_duration{15};  ///< others wait so long without a renewal
    std::chrono::seconds renew_deadline{10};  ///< shorter: the leader gives up so long after one
    std::chrono::seconds retry_period{2};     ///< between two tries; some more is added at random
    std::uint64_t seed = 0;                   ///< of that
    // Called from inside run(): they must neither throw nor destroy the election. May be empty.
    /// Asked before the Lease is taken or renewed. False: nothing is sent, and that counts as a try
    /// that failed. For an owner that may hang and has to lose its Lease then (REQUIREMENTS.md B9).
    std::function<bool()> fit;
    std::function<void()> acquired;  ///< once, when this process has become the leader
    /// The Lease has another holder than before, itself included; empty: no one.
    std::function<void(const std::string& holder)> observed;
    /// A request for the Lease failed, and is tried again. 404 before it is created and 409 after
    /// another was faster are such errors too.
    std::function<void(const api_error& error)> failed;
};

/// This host's name and 96 random bits: another one for every start of a process.
std::string make_identity();

/// `api` should not be the client whose writes depend on leads().
///
/// Lifetimes: `api` must outlive run(). Do not destroy it before run() has returned.
/// Thread: the loop's only, but for leads(), leads_until() and lost(), which any thread may ask.
class leader_election {
public:
    leader_election(client& api, leader_election_options options);
    ~leader_election();
    leader_election(const leader_election&) = delete;
    leader_election& operator=(const leader_election&) = delete;

    /// What is wrong with the options, or an empty text; run() then returns at once.
    std::string problem() const;
    /// Waits for the Lease, then renews it. Returns after stop(), with the Lease let go, or when it
    /// is lost: then lost() is true, and the process has to end, as it cannot know what its
    /// successor has begun (REQUIREMENTS.md B6). An API server that is away ends nothing but a
    /// leadership. Run it once.
    ///
    /// Cancellation: terminal or all; it ends at once, and leaves the Lease to run out.
    boost::asio::awaitable<void> run();
    /// To be called behind the last write; may be called again, and before run(), which then does
    /// nothing.
    void stop();

    /// True while no one else can be the leader: until the renew deadline after the last renewal,
    /// by the steady clock alone. Ask it before each write; what was sent before it became false
    /// needs a precondition (UID, version) to be harmless (REQUIREMENTS.md B7).
    bool leads() const;
    /// The end of that time as it stands now: in the past or nothing if this process does not lead.
    std::optional<steady_time> leads_until() const;
    bool lost() const;
    /// The number of transitions of the Lease under which this process leads: each leader's is
    /// larger than those before.
    std::int64_t epoch() const;
    /// Identity of the holder as far as is known; empty: no one, or unknown.
    std::string holder() const;

private:
    struct impl;
    std::unique_ptr<impl> impl_;
};

}  // namespace signalbox::k8sio
