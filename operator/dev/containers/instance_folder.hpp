// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "containers/container_runtime.hpp"
#include "containers/unix.hpp"

#include <string>
#include <vector>

namespace signalbox::op::containers {

/// A folder of this user alone.
struct private_folder {
    std::string path;  ///< as the kernel has it
    unique_fd held;
};

/// Makes `base`, for its owner alone, if it is not there. Errors: `NoFolder`, also where it is no
/// folder of this user with no rights of others, or another user could replace it.
result<private_folder> open_private_folder(const std::string& base);

/// A folder of one runtime, below one that several share. A lock that the kernel takes back when
/// the process ends tells those of living runtimes from what others left.
struct instance_folder {
    std::string path;
    unique_fd lock;
    std::vector<std::string> left;  ///< folders of runtimes that are no more
};

/// Makes `base` too; see open_private_folder().
result<instance_folder> make_instance_folder(const std::string& base);

}  // namespace signalbox::op::containers
