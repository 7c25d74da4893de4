// SPDX-License-Identifier: Apache-2.0
//
// The embedded API server: one in-memory model of the Kubernetes API with two faces, in process (a
// transport) and HTTP(S) (for kubectl). For tests, simulations and `signalbox dev`; it keeps
// nothing on disk and checks no certificates of clients.
#pragma once

#include "k8sio/clock.hpp"
#include "k8sio/error.hpp"
#include "k8sio/transport.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::k8sio::server {

/// One reason why an object is refused (answer 422).
struct field_error {
    std::string field;  ///< e.g. `spec.replicaSpecs[0].type` or a JSON pointer
    std::string message;
};

/// Validator of a custom kind: `before` is empty on create. Stands in for CEL (design.md 4).
using validator =
    std::function<std::vector<field_error>(std::string_view before, std::string_view after)>;

struct server_options {
    std::uint64_t uid_seed = 1;  ///< UIDs are a deterministic sequence of version-4-shaped UUIDs
    std::string version = "v1.34.0";
    /// Watch history kept per resource type before 410 Expired.
    std::size_t watch_history = 10000;
    std::chrono::nanoseconds bookmark_interval = std::chrono::seconds{60};
    /// Delay of owner-reference garbage collection.
    std::chrono::nanoseconds gc_delay{0};
    /// Bearer token that HTTP requests must carry; empty: none needed.
    std::string token;
};

/// A fault to inject: consulted before each request is handled (tests, design.md 4).
struct fault {
    int status = 0;      ///< answer this HTTP status instead (0: no answer change)
    std::string reason;  ///< Status.reason of that answer
    std::string message;
    bool apply_then_drop = false;  ///< carry the request out, then fail with connection_lost
    bool drop = false;             ///< fail with connection_lost without carrying it out
};
using fault_hook = std::function<fault(std::string_view method, std::string_view target)>;

class api_server {
public:
    /// `time` gives timestamps and timers; must outlive the server.
    api_server(boost::asio::any_io_executor executor, clock& time, server_options options = {});
    ~api_server();

    /// Adds a kind from its CustomResourceDefinition (JSON); the CRD object itself becomes visible,
    /// discovery and OpenAPI show it. A CRD applied by a client does the same without validator.
    result<void> add_custom_resource(std::string_view crd_json, validator check);

    /// A transport in process: no sockets, no threads; answers are posted to the executor.
    std::unique_ptr<transport> connect();

    /// Serves HTTP on `address`:`port` (port 0: any free one); gives the port. Stops with stop().
    result<std::uint16_t> listen(const std::string& address, std::uint16_t port);
    /// Closes listeners, connections and watches.
    void stop();

    /// Drops all watches as a restart of the server would; state stays.
    void break_watches();
    /// Forgets watch history, so that resuming clients get 410.
    void compact();
    void set_fault_hook(fault_hook hook);

    /// Requests handled so far whose method and path prefix match; for tests.
    std::uint64_t count_requests(std::string_view method, std::string_view path_part) const;

private:
    struct impl;
    std::unique_ptr<impl> impl_;
};

/// A kubeconfig (YAML) for kubectl that points at http://address:port.
std::string kubeconfig_for(
    const std::string& address, std::uint16_t port, const std::string& token
);

}  // namespace signalbox::k8sio::server
