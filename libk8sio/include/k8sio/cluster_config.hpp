// SPDX-License-Identifier: Apache-2.0
//
// Everything needed to reach and convince one API server, as values.
#pragma once

#include <chrono>
#include <optional>
#include <string>
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
    /// With `http` anyone on the way can read what is sent: credentials need this flag.
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

}  // namespace signalbox::k8sio
