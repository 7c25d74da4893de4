// SPDX-License-Identifier: Apache-2.0
//
// Which proxy leads to a server (REQUIREMENTS.md T10).
#pragma once

#include "k8sio/config.hpp"

#include <functional>
#include <string>
#include <string_view>

namespace signalbox::k8sio {

/// Takes `http://user:password@host:port` apart into `out`; the scheme may be left out. Gives what
/// is wrong with it, without the password, or an empty text.
std::string read_proxy_url(std::string_view url, std::optional<proxy_server>& out);

/// True if `no_proxy`, a list with commas, names the server: a host with all its subdomains
/// (`example.com`), subdomains alone (`.example.com`), an address, a range (`10.0.0.0/8`), each
/// also with a port, or `*`. localhost and loopback addresses always are.
bool bypasses_proxy(std::string_view no_proxy, const std::string& host, const std::string& port);

/// Sets the proxy of the environment for config's server: HTTPS_PROXY or HTTP_PROXY by its scheme,
/// unless NO_PROXY names it; each also in lower case. Gives which variable is wrong, and how, or an
/// empty text.
std::string use_proxy_of_environment(
    cluster_config& config, const std::function<std::string(const char*)>& env
);

}  // namespace signalbox::k8sio
