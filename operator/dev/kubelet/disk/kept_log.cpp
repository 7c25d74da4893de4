// SPDX-License-Identifier: Apache-2.0
#include "kubelet/disk/kept_log.hpp"

#include <jobcore/labels.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace signalbox::op::kubelet {

namespace fs = std::filesystem;

fs::path kept_log_path(const pod_spec& pod, const container_spec& container) {
    const auto label = [&](std::string_view name) {
        const auto it = pod.labels.find(std::string(name));
        return it == pod.labels.end() ? std::string() : it->second;
    };
    const std::string job = label(core::label::owner_name), type = label(core::label::replica_type);
    const std::string prefix = pod.ns == "default" ? "" : pod.ns + "_";
    const auto first = std::ranges::find(pod.containers, false, &container_spec::init);
    const bool trains = first != pod.containers.end() && first->name == container.name;
    const std::string index = label(core::label::replica_index),
                      attempt = label(core::label::attempt);
    for (const std::string* part : {&job, &type, &index, &attempt}) {
        // Labels have no slash, but anybody writes them.
        if (part->empty() || part->find('/') != std::string::npos || part->front() == '.') {
            return fs::path(prefix + pod.name) / (container.name + ".log");
        }
    }
    const std::string other = trains ? "" : "." + container.name;
    return fs::path(prefix + job) / fmt::format("attempt-{}", attempt) /
           fmt::format("{}-{}{}.log", type, index, other);
}

kept_log::kept_log(fs::path path, std::uint64_t most) : path_(std::move(path)), most_(most) {
    std::error_code failed;
    fs::create_directories(path_.parent_path(), failed);
    const std::uintmax_t size = fs::file_size(path_, failed);
    size_ = failed ? 0 : size;
    open();
}

void kept_log::open() {
    file_.open(path_, std::ios::binary | std::ios::app);
}

void kept_log::write(std::string_view bytes) {
    if (path_.empty()) {
        return;
    }
    if (most_ > 0 && size_ > 0 && size_ + bytes.size() > most_) {
        std::error_code failed;
        file_.close();
        fs::rename(path_, path_.string() + ".1", failed);
        size_ = 0;
        open();
    }
    // Seen at once by who follows the file.
    file_.write(bytes.data(), static_cast<std::streamsize>(bytes.size())).flush();
    size_ += bytes.size();
}

}  // namespace signalbox::op::kubelet
