// SPDX-License-Identifier: Apache-2.0
#include "protocol/proxy_tunnel.hpp"

#include "protocol/printable.hpp"

#include <charconv>

namespace signalbox::k8sio::protocol {

namespace {

constexpr std::size_t connect_header_limit = 16u << 10;

/// The code of `HTTP/1.1 200 Connection established`; 0 if the line is none.
int status_of(std::string_view line) {
    int code = 0;
    if (line.size() < 12 || line.substr(0, 7) != "HTTP/1." || line[8] != ' ') {
        return 0;
    }
    const char* end = line.data() + 12;
    const auto [last, error] = std::from_chars(line.data() + 9, end, code);
    const bool whole = last == end && (line.size() == 12 || line[12] == ' ');
    return error == std::errc{} && whole && code >= 100 ? code : 0;
}

}  // namespace

std::string connect_request(
    const proxy_server& proxy, const std::string& host, const std::string& port
) {
    const bool v6 = host.find(':') != std::string::npos;
    const std::string authority = (v6 ? "[" + host + "]" : host) + ":" + port;
    std::string out = "CONNECT " + authority + " HTTP/1.1\r\nHost: " + authority + "\r\n";
    if (!proxy.authorization.empty()) {
        out += "Proxy-Authorization: " + proxy.authorization.reveal() + "\r\n";
    }
    return out + "\r\n";
}

connect_answer::state connect_answer::feed(std::string_view bytes) {
    // The end may be split over two pieces.
    const std::size_t from = header_.size() < 3 ? 0 : header_.size() - 3;
    header_.append(bytes);
    const std::size_t end = header_.find("\r\n\r\n", from);
    if (end == std::string::npos) {
        return header_.size() > connect_header_limit ? fail("an answer without end") : state::more;
    }
    const std::string line = header_.substr(0, header_.find("\r\n"));
    const int code = status_of(line);
    if (code / 100 == 1) {
        const std::string rest = header_.substr(end + 4);
        header_.clear();
        return feed(rest);  // an answer on the way
    }
    if (code / 100 != 2) {
        return fail(code == 0 ? "an answer that is no HTTP" : "'" + printable(line, 200) + "'");
    }
    // A server of TLS waits for us to speak first, and so does one of HTTP.
    return header_.size() == end + 4 ? state::open : fail("more than it was asked for");
}

connect_answer::state connect_answer::fail(std::string why) {
    failure_ = "the proxy gave " + std::move(why);
    return state::refused;
}

}  // namespace signalbox::k8sio::protocol
