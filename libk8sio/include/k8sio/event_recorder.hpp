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

/// The object an event is about.
class object_reference {
public:
    object_reference() = default;
    std::string api_version, kind, ns, name, uid, resource_version;
};

class event_note {
public:
    event_note() = default;
    object_reference regarding;
    bool warning = false;
    std::string reason;
    std::string message;  ///< cut to 1,023 bytes at a UTF-8 boundary
};

/// Queues notes and writes them one after the other. The queue is bounded; when it is full new
/// notes are dropped and counted. `api` must outlive run().
class event_recorder {
public:
    /// `component`: the reporting component, e.g. `signalbox`.
    event_recorder(client& api, std::string component, std::size_t queue_limit = 1000);
    ~event_recorder();

    /// Never blocks, never fails.
    void record(event_note note);
    /// Writes queued notes until stop(); then flushes what is queued, within a few seconds.
    boost::asio::awaitable<void> run();
    void stop();
    std::uint64_t dropped() const;
    bool idle() const;

private:
    struct impl;
    std::unique_ptr<impl> impl_;
};

}  // namespace signalbox::k8sio
