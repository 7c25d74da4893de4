// SPDX-License-Identifier: Apache-2.0
//
// What TLS connections are made with (REQUIREMENTS.md C3, C5, C7).
#pragma once

#include "k8sio/cluster_config.hpp"

#include <functional>
#include <string>

namespace signalbox::k8sio::protocol {

class tls_keys {
public:
    tls_keys() = default;
    /// As they stand in the configuration.
    explicit tls_keys(const cluster_config& config)
        : ca_pem(config.ca_pem),
          client_cert_pem(config.client_cert_pem),
          client_key_pem(config.client_key_pem) {}

    std::string ca_pem;           ///< empty: the system's certificates
    std::string client_cert_pem;  ///< chain, or empty; needs client_key_pem
    secret_text client_key_pem;
};

/// Why no connection can be made with these, e.g. a key that is not that of its certificate;
/// empty: they are good.
using key_check = std::function<std::string(const tls_keys&)>;

}  // namespace signalbox::k8sio::protocol
