// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace signalbox::op {

/// Where a server listens.
struct listen_address {
    std::string host;  ///< without brackets; empty: every address
    std::uint16_t port = 0;
};

/// Reads `127.0.0.1:8080`, `[::1]:8080` or `:8080`; nothing if the text is not of that form.
std::optional<listen_address> read_listen_address(std::string_view text);

}  // namespace signalbox::op
