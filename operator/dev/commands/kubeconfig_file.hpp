// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace signalbox::op::cli {

/// Where `signalbox dev` writes its kubeconfig if nothing is said: in $XDG_RUNTIME_DIR, which is
/// the user's own; else in the working folder, else at home, else where temporary files are, each
/// where nothing can be written into those before. The name has the address that it listens on,
/// which is no other instance's.
std::string default_kubeconfig_path(const std::string& address, std::uint16_t port);

/// The kubeconfig of a running `signalbox dev`, which goes with it.
class kubeconfig_file {
public:
    kubeconfig_file() = default;
    kubeconfig_file(const kubeconfig_file&) = delete;
    kubeconfig_file& operator=(const kubeconfig_file&) = delete;
    ~kubeconfig_file() { remove(); }

    /// Writes it whole, readable by its owner only, over one of an earlier `signalbox dev` if there
    /// is one, never over anything else. Gives what went wrong, or nothing.
    std::optional<std::string> write(std::string path, std::string text);
    /// A link beside it to the folder of logs that outlive pods, for `signalbox logs`. Nothing
    /// happens where it cannot be made.
    void add_logs(const std::string& folder);
    /// Deletes both, unless another instance has written there since.
    void remove();

    const std::string& path() const { return path_; }

private:
    std::string path_;
    std::string text_;
    std::string logs_;  ///< the link
};

/// 128 random bits in hex.
std::string random_token();

}  // namespace signalbox::op::cli
