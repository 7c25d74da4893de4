// SPDX-License-Identifier: Apache-2.0
//
// Limits of containers by the kernel's control groups: of version 2, or of version 1 where that has
// the controllers.
#pragma once

#include "containers/container_runtime.hpp"
#include "containers/unix.hpp"

#include <optional>
#include <string>
#include <vector>

namespace signalbox::op::containers {

/// The groups of one container; they are removed with it.
class container_groups {
public:
    container_groups() = default;
    container_groups(container_groups&&) = default;
    container_groups& operator=(container_groups&&) = default;

    /// `cgroup.procs` of each, for a process to enter.
    const std::vector<unique_fd>& entries() const { return entries_; }
    /// Has the kernel killed a process because memory ran out?
    bool oom_killed() const;
    /// False while something of the container is left in them.
    bool remove();

private:
    friend class control_groups;
    std::vector<std::string> folders_;
    std::vector<unique_fd> entries_;
    std::string oom_file_;
};

/// A group for all containers of a runtime in each hierarchy that can be used.
class control_groups {
public:
    /// `name`: of the groups. Makes them.
    void start(const std::string& name);
    bool holds_memory() const { return !memory_.empty(); }
    bool holds_processes() const { return !processes_.empty(); }
    /// To be removed when nothing is left in them.
    std::vector<std::string> folders() const;

    /// Errors: `CreateContainerError`.
    result<container_groups> make(const std::string& name, const limits& bounds) const;

private:
    bool unified_ = false;
    std::string memory_;     ///< folder of the group that holds memory, or empty
    std::string processes_;  ///< likewise; with version 2 the same
};

/// Removes a group and those in it; false while something runs there.
bool remove_groups(const std::string& folder);

}  // namespace signalbox::op::containers
