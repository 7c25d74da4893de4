// SPDX-License-Identifier: Apache-2.0
//
// The file system of a container, made in the mount namespace of its first process.
#pragma once

#include "containers/container_runtime.hpp"
#include "containers/start_report.hpp"

#include <cstdint>
#include <string>

namespace signalbox::op::containers {

struct root_plan {
    root_files files;
    std::vector<mount_point> mounts;
    std::string working_dir;
    std::string hidden;          ///< folder of the machine that is empty in the container
    int users = -1;              ///< user namespace whose files they are to be; -1: the caller's
    std::uint32_t first_id = 0;  ///< its user and group 0, in the caller's
};

/// Makes the root file system and enters it. The calling process is process 1 of its PID namespace
/// and has a mount namespace of its own and all rights in it.
void enter_root(const root_plan& plan, start_report& report);

/// Can overlays have `folder` as their upper layer? What is wrong, or nothing.
std::string overlay_trouble(const std::string& folder);

}  // namespace signalbox::op::containers
