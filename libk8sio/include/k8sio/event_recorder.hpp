// SPDX-License-Identifier: Apache-2.0
//
// core/v1 Events: repeated ones are counted on one object, and nothing here is on the critical path
// (REQUIREMENTS.md N1-N4).
#pragma once

#include "k8sio/client.hpp"
#include "k8sio/event_note.hpp"

#include <boost/asio/awaitable.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace signalbox::k8sio {

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
