// SPDX-License-Identifier: Apache-2.0
//
// The kernel's calls for mounts by descriptor. Unlike mount(2) they never follow a path of the
// container twice, and give a mount its flags before anybody sees it.
#pragma once

#include "containers/unix.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace signalbox::op::containers {

/// An errno, with what the file system said besides, if it did.
struct mount_failure {
    int number = 0;
    std::string detail;
};

using mount_settings = std::vector<std::pair<std::string, std::string>>;  // empty value: a flag

/// A file system that is not mounted yet. Invalid if it failed.
unique_fd new_file_system(
    const std::string& type,
    const mount_settings& settings,
    std::uint64_t attributes,
    mount_failure& why
);
/// A second view of what lies at `path` below `folder`, with all mounts below it if `deep`.
unique_fd second_view(int folder, const std::string& path, bool deep);
/// 0 or an errno.
int make_read_only(int mount, bool deep);
/// Owners in a mount that is not attached yet are shown, and written, as those of a user namespace:
/// 0 of the disk is 0 there. 0 or an errno, as of file systems that cannot do so.
int map_owners(int mount, int users, bool deep);
/// Puts a mount on a file or folder. 0 or an errno.
int attach(int mount, int on);

/// Opens, as O_PATH, what lies at `path` if `root` were `/`: links do not lead out of it.
unique_fd open_in(int root, const std::string& path);
/// Likewise; what is missing is made: folders, and a file or a folder at the end, which `owner` and
/// the group of that number get, if it is not 0.
unique_fd make_in(int root, const std::string& path, bool folder, std::uint32_t owner = 0);

/// Opens, as O_PATH, what lies at `path` below `root`. A link that leads out of it, also by way of
/// its root, is an error (EXDEV), however the folders change meanwhile.
unique_fd open_beneath(int root, const std::string& path);
/// Likewise; folders that are missing are made, with this mode.
unique_fd make_beneath(int root, const std::string& path, std::uint32_t mode);

}  // namespace signalbox::op::containers
