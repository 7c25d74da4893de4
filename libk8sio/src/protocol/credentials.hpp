// SPDX-License-Identifier: Apache-2.0
//
// What requests are sent with: the Authorization header from a fixed token, a token file that
// rotates, a password or a program, and the keys of TLS (REQUIREMENTS.md C2, C3, C5, C7). Reads
// files through a function, starts no program and knows no clock.
#pragma once

#include "k8sio/config.hpp"
#include "protocol/exec_credential.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace signalbox::k8sio::protocol {

/// The content of a file, or nothing if it cannot be read.
using file_reader = std::function<std::optional<std::string>(const std::string& path)>;

/// What TLS connections are made with.
class tls_keys {
public:
    /// As they stand in the configuration.
    explicit tls_keys(const cluster_config& config)
        : ca_pem(config.ca_pem),
          client_cert_pem(config.client_cert_pem),
          client_key_pem(config.client_key_pem) {}

    std::string ca_pem;           ///< empty: the system's certificates
    std::string client_cert_pem;  ///< chain, or empty; needs client_key_pem
    secret_text client_key_pem;
};

/// What one request is sent with.
class access {
public:
    access() = default;
    std::string authorization;      ///< value of the header; empty: none
    std::uint64_t keys_number = 0;  ///< of credentials::keys() at that time
    std::uint64_t plugin_number = 0;
};

class credentials {
public:
    credentials(const cluster_config& config, file_reader read);

    /// Null if no program is to be asked. Otherwise current() may be called only if it is usable.
    exec_credential_cache* plugin() { return plugin_ ? &*plugin_ : nullptr; }
    /// What a request that is sent now has. Reads the files again every 60 s.
    access current(steady_time now);
    /// The keys of the last current(); its keys_number rises when they change.
    const tls_keys& keys() const { return keys_; }
    /// The server refused `used` with 401. True if another try may succeed.
    bool refused(const access& used, steady_time now);

private:
    void read_token(steady_time now);
    void read_keys(steady_time now);
    void use_plugin();

    file_reader read_;
    std::string token_file_, ca_file_, client_cert_file_, client_key_file_;
    secret_text header_;  // without a file or program fixed, else the last good one
    std::optional<steady_time> read_at_;
    std::optional<exec_credential_cache> plugin_;
    std::uint64_t plugin_number_ = 0;  // in use
    std::optional<steady_time> keys_read_at_;
    tls_keys keys_;
    std::uint64_t keys_number_ = 0;
};

}  // namespace signalbox::k8sio::protocol
