// SPDX-License-Identifier: Apache-2.0
//
// The embedded API server: one in-memory model of the Kubernetes API with two faces, in process (a
// transport) and HTTP(S) (for kubectl). For tests, simulations and `signalbox dev`; it keeps
// nothing on disk and checks no certificates of clients.
#pragma once

#include "k8sio/clock.hpp"
#include "k8sio/error.hpp"
#include "k8sio/server/options.hpp"
#include "k8sio/server/pod_streams.hpp"
#include "k8sio/transport.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace signalbox::k8sio::server {

/// The server. Errors of its API are answers (Status), as a real server gives them.
///
/// Lifetimes: `time` must outlive the server. Destroying it stops it; transports of connect() may
/// live on, and then fail with `connect` or `connection_lost`.
/// Thread: one, that of `executor`, also for every call here.
class api_server {
public:
    /// `time` gives timestamps, bookmarks and collection. Begins with the namespaces of a new
    /// cluster and nothing else.
    api_server(boost::asio::any_io_executor executor, clock& time, server_options options = {});
    ~api_server();

    /// Adds a kind from its CustomResourceDefinition (JSON); the CRD object itself becomes visible,
    /// discovery and OpenAPI show it. A CRD that a client applies does the same.
    ///
    /// Errors: http_status with the Status that a client would get.
    result<void> add_custom_resource(std::string_view crd_json);

    /// Adds the kinds of all CustomResourceDefinitions that `other` has, and shares what was
    /// compiled of them: for those who need many servers. Only before any definition was added
    /// here. `other` has another server_options::uid_seed.
    void share_custom_resources(const api_server& other);

    /// A transport in process: no sockets, no threads, no token; answers are posted to the
    /// executor. Requests are handled one by one, in the order in which they were made.
    ///
    /// Errors: of its operations, as of transport; a deadline is looked at before a request alone.
    /// Cancellation: of its operations, as of transport.
    std::unique_ptr<transport> connect();

    /// Serves HTTP on `address`:`port` (port 0: any free one) until stop(); gives the port. May be
    /// called again for another address.
    ///
    /// Errors: connect, if `address` is no IP address or cannot be used.
    result<std::uint16_t> listen(const std::string& address, std::uint16_t port);
    /// A kubeconfig (YAML) for kubectl: what listen() was given last, its port, token and
    /// certificate.
    std::string kubeconfig(const std::string& address, std::uint16_t port) const;
    /// Closes listeners, connections and watches; the objects stay, also for transports in process.
    void stop();

    /// Drops all watches as a restart of the server would; state stays.
    void break_watches();
    /// Forgets watch history, so that resuming clients get 410.
    void compact();
    /// An empty hook ends the faults.
    ///
    /// Lifetimes: what the hook refers to must outlive the server, unless another hook follows.
    void set_fault_hook(fault_hook hook);

    /// What serves logs, exec, attach and port-forward of pods from now on; null, as it begins:
    /// these answer 501.
    ///
    /// Lifetimes: `of_pods` must outlive the server, and its executor's last step behind that.
    void set_pod_streams(pod_streams* of_pods);

    /// Requests received so far, refused ones too, of `method` (empty: any) whose path
    /// contains `path_part`; for tests. Of queries nothing is kept but `?watch` behind a watch's
    /// path.
    std::uint64_t count_requests(std::string_view method, std::string_view path_part) const;

private:
    struct impl;
    std::unique_ptr<impl> impl_;
};

}  // namespace signalbox::k8sio::server
