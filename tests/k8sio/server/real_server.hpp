// SPDX-License-Identifier: Apache-2.0
//
// The kube-apiserver of real_server_test.py. SIGNALBOX_CONFORMANCE_SERVER is its URL
// (https://host:port, certificate not checked), SIGNALBOX_CONFORMANCE_TOKEN an administrator's
// token.
#pragma once

#include "k8sio/cluster_config.hpp"

#include <catch2/catch.hpp>

#include <cstdlib>
#include <string>

namespace signalbox::k8sio::server::test {

inline cluster_config real_server_config() {
    const char* url = std::getenv("SIGNALBOX_CONFORMANCE_SERVER");
    REQUIRE(url != nullptr);
    const std::string address(url);
    const std::size_t host = address.find("://") + 3;
    const std::size_t colon = address.rfind(':');
    const char* token = std::getenv("SIGNALBOX_CONFORMANCE_TOKEN");
    cluster_config config;
    config.scheme = address.substr(0, host - 3);
    config.host = address.substr(host, colon - host);
    config.port = address.substr(colon + 1);
    config.insecure_skip_tls_verify = true;
    config.token = secret_text(token == nullptr ? "" : token);
    return config;
}

}  // namespace signalbox::k8sio::server::test
