// SPDX-License-Identifier: Apache-2.0
//
// What requests are sent with: the Authorization header from a fixed token, a token file that
// rotates, a password or a program, and the keys of TLS (REQUIREMENTS.md C2, C3, C5, C7). Reads
// files through a function, judges keys by another, starts no program and knows no clock.
#pragma once

#include "k8sio/cluster_config.hpp"
#include "protocol/exec_credential.hpp"
#include "protocol/tls_keys.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace signalbox::k8sio::protocol {

/// The content of a file, or nothing if it cannot be read.
using file_reader = std::function<std::optional<std::string>(const std::string& path)>;

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
    /// Without `check` all keys are good.
    credentials(const cluster_config& config, file_reader read, key_check check = nullptr);

    /// Null if no program is to be asked. Otherwise current() may be called only if it is usable.
    exec_credential_cache* plugin() { return plugin_ ? &*plugin_ : nullptr; }
    /// What a request that is sent now has. Reads the files again every 60 s, or a second after
    /// what was found there was not good.
    access current(steady_time now);
    /// The keys of the last current(); its keys_number rises when they change.
    const tls_keys& keys() const { return keys_; }
    /// The server refused `used` with 401. True if another try may succeed.
    bool refused(const access& used, steady_time now);
    /// The server and we do not trust each other: the files may have changed.
    void doubt() { soon_ = true; }
    /// A line that is worth a place in a log, once: what is new is not good, and what was before is
    /// used on. Empty: there is none.
    std::string take_notice();

private:
    void read_token(steady_time now);
    void read_keys(steady_time now);
    void use_plugin();

    file_reader read_;
    key_check check_;
    std::string token_file_, ca_file_, client_cert_file_, client_key_file_;
    secret_text header_;  // without a file or program fixed, else the last good one
    std::optional<steady_time> read_at_;
    std::optional<exec_credential_cache> plugin_;
    std::uint64_t plugin_number_ = 0;  // in use
    std::optional<steady_time> keys_read_at_;
    bool soon_ = false;   // they are read again after a second
    tls_keys keys_;       // good ones
    std::string told_;    // what is wrong with those of the files
    std::string notice_;  // to be taken
    std::uint64_t keys_number_ = 0;
};

}  // namespace signalbox::k8sio::protocol
