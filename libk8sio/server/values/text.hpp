// SPDX-License-Identifier: Apache-2.0
//
// Small things about texts.
#pragma once

#include <string>
#include <string_view>

namespace signalbox::k8sio::server {

/// Go's %q of a text.
std::string quoted(std::string_view text);

/// ASCII letters as small ones, whatever the locale.
char lower(char c);
std::string lower(std::string_view text);

/// `text` without the spaces at its ends.
std::string_view without_blanks(std::string_view text);

}  // namespace signalbox::k8sio::server
