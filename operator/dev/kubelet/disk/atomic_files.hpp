// SPDX-License-Identifier: Apache-2.0
//
// Files of a volume that change all at once: a dated folder behind a link `..data`, and a link for
// each file, as a kubelet makes them (LAUNCH.md 1.7).
#pragma once

#include "kubelet/pod/volume_files.hpp"

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>

namespace signalbox::op::kubelet {

struct folder_owner {
    std::uint32_t mode = 0777;          ///< of the folder itself
    std::optional<std::int64_t> group;  ///< `fsGroup`: who may read the files too
};

/// Writes the files below `folder`, which is made if it is not there; nothing if they are there
/// already. `now` names the dated folder.
///
/// Errors: what the machine says, with the path. What was there before is then unchanged.
outcome<void> write_volume(
    const std::filesystem::path& folder,
    const std::vector<planned_file>& files,
    const folder_owner& owner,
    std::chrono::system_clock::time_point now
);

/// One file, whole or not at all, of this mode.
outcome<void> write_file(
    const std::filesystem::path& path, std::string_view content, std::uint32_t mode = 0644
);

/// At most `limit` bytes; nothing if it cannot be read.
std::optional<std::string> read_file(const std::filesystem::path& path, std::size_t limit);

/// Makes it with this mode, and parents that are missing with 0755, whatever the umask: programs of
/// other users come here too.
outcome<void> make_folder(const std::filesystem::path& path, std::uint32_t mode);

}  // namespace signalbox::op::kubelet
