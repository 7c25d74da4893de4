// SPDX-License-Identifier: Apache-2.0
//
// Which system calls a container's program may make: `seccompProfile: RuntimeDefault`.
#pragma once

#include <cstdint>

namespace signalbox::op::containers {

/// Bounds this process and all that come of it, forever, by libseccomp. Calls that reach the
/// machine beyond a container, or need rights that no container has here, give EPERM, unless one of
/// `capabilities` (bits) allows them; new namespaces too. A call that is newer than the table, or
/// of another architecture than the machine's own, gives ENOSYS, as of an older kernel. The table
/// is this runtime's own; it refuses what Docker's default profile refuses.
///
/// `may_gain`: without PR_SET_NO_NEW_PRIVS; the caller must have CAP_SYS_ADMIN in its user
/// namespace then. Gives 0, or an errno.
int bound_system_calls(std::uint64_t capabilities, bool may_gain);

}  // namespace signalbox::op::containers
