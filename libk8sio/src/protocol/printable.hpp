// SPDX-License-Identifier: Apache-2.0
//
// Texts of others in lines of ours.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace signalbox::k8sio::protocol {

/// At most `limit` bytes of `text`, cut at a boundary of UTF-8.
std::string cut_utf8(std::string_view text, std::size_t limit);

/// `text` for an error or a log line: one line, so that no one forges another. Each run of blanks,
/// line ends and control characters is one blank, the outer ones go; what is no UTF-8 is `?`. At
/// most `limit` bytes.
std::string printable(std::string_view text, std::size_t limit);

}  // namespace signalbox::k8sio::protocol
