// SPDX-License-Identifier: Apache-2.0
#include "kubelet/life/volume_setup.hpp"

#include "kubelet/disk/atomic_files.hpp"
#include "kubelet/life/claims.hpp"
#include "kubelet/pod/volume_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include <unistd.h>

namespace signalbox::op::kubelet {

namespace {

namespace fs = std::filesystem;

/// A tmpfs belongs to one container: one that several share, or of which one has a part, is a
/// folder.
bool is_shared(const volume_spec& volume, const pod_spec& pod) {
    int mounts = 0;
    bool parts = false;
    for (const container_spec& c : pod.containers) {
        for (const volume_mount& m : c.mounts) {
            if (m.volume == volume.name) {
                ++mounts;
                parts = parts || !m.sub_path.empty() || !m.sub_path_expr.empty();
            }
        }
    }
    return mounts > 1 || parts;
}

outcome<volume_place> make_empty(const volume_spec& volume, const volume_request& r) {
    volume_place out;
    out.path = r.folders->volume(volume.name);
    const bool group = r.pod->fs_group.has_value();
    const auto made = make_folder(out.path, group ? 02777 : 0777);
    if (made.has_error()) {
        return mount_failed(volume.name, made.error().message);
    }
    if (group) {
        // Without the right to, the folder is still writable by all.
        const auto id = static_cast<gid_t>(*r.pod->fs_group);
        static_cast<void>(::lchown(out.path.c_str(), static_cast<uid_t>(-1), id) == 0);
    }
    out.memory = volume.what == volume_spec::kind::memory && !is_shared(volume, *r.pod);
    out.size_limit = volume.size_limit;
    return out;
}

struct host_type {
    std::string_view name;
    bool (*holds)(fs::file_status);
    std::string_view words;
};

const std::array<host_type, 7> host_types{{
    {"Directory", fs::is_directory, "directory"},
    {"DirectoryOrCreate", fs::is_directory, "directory"},
    {"File", fs::is_regular_file, "file"},
    {"FileOrCreate", fs::is_regular_file, "file"},
    {"Socket", fs::is_socket, "socket file"},
    {"CharDevice", fs::is_character_file, "character device"},
    {"BlockDevice", fs::is_block_file, "block device"},
}};

outcome<volume_place> find_host_path(const volume_spec& volume) {
    std::error_code failed;
    if (volume.type == "DirectoryOrCreate" && !fs::exists(volume.path, failed)) {
        if (const auto made = make_folder(volume.path, 0755); made.has_error()) {
            return mount_failed(volume.name, made.error().message);
        }
    }
    if (volume.type == "FileOrCreate" && !fs::exists(volume.path, failed)) {
        if (const auto made = write_file(volume.path, "", 0644); made.has_error()) {
            return mount_failed(volume.name, made.error().message);
        }
    }
    const auto type = std::ranges::find(host_types, volume.type, &host_type::name);
    if (type != host_types.end() && !type->holds(fs::status(volume.path, failed))) {
        return mount_failed(
            volume.name,
            fmt::format("hostPath type check failed: {} is not a {}", volume.path, type->words)
        );
    }
    volume_place out;
    out.path = volume.path;
    return out;
}

outcome<volume_place> find_claim(const volume_spec& volume, const volume_request& r) {
    volume_place out;
    out.path = claim_folder(*r.options, r.pod->ns, volume.path);
    out.read_only = volume.read_only;
    std::error_code failed;
    if (is_inner_path(volume.path) && fs::is_directory(out.path, failed)) {
        return out;
    }
    return refusal(
        "FailedMount",
        fmt::format(
            "Unable to attach or mount volumes: unmounted volumes=[{0}], unattached volumes=[], "
            "failed to process volumes=[{0}]: error processing PVC {1}/{2}: there is no folder {3}",
            volume.name,
            r.pod->ns,
            volume.path,
            out.path.string()
        )
    );
}

outcome<volume_place> make_files(
    const volume_spec& volume, const volume_request& r, const object_data& objects
) {
    const auto files = files_of(volume, *r.pod, r.place, objects);
    if (files.has_error()) {
        return files.error();
    }
    volume_place out;
    out.path = r.folders->volume(volume.name);
    // As a kubelet mounts them: a program that writes there would lose it at the next change.
    out.read_only = true;
    const folder_owner owner{folder_mode(volume), r.pod->fs_group};
    const auto written = write_volume(out.path, *files, owner, r.now);
    if (written.has_error()) {
        return mount_failed(volume.name, written.error().message);
    }
    return out;
}

}  // namespace

outcome<volume_place> set_up_volume(
    const volume_spec& volume, const volume_request& request, const object_data& objects
) {
    switch (volume.what) {
        case volume_spec::kind::empty:
        case volume_spec::kind::memory:
            return make_empty(volume, request);
        case volume_spec::kind::files:
            return make_files(volume, request, objects);
        case volume_spec::kind::host_path:
            return find_host_path(volume);
        case volume_spec::kind::claim:
            return find_claim(volume, request);
        case volume_spec::kind::unknown:
            break;
    }
    return mount_failed(
        volume.name, fmt::format("volumes of type {} are not there on this machine", volume.path)
    );
}

}  // namespace signalbox::op::kubelet
