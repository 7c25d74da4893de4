// SPDX-License-Identifier: Apache-2.0
//
// What the simulated kubelet reads of a Pod.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace signalbox::op::pods {

struct container_facts {
    std::string name;
    std::string image;
    bool keeps_running = false;  ///< an init container with `restartPolicy: Always`
};

/// Prefix of annotations that describe a pod's behaviour.
inline constexpr std::string_view annotation_prefix = "sim.signalbox.dev/";

struct pod_facts {
    std::string ns, name, uid;
    std::string node;
    std::string phase;
    bool deleting = false;
    std::chrono::seconds grace{30};
    /// Of the running training container; for pods that ran before we came.
    std::optional<std::chrono::system_clock::time_point> started;

    std::string job, job_uid, type;
    std::int32_t index = 0, attempt = 0, round = 0;

    std::vector<container_facts> containers, init_containers;
    std::size_t training = 0;  ///< index of the container whose exit decides
    /// It runs until it is deleted: its command waits, is a worker's sshd, or would be restarted.
    bool idles = false;
    /// Where its training container reports its progress to; empty: nowhere.
    std::string reports_to;
    std::int32_t rank = 0;  ///< of its variable RANK, else its index
    /// Settings by annotation, without the prefix.
    std::vector<std::pair<std::string, std::string>> settings;

    bool reports() const { return !reports_to.empty() && !job_uid.empty(); }
};

/// Nothing if the text is no Pod with name and UID.
std::optional<pod_facts> read_pod(std::string_view json);

}  // namespace signalbox::op::pods
