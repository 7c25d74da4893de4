// SPDX-License-Identifier: Apache-2.0
//
// What lies in a volume that is made of ConfigMaps, Secrets and the pod's own fields. Pure.
#pragma once

#include "kubelet/pod/environment.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace signalbox::op::kubelet {

struct planned_file {
    std::string path;  ///< below the volume
    std::string content;
    std::uint32_t mode = 0644;
    friend bool operator==(const planned_file&, const planned_file&) = default;
};

/// The files of a volume of kind `files`, sorted by path. A token of a service account that
/// `objects` has not is an empty file.
///
/// Errors: FailedMount, in the kubelet's words.
outcome<std::vector<planned_file>> files_of(
    const volume_spec& volume,
    const pod_spec& pod,
    const pod_place& place,
    const object_data& objects
);

/// Mode of the volume's own folder: that of a Secret is writable by all (LAUNCH.md 1.7).
std::uint32_t folder_mode(const volume_spec& volume);

/// `FailedMount` with the kubelet's sentence around `why`.
refusal mount_failed(const std::string& volume, const std::string& why);

/// True for a relative path that stays where it is.
bool is_inner_path(std::string_view path);

}  // namespace signalbox::op::kubelet
