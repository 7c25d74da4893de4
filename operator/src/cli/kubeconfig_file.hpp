// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

namespace signalbox::op::cli {

/// Where `signalbox dev` writes its kubeconfig if nothing is said: in $XDG_RUNTIME_DIR, which is
/// the user's own; without that in the working folder.
std::string default_kubeconfig_path();

/// Writes the file whole, readable by its owner only. Gives what went wrong, or nothing.
std::optional<std::string> write_private_file(const std::string& path, const std::string& text);

/// 128 random bits in hex.
std::string random_token();

}  // namespace signalbox::op::cli
