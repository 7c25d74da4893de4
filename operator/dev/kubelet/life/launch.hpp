// SPDX-License-Identifier: Apache-2.0
//
// From a container of a pod to what the container runtime is asked for.
#pragma once

#include "containers/container_runtime.hpp"
#include "kubelet/life/options.hpp"
#include "kubelet/pod/environment.hpp"
#include "kubelet/pod/image_user.hpp"
#include "kubelet/pod/refusal.hpp"

#include <filesystem>
#include <map>
#include <optional>
#include <string>

namespace signalbox::op::kubelet {

/// Where a volume is on the machine.
struct volume_place {
    std::filesystem::path path;
    bool memory = false;  ///< a tmpfs of the container in place of the path
    std::uint64_t size_limit = 0;
    bool read_only = false;
};

/// The folders of one pod.
class pod_folders {
public:
    pod_folders() = default;
    pod_folders(const std::filesystem::path& root, const pod_spec& pod);
    std::filesystem::path pod, logs;
    std::filesystem::path volume(const std::string& name) const { return pod / "volumes" / name; }
    std::filesystem::path file(const std::string& name) const { return pod / "etc" / name; }
    /// Of the run with this number, from 0.
    std::filesystem::path run(const std::string& container, int number) const;
    std::filesystem::path message(const std::string& container, int number) const;
    std::filesystem::path log(const std::string& container, int number) const;
};

/// What a container's start depends on, all gathered.
struct launch_request {
    const pod_spec* pod = nullptr;
    const container_spec* container = nullptr;
    const process_options* options = nullptr;
    const pod_folders* folders = nullptr;
    const std::map<std::string, volume_place>* volumes = nullptr;
    std::string sandbox;
    int number = 0;              ///< of the run
    variables env;               ///< environment_of()
    variables devices;           ///< e.g. `CUDA_VISIBLE_DEVICES`
    std::string passwd;          ///< of the image
    bool own_passwd = false;     ///< file("passwd-<container>") takes its place
    std::optional<account> as;   ///< of a real image
    std::uint32_t own_user = 0;  ///< as which the runtime runs a container that says nothing
};

/// Errors: CreateContainerConfigError, CreateContainerError in words that say what to do.
outcome<containers::container_spec> launch_of(const launch_request& request);

/// Folder of the image: the machine's own files are `/`.
std::string image_folder_of(const process_options& options, const std::string& image);

/// What the image says of its processes; null if nothing is known.
const images::image_config* image_config_of(
    const process_options& options, const std::string& image
);

/// A file of the image, e.g. `etc/passwd`; empty if it has none. No link leads out of it.
std::string read_in_image(const std::string& folder, const std::string& name);

/// The user a container runs as, if its pod says.
std::optional<std::int64_t> user_of(const container_spec& container);

/// Paths in its command line, and its working folder, that are on this machine and not in the
/// container, as they lie in a folder that each has for itself (/tmp, /run) and no mount shows
/// them.
std::vector<std::string> unseen_files(const containers::container_spec& made);

/// What an exec into the container gets: the same environment and identity.
containers::process_spec exec_spec(
    const containers::container_spec& in, std::vector<std::string> command
);

}  // namespace signalbox::op::kubelet
