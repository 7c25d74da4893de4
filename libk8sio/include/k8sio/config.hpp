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
#include <utility>
#include <vector>

namespace signalbox::k8sio {

/// A credential: it has no formatter, so that it gets into no log by accident, and its own storage
/// is wiped when it is given up. Copies of reveal() are the caller's (REQUIREMENTS.md C9).
class secret_text {
public:
    secret_text() = default;
    explicit secret_text(std::string text) : text_(std::move(text)) {}
    ~secret_text();
    secret_text(const secret_text&) = default;
    secret_text(secret_text&& other) noexcept : text_(std::move(other.text_)) { other.wipe(); }
    /// What was held is wiped too.
    secret_text& operator=(const secret_text& other) {
        secret_text copy(other);
        std::swap(text_, copy.text_);
        return *this;
    }
    secret_text& operator=(secret_text&& other) noexcept {
        secret_text taken(std::move(other));
        std::swap(text_, taken.text_);
        return *this;
    }
    const std::string& reveal() const { return text_; }
    bool empty() const { return text_.empty(); }

private:
    void wipe() noexcept;

    std::string text_;
};

/// A program that gives credentials, as `exec` of a kubeconfig has it (REQUIREMENTS.md C7).
class exec_plugin {
public:
    exec_plugin() = default;
    std::string command;  ///< a path, or a name that is looked for in PATH
    std::vector<std::string> args;
    std::vector<std::pair<std::string, std::string>> env;  ///< on top of our own environment
    std::string api_version;   ///< `client.authentication.k8s.io/v1` or `.../v1beta1`
    std::string install_hint;  ///< how to get the program; told if it is not there
    std::string info;          ///< JSON, its KUBERNETES_EXEC_INFO
    /// It is killed then, and has failed.
    std::chrono::nanoseconds timeout = std::chrono::seconds{60};
};

/// In whose name requests are made, if the server allows it (REQUIREMENTS.md C5).
class impersonation {
public:
    impersonation() = default;
    std::string user;  ///< empty: one's own name; the rest is then empty too
    std::string uid;
    std::vector<std::string> groups;
    std::vector<std::pair<std::string, std::vector<std::string>>> extra;
};

/// A proxy that is asked by CONNECT for a connection to the server (REQUIREMENTS.md T10).
class proxy_server {
public:
    proxy_server() = default;
    std::string host;
    std::string port;
    secret_text authorization;  ///< value of `Proxy-Authorization`; empty: none
};

/// Everything needed to talk to one API server. What rotates is here as it was read, with the path
/// of its file, which is read again (REQUIREMENTS.md C2, C3). A value: copies are independent.
class cluster_config {
public:
    cluster_config() = default;
    std::string scheme = "https";  ///< `http` or `https`
    /// With `http` everybody on the way can read what is sent: credentials then need this word.
    bool credentials_over_http = false;
    std::string host;  ///< name or address, an IPv6 address without brackets
    std::string port = "443";
    std::string path_prefix;                ///< e.g. of a proxy in front of the server
    std::string ca_pem;                     ///< empty: the system's certificates
    std::string ca_file;                    ///< path; empty: ca_pem does not change
    bool insecure_skip_tls_verify = false;  ///< neither chain nor name; not beside ca_pem
    std::string tls_server_name;            ///< for SNI and verification; empty: `host`
    std::string client_cert_pem;            ///< chain, or empty; needs client_key_pem
    secret_text client_key_pem;
    std::string client_cert_file;  ///< paths; empty: certificate or key do not change
    std::string client_key_file;
    secret_text token;       ///< used until token_file gives one
    std::string token_file;  ///< path; goes before `token`, and both before a password
    std::string username;    ///< basic authentication, if there is no token
    secret_text password;
    std::optional<exec_plugin> exec;  ///< asked if there is neither token nor user name
    impersonation as;
    std::optional<proxy_server> proxy;
    /// Namespace of the context; `default` if it names none.
    std::string ns = "default";
    std::string user_agent;  ///< in place of what the client calls itself; empty: that
};

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
    /// takes in its place. Empty: nobody is told.
    std::function<void(const std::string& line)> notice;
};

/// HTTP/1.1 over TCP or TLS with a connection pool (REQUIREMENTS.md T1-T7, T9). Connects only when
/// a request comes.
///
/// Errors: invalid_argument for a scheme, host or port that is none, and for credentials over plain
/// HTTP that nobody asked for; tls for certificates or keys that cannot be used.
/// Lifetimes: `time` must outlive the transport. Destroy it when no operation is pending.
/// Thread: that of `executor`, whose context must be run by one thread.
result<std::unique_ptr<transport>> make_http_transport(
    boost::asio::any_io_executor executor,
    clock& time,
    cluster_config config,
    http_transport_options options = http_transport_options()
);

}  // namespace signalbox::k8sio
