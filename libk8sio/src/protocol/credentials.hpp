// SPDX-License-Identifier: Apache-2.0
//
// The Authorization header: a fixed token, one from a file that rotates, or a password
// (REQUIREMENTS.md C2, C5). Reads files through a function and knows no clock.
#pragma once

#include "k8sio/config.hpp"

#include <functional>
#include <optional>
#include <string>

namespace signalbox::k8sio::protocol {

/// The content of a file, or nothing if it cannot be read.
using file_reader = std::function<std::optional<std::string>(const std::string& path)>;

class credentials {
public:
    credentials(const cluster_config& config, file_reader read);

    /// The header's value; empty: none. Reads the token file again every 60 s.
    std::string header(steady_time now);
    /// The server refused `used` with 401. True if another try with header() may succeed.
    bool refused(const std::string& used, steady_time now);

private:
    void read_token(steady_time now);

    file_reader read_;
    std::string token_file_;
    secret_text fixed_;  // header value without a file, or the last good one of the file
    std::optional<steady_time> read_at_;
};

}  // namespace signalbox::k8sio::protocol
