// SPDX-License-Identifier: Apache-2.0
//
// Makes the volumes of a pod on the machine's disk.
#pragma once

#include "kubelet/life/launch.hpp"

#include <k8sio/clock.hpp>

namespace signalbox::op::kubelet {

/// What a volume is made of.
struct volume_request {
    const pod_spec* pod = nullptr;
    const process_options* options = nullptr;
    const pod_folders* folders = nullptr;
    pod_place place;
    k8sio::wall_time now;
};

/// Makes the volume, or brings its files up to date.
///
/// Errors: FailedMount, in the kubelet's words.
outcome<volume_place> set_up_volume(
    const volume_spec& volume, const volume_request& request, const object_data& objects
);

}  // namespace signalbox::op::kubelet
