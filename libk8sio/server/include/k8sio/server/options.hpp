// SPDX-License-Identifier: Apache-2.0
//
// What can be set about the embedded API server, and the faults that tests want of it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace signalbox::k8sio::server {

/// What can be set about an embedded server.
struct server_options {
    std::uint64_t uid_seed = 1;  ///< UIDs are a deterministic sequence of version-4-shaped UUIDs
    std::string version = "v1.34.0";  ///< that it says to have
    /// Changes kept per resource type; a watch or list from before them gets 410 Expired.
    std::size_t watch_history = 10000;
    /// Bytes that the changes of all types take together, about; the oldest go first.
    std::size_t watch_history_bytes = std::size_t{64} * 1024 * 1024;
    /// Of watches that ask for bookmarks.
    std::chrono::nanoseconds bookmark_interval = std::chrono::seconds{60};
    /// From a deletion to the garbage collector's and the namespace controller's work.
    std::chrono::nanoseconds gc_delay{0};
    /// Bearer token that HTTP requests must carry, which the server then speaks by TLS alone, with
    /// a certificate of its own; empty: none needed, and plain HTTP.
    std::string token;
    /// Of one listening port at a time; beyond them the one that has waited longest for a request
    /// goes (REQUIREMENTS.md H6).
    std::size_t max_connections = 1000;
};

/// What a fault hook wants done with a request; by default nothing.
struct fault {
    int status = 0;      ///< answer this HTTP status instead (0: no answer change)
    std::string reason;  ///< Status.reason of that answer
    std::string message;
    bool apply_then_drop = false;  ///< carry the request out, then fail with connection_lost
    bool drop = false;             ///< fail with connection_lost without carrying it out
};
/// Asked before each request of either face, watches included. `target`: path and query.
///
/// Lifetimes: both texts are valid during the call.
/// Thread: that of the server, which it must not call.
using fault_hook = std::function<fault(std::string_view method, std::string_view target)>;

}  // namespace signalbox::k8sio::server
