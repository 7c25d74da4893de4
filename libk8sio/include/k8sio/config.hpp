// SPDX-License-Identifier: Apache-2.0
//
// How to reach and convince an API server: kubeconfig files and the in-cluster service account.
#pragma once

#include "k8sio/clock.hpp"
#include "k8sio/error.hpp"
#include "k8sio/transport.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::k8sio {

/// A text that never shows in logs: it has no formatter, and its storage is wiped.
class secret_text {
public:
    secret_text() = default;
    explicit secret_text(std::string text) : text_(std::move(text)) {}
    ~secret_text();
    secret_text(const secret_text&) = default;
    secret_text(secret_text&&) noexcept = default;
    secret_text& operator=(const secret_text&) = default;
    secret_text& operator=(secret_text&&) noexcept = default;
    const std::string& reveal() const { return text_; }
    bool empty() const { return text_.empty(); }

private:
    std::string text_;
};

/// Everything needed to talk to one API server; file contents are already read, but for the token
/// file, which is read again as it rotates (REQUIREMENTS.md C2).
class cluster_config {
public:
    cluster_config() = default;
    std::string scheme = "https";  ///< `http` or `https`
    std::string host;              ///< without brackets
    std::string port = "443";
    std::string path_prefix;  ///< e.g. of a proxy in front of the server
    std::string ca_pem;       ///< empty: the system's certificates
    bool insecure_skip_tls_verify = false;
    std::string tls_server_name;
    std::string client_cert_pem;
    secret_text client_key_pem;
    secret_text token;
    std::string token_file;
    std::string username;
    secret_text password;
    /// Namespace of the context; `default` if it names none.
    std::string ns = "default";
    std::string user_agent;
};

/// Reads the kubeconfig at `path` (empty: $KUBECONFIG list with merge, then ~/.kube/config),
/// choosing `context` (empty: current-context). Errors name file, entry and field (REQUIREMENTS.md
/// C8) and have code invalid_argument. exec plugins and auth providers are refused with a clear
/// message.
result<cluster_config> load_kubeconfig(const std::string& path, const std::string& context);

/// The service account of the pod we run in (REQUIREMENTS.md C1). `root` prefixes the file system
/// paths (for tests); environment variables are read through `env`.
result<cluster_config> load_in_cluster(
    const std::string& root, const std::function<std::string(const char*)>& env
);

class http_transport_options {
public:
    http_transport_options() = default;
    std::size_t max_connections = 32;  ///< unary requests in flight; more wait
    std::size_t max_idle = 32;
    std::chrono::nanoseconds connect_timeout = std::chrono::seconds{30};
    std::chrono::nanoseconds tls_timeout = std::chrono::seconds{10};
    std::size_t body_limit = 256u << 20;
    std::size_t header_limit = 64u << 10;
};

/// HTTP/1.1 over TCP or TLS with a connection pool (REQUIREMENTS.md T1-T9). `time` must outlive it.
result<std::unique_ptr<transport>> make_http_transport(
    boost::asio::any_io_executor executor,
    clock& time,
    cluster_config config,
    http_transport_options options = http_transport_options()
);

}  // namespace signalbox::k8sio
