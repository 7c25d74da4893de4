// SPDX-License-Identifier: Apache-2.0
//
// What a container says, byte for byte, in a file that outlives its pod.
#pragma once

#include "kubelet/pod/pod_spec.hpp"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string_view>

namespace signalbox::op::kubelet {

/// Below the folder of such logs: `JOB/attempt-N/TYPE-INDEX.log` of the first main container of a
/// job's pod, `POD/CONTAINER.log` of a pod of no job; of other containers of a job's pod with
/// `.CONTAINER` before the end. Of namespaces other than `default` JOB or POD is `NS_NAME`.
std::filesystem::path kept_log_path(const pod_spec& pod, const container_spec& container);

class kept_log {
public:
    /// Keeps nothing.
    kept_log() = default;
    /// Goes on at the end of the file; its folders are made. `most`: bytes, after which the file
    /// goes on as `path.1` in place of the one before; 0: no bound. What cannot be written is lost.
    kept_log(std::filesystem::path path, std::uint64_t most);

    void write(std::string_view bytes);

private:
    void open();

    std::filesystem::path path_;
    std::uint64_t most_ = 0;
    std::uint64_t size_ = 0;
    std::ofstream file_;
};

}  // namespace signalbox::op::kubelet
