// SPDX-License-Identifier: Apache-2.0
//
// Key and certificate of a server that lives for minutes: made for it, and trusted by its own
// kubeconfig alone.
#pragma once

#include <boost/asio/ssl/context.hpp>

#include <string>

namespace signalbox::k8sio::server {

struct tls_identity {
    boost::asio::ssl::context context{boost::asio::ssl::context::tls_server};
    std::string certificate_pem;  ///< signed by itself: also the authority that clients trust
};

/// A new key, and a certificate of it for `address`, an IP address, that is valid for ten years.
/// Throws std::runtime_error if OpenSSL makes none.
tls_identity make_tls_identity(const std::string& address);

}  // namespace signalbox::k8sio::server
