// SPDX-License-Identifier: Apache-2.0
//
// Key and certificate of a server that lives for minutes: made for it, and trusted by its own
// kubeconfig alone.
#pragma once

#include <string>

namespace signalbox::k8sio::server {

/// In PEM.
struct tls_identity {
    std::string certificate;  ///< signed by itself: also the authority that clients trust
    std::string key;
};

/// A new key, and a certificate of it for `address`, an IP address, that is valid for ten years.
/// Throws std::runtime_error if OpenSSL makes none.
tls_identity make_tls_identity(const std::string& address);

}  // namespace signalbox::k8sio::server
