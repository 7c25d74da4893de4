// SPDX-License-Identifier: Apache-2.0
#include "client/proxy.hpp"

#include "client/server_url.hpp"
#include "k8sio/base64.hpp"
#include "k8sio/resource.hpp"

#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/network_v4.hpp>
#include <boost/asio/ip/network_v6.hpp>

#include <algorithm>
#include <cctype>

namespace signalbox::k8sio {

namespace {

namespace ip = boost::asio::ip;

std::string lower(std::string_view text) {
    std::string out(text);
    std::transform(out.begin(), out.end(), out.begin(), [](unsigned char c) {
        return static_cast<char>(std::tolower(c));
    });
    return out;
}

std::string_view trim_blanks(std::string_view text) {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) {
        text.remove_prefix(1);
    }
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) {
        text.remove_suffix(1);
    }
    return text;
}

/// `host:port`, `[v6]:port`, or a host alone; the port is empty then.
std::pair<std::string, std::string> split_port(const std::string& entry) {
    if (!entry.empty() && entry.front() == '[') {
        const std::size_t end = entry.find(']');
        if (end != std::string::npos) {
            const std::string rest = entry.substr(end + 1);
            return {entry.substr(1, end - 1), rest.empty() ? "" : rest.substr(1)};
        }
    }
    const std::size_t colon = entry.find(':');
    if (colon == std::string::npos || entry.find(':', colon + 1) != std::string::npos) {
        return {entry, ""};  // more than one colon: an IPv6 address
    }
    return {entry.substr(0, colon), entry.substr(colon + 1)};
}

bool in_range(const std::string& range, const ip::address& address) {
    boost::system::error_code bad;
    if (address.is_v4()) {
        const ip::network_v4 network = ip::make_network_v4(range, bad);
        return !bad && ip::network_v4(address.to_v4(), network.prefix_length()).canonical() ==
                           network.canonical();
    }
    const ip::network_v6 network = ip::make_network_v6(range, bad);
    return !bad && ip::network_v6(address.to_v6(), network.prefix_length()).canonical() ==
                       network.canonical();
}

bool names_host(std::string pattern, const std::string& host) {
    if (pattern.substr(0, 2) == "*.") {
        pattern.erase(0, 1);
    }
    if (pattern.empty()) {
        return false;
    }
    if (pattern.front() != '.') {
        if (host == pattern) {
            return true;
        }
        pattern.insert(0, 1, '.');
    }
    return host.size() > pattern.size() &&
           host.compare(host.size() - pattern.size(), pattern.size(), pattern) == 0;
}

}  // namespace

std::string read_proxy_url(std::string_view url, std::optional<proxy_server>& out) {
    const std::size_t scheme_end = url.find("://");
    std::string_view rest = url;
    if (scheme_end != std::string_view::npos) {
        if (lower(url.substr(0, scheme_end)) != "http") {
            return "is of another scheme than http, and other proxies are not supported";
        }
        rest.remove_prefix(scheme_end + 3);
    }
    proxy_server made;
    const std::size_t at = rest.rfind('@');
    if (at != std::string_view::npos) {
        const std::string_view user = rest.substr(0, at);
        const std::size_t colon = std::min(user.find(':'), user.size());
        const std::string plain =
            percent_decode(user.substr(0, colon)) + ":" +
            percent_decode(colon < user.size() ? user.substr(colon + 1) : std::string_view());
        made.authorization = secret_text("Basic " + base64_encode(plain));
        rest.remove_prefix(at + 1);
    }
    cluster_config address;
    const std::string wrong = read_server_url("http://" + std::string(rest), address);
    if (!wrong.empty()) {
        return wrong;
    }
    if (!address.path_prefix.empty()) {
        return "has a path";
    }
    made.host = address.host;
    made.port = address.port;
    out = std::move(made);
    return {};
}

bool bypasses_proxy(std::string_view no_proxy, const std::string& host, const std::string& port) {
    const std::string name = lower(host);
    boost::system::error_code no_address;
    const ip::address address = ip::make_address(name, no_address);
    if (name == "localhost" || (!no_address && address.is_loopback())) {
        return true;
    }
    while (!no_proxy.empty()) {
        const std::size_t end = std::min(no_proxy.find(','), no_proxy.size());
        const std::string entry = lower(trim_blanks(no_proxy.substr(0, end)));
        no_proxy.remove_prefix(std::min(end + 1, no_proxy.size()));
        if (entry == "*") {
            return true;
        }
        if (entry.find('/') != std::string::npos) {
            if (!no_address && in_range(entry, address)) {
                return true;
            }
            continue;
        }
        const auto [pattern, pattern_port] = split_port(entry);
        if (!pattern_port.empty() && pattern_port != port) {
            continue;
        }
        boost::system::error_code other;
        const ip::address named = ip::make_address(pattern, other);
        const bool same = no_address ? names_host(pattern, name) : !other && named == address;
        if (same) {
            return true;
        }
    }
    return false;
}

std::string use_proxy_of_environment(
    cluster_config& config, const std::function<std::string(const char*)>& env
) {
    const bool tls = config.scheme == "https";
    const char* const names[] = {
        tls ? "HTTPS_PROXY" : "HTTP_PROXY", tls ? "https_proxy" : "http_proxy"};
    const std::string upper = env("NO_PROXY");
    const std::string no_proxy = upper.empty() ? env("no_proxy") : upper;
    for (const char* name : names) {
        const std::string url = env(name);
        if (url.empty()) {
            continue;
        }
        if (bypasses_proxy(no_proxy, config.host, config.port)) {
            return {};
        }
        const std::string wrong = read_proxy_url(url, config.proxy);
        if (wrong.empty()) {
            return {};
        }
        const std::string go = "; to go without a proxy, name the server in NO_PROXY";
        return std::string(name) + " " + wrong + go;
    }
    return {};
}

}  // namespace signalbox::k8sio
