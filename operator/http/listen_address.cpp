// SPDX-License-Identifier: Apache-2.0
#include "http/listen_address.hpp"

#include <jobcore/strings.hpp>

namespace signalbox::op {

std::optional<listen_address> read_listen_address(std::string_view text) {
    const std::size_t colon = text.rfind(':');
    if (colon == std::string_view::npos) {
        return std::nullopt;
    }
    std::string_view host = text.substr(0, colon);
    const bool in_brackets = host.size() > 1 && host.front() == '[' && host.back() == ']';
    if (in_brackets) {
        host = host.substr(1, host.size() - 2);
    } else if (host.find(':') != std::string_view::npos) {
        return std::nullopt;
    }
    const auto port = core::read_whole_number<std::uint16_t>(text.substr(colon + 1));
    return port ? std::optional(listen_address{std::string(host), *port}) : std::nullopt;
}

}  // namespace signalbox::op
