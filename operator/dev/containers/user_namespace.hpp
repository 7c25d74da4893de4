// SPDX-License-Identifier: Apache-2.0
//
// Users and groups of a pod alone (`hostUsers: false`), where the runtime is the machine's root.
#pragma once

#include "containers/unix.hpp"

#include <cstdint>

namespace signalbox::op::containers {

/// As many as a kubelet gives a pod.
inline constexpr std::uint32_t ids_of_a_pod = 65'536;

/// A user namespace in which 0 to 65535 are users and groups of the machine from `first` on. The
/// caller is the machine's root. Invalid, with errno set, if it failed.
unique_fd make_user_namespace(std::uint32_t first);

}  // namespace signalbox::op::containers
