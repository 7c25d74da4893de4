// SPDX-License-Identifier: Apache-2.0
//
// URLs of servers and proxies (REQUIREMENTS.md C4, T10), and texts in paths (T11): what is taken
// means one thing, and gives requests that are framed as they should be.
#include "client/proxy.hpp"
#include "client/server_url.hpp"
#include "fuzz.hpp"
#include "k8sio/resource.hpp"
#include "protocol/http_framing.hpp"
#include "protocol/proxy_tunnel.hpp"

#include <algorithm>
#include <string>

using namespace signalbox::k8sio;
using signalbox::fuzz::require;

namespace {

std::string authority(const std::string& host, const std::string& port) {
    return (host.find(':') == std::string::npos ? host : "[" + host + "]") + ":" + port;
}

/// One blank between two words, and no control character.
bool is_line(std::string_view text) {
    return std::none_of(text.begin(), text.end(), [](char c) {
        return static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
    });
}

void read_server(std::string_view text) {
    cluster_config config;
    if (!read_server_url(text, config).empty()) {
        return;
    }
    const std::string printed =
        config.scheme + "://" + authority(config.host, config.port) + config.path_prefix;
    cluster_config again;
    require(read_server_url(printed, again).empty(), "a URL printed again is one");
    require(
        again.scheme == config.scheme && again.host == config.host && again.port == config.port &&
            again.path_prefix == config.path_prefix,
        "a URL printed again is the same"
    );
    protocol::request_frame frame;
    frame.host = authority(config.host, config.port);
    frame.path_prefix = config.path_prefix;
    const auto request = protocol::render_request(http_request("GET", "/api"), frame);
    require(request.has_value(), "its requests can be sent");
    require(
        std::count(request->begin(), request->end(), '\n') == 4, "a line more is a header more"
    );
}

void read_proxy(std::string_view text) {
    std::optional<proxy_server> proxy;
    if (!read_proxy_url(text, proxy).empty()) {
        require(!proxy, "a bad URL gives no proxy");
        return;
    }
    const std::string request = protocol::connect_request(*proxy, proxy->host, proxy->port);
    const std::string_view head = std::string_view(request).substr(0, request.size() - 4);
    const auto lines = std::count(head.begin(), head.end(), '\n');
    require(lines == (proxy->authorization.empty() ? 1 : 2), "a line more is a header more");
    std::optional<proxy_server> again;
    require(
        read_proxy_url("http://" + authority(proxy->host, proxy->port), again).empty() &&
            again->host == proxy->host && again->port == proxy->port,
        "a proxy printed again is the same"
    );
}

void encode(std::string_view text) {
    const std::string encoded = percent_encode(text);
    require(percent_decode(encoded) == text, "what is encoded is decoded");
    require(is_line(encoded) && encoded.find_first_of("/?#& ") == encoded.npos, "one segment");
    const std::string decoded = percent_decode(text);
    require(decoded.size() <= text.size(), "decoding adds nothing");
    require(percent_decode(percent_encode(decoded)) == decoded, "decoded once is enough");
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text = signalbox::fuzz::text_of(data, size);
    read_server(text);
    read_proxy(text);
    encode(text);
    // A list for NO_PROXY, and a host, with a line end between them.
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string host(text.substr(std::min(end + 1, text.size())));
    const std::string_view list = text.substr(0, end);
    const bool bypassed = bypasses_proxy(list, host, "443");
    require(bypassed || !bypasses_proxy("", host, "443"), "a list takes nothing away");
    require(!bypassed || bypasses_proxy(std::string(list) + ",x", host, "443"), "nor does more");
    require(bypasses_proxy(std::string(list) + ",*", host, "443"), "* is all");
    return 0;
}
