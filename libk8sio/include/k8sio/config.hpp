// SPDX-License-Identifier: Apache-2.0
//
// How to reach and convince an API server: kubeconfig files and the in-cluster service account.
#pragma once

#include "k8sio/clock.hpp"
#include "k8sio/cluster_config.hpp"
#include "k8sio/error.hpp"
#include "k8sio/transport.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace signalbox::k8sio {

/// Reads the kubeconfig at `path` (empty: the files of $KUBECONFIG, merged, else ~/.kube/config),
/// choosing `context` (empty: current-context). What cannot be honoured (`auth-provider`, proxies
/// other than those of HTTP) is refused, not ignored. Without a `proxy-url` the environment is
/// asked for one (T10). For a server of plain HTTP the user's credentials are left out, as kubectl
/// does (C9). Reads files at once, so call it before the loop runs.
///
/// Errors: invalid_argument, with file, entry and field (REQUIREMENTS.md C4-C8).
result<cluster_config> load_kubeconfig(const std::string& path, const std::string& context);

/// The service account of the pod we run in (REQUIREMENTS.md C1), and the proxy of its environment.
/// `root` prefixes the file system paths (for tests; else empty); `env` gives the value of an
/// environment variable, empty if it is not set.
///
/// Errors: invalid_argument, with what is missing.
result<cluster_config> load_in_cluster(
    const std::string& root, const std::function<std::string(const char*)>& env
);

/// Bounds of the HTTP transport (REQUIREMENTS.md T1, T3, T7).
class http_transport_options {
public:
    http_transport_options() = default;
    std::size_t max_connections = 32;  ///< requests in flight, watches aside; more wait their turn
    std::size_t max_idle = 32;         ///< connections that are kept for the next request
    std::chrono::nanoseconds connect_timeout = std::chrono::seconds{30};  ///< look-up and connect
    std::chrono::nanoseconds tls_timeout = std::chrono::seconds{10};      ///< handshake
    std::size_t body_limit = 64u << 20;    ///< bytes of one answer that is held; streams have none
    std::size_t header_limit = 64u << 10;  ///< bytes
    /// Called with a line that is worth a place in a log: credentials could not be renewed, and the
    /// old ones are used on (REQUIREMENTS.md C3, C7). As client_options::notice, which connect()
    /// takes in its place. Empty: no one is told.
    std::function<void(const std::string& line)> notice;
};

/// HTTP/1.1 over TCP or TLS with a connection pool (REQUIREMENTS.md T1-T7, T9). Connects only when
/// a request comes.
///
/// Errors: invalid_argument for a scheme, host or port that is none, and for credentials over plain
/// HTTP that no one asked for; tls for certificates or keys that cannot be used.
/// Lifetimes: `time` must outlive the transport. Destroy it when no operation is pending.
/// Thread: that of `executor`, whose context must be run by one thread.
result<std::unique_ptr<transport>> make_http_transport(
    boost::asio::any_io_executor executor,
    clock& time,
    cluster_config config,
    http_transport_options options = http_transport_options()
);

}  // namespace signalbox::k8sio
