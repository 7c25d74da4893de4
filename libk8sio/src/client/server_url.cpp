// SPDX-License-Identifier: Apache-2.0
#include "client/server_url.hpp"

#include <boost/asio/ip/address_v6.hpp>

#include <algorithm>
#include <charconv>

namespace signalbox::k8sio {

namespace {

bool is_v6_address(const std::string& text) {
    boost::system::error_code error;
    boost::asio::ip::make_address_v6(text, error);
    return !error;
}

}  // namespace

bool is_port(std::string_view text) {
    unsigned value = 0;
    const char* end = text.data() + text.size();
    const auto [last, error] = std::from_chars(text.data(), end, value);
    return error == std::errc{} && last == end && value > 0 && value < 65536;
}

std::string read_server_url(std::string_view url, cluster_config& out) {
    const std::size_t scheme_end = url.find("://");
    if (scheme_end == std::string_view::npos) {
        return "does not begin with https:// or http://";
    }
    out.scheme = url.substr(0, scheme_end);
    if (out.scheme != "https" && out.scheme != "http") {
        return "has a scheme other than https and http";
    }
    url.remove_prefix(scheme_end + 3);
    if (url.find_first_of("?#@ ") != std::string_view::npos) {
        return "has more than host, port and path";
    }
    const bool line = std::none_of(url.begin(), url.end(), [](char c) {
        return static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
    });
    if (!line) {
        return "has control characters";
    }
    const std::size_t path = std::min(url.find('/'), url.size());
    out.path_prefix = url.substr(path);
    while (!out.path_prefix.empty() && out.path_prefix.back() == '/') {
        out.path_prefix.pop_back();
    }
    std::string_view authority = url.substr(0, path);
    std::string_view port;
    if (!authority.empty() && authority.front() == '[') {
        const std::size_t end = authority.find(']');
        if (end == std::string_view::npos) {
            return "has an address without a closing bracket";
        }
        out.host = authority.substr(1, end - 1);
        if (!is_v6_address(out.host)) {
            return "has brackets around what is no IPv6 address";
        }
        port = authority.substr(end + 1);
    } else {
        const std::size_t end = std::min(authority.find(':'), authority.size());
        out.host = authority.substr(0, end);
        port = authority.substr(end);
    }
    out.port = out.scheme == "https" ? "443" : "80";
    if (!port.empty()) {
        if (port.front() != ':' || !is_port(port.substr(1))) {
            return "has a bad port (an IPv6 address needs brackets)";
        }
        out.port = port.substr(1);
    }
    return out.host.empty() ? "has no host" : "";
}

}  // namespace signalbox::k8sio
