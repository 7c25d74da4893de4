// SPDX-License-Identifier: Apache-2.0
//
// core/v1 Events: repeated ones are counted on one object, and nothing here is on the critical path
// (REQUIREMENTS.md N1-N4).
#pragma once

#include "k8sio/client.hpp"

#include <boost/asio/awaitable.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace signalbox::k8sio {

/// The object an event is about. An empty namespace means an object of the cluster, whose events
/// are in `default` (REQUIREMENTS.md N3). Empty parts are left out.
class object_reference {
public:
    object_reference() = default;
    std::string api_version, kind, ns, name, uid, resource_version;
};

/// Which notes go first where there is no room for all (REQUIREMENTS.md N5).
enum class event_rank : std::uint8_t {
    detail,  ///< of one part of the object among others
    state,   ///< where the object stands
    end,     ///< how it ended: the one that is still looked for afterwards
};

/// What to tell. Notes that are equal but for the version of the object are one Event with a count,
/// if they come within 10 minutes: no counters, times or UIDs in the message (REQUIREMENTS.md N1,
/// N4).
class event_note {
public:
    event_note() = default;
    object_reference regarding;
    bool warning = false;  ///< type Warning, else Normal
    std::string reason;    ///< CamelCase; cut to 128 bytes
    std::string message;   ///< cut to 1,023 bytes at a UTF-8 boundary
    event_rank rank = event_rank::state;
};

/// Queues notes and writes them, several at a time: those of one object one after the other, in
/// order, those of namespaces in turn. The queue is bounded; what does not fit is dropped and
/// counted, the oldest of the lowest rank first (REQUIREMENTS.md N5). A note in trouble is tried
/// for minutes, one of rank `end` for an hour; meanwhile others are written (N2, N6).
///
/// Lifetimes: `api` must outlive run(). Do not destroy it before run() has returned.
/// Thread: the loop's only.
class event_recorder {
public:
    /// `component`: the reporting component, e.g. `signalbox`. `queue_limit`: notes that wait, but
    /// for those of rank `end`, of which ten times as many may.
    event_recorder(client& api, std::string component, std::size_t queue_limit = 1000);
    ~event_recorder();

    /// Never blocks, never fails; the Event has the time of this call. Also before run(), which
    /// then writes it; after run() has returned it has no effect.
    void record(event_note note);
    /// Writes notes until stop(), then what is queued, for 3 s at most. Run it once.
    ///
    /// Cancellation: terminal or all; it ends at once, and the rest is lost.
    boost::asio::awaitable<void> run();
    /// Ends run() soon. May be called again, and before run().
    void stop();
    /// Notes that did not fit, could not be written, or were left when run() returned; those of a
    /// namespace that is going or gone are not counted.
    std::uint64_t dropped() const;
    /// Why the last of these was not written: what the server, or the way to it, said, or that
    /// there was no room. Empty if there was none. Valid until the loop runs again.
    const std::string& last_error() const;
    /// Nothing queued, nothing being written.
    bool idle() const;

private:
    struct impl;
    std::unique_ptr<impl> impl_;
};

}  // namespace signalbox::k8sio
