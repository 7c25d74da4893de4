// SPDX-License-Identifier: Apache-2.0
#include "kubelet/life/launch.hpp"

#include "containers/mounts.hpp"
#include "containers/unix.hpp"
#include "images/image_index.hpp"
#include "kubelet/disk/atomic_files.hpp"
#include "kubelet/pod/host_files.hpp"
#include "kubelet/pod/quantity.hpp"
#include "kubelet/pod/security_context.hpp"
#include "kubelet/pod/volume_files.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <fnmatch.h>

namespace signalbox::op::kubelet {

namespace {

namespace fs = std::filesystem;
using containers::mount_point;

// One set, said on both sides of a wall.
static_assert(usual_rights == containers::usual_capabilities);

constexpr const char* usual_path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

bool image_matches(const std::string& glob, const std::string& image) {
    return ::fnmatch(glob.c_str(), image.c_str(), 0) == 0;
}

void assign(variables& in, const std::string& name, std::string value) {
    const auto it = std::ranges::find(in, name, &variables::value_type::first);
    if (it == in.end()) {
        in.emplace_back(name, std::move(value));
    } else {
        it->second = std::move(value);
    }
}

std::int64_t runs_as(const launch_request& r) {
    return r.as ? r.as->user : user_of(*r.container).value_or(r.own_user);
}

/// What the image and the runtime give, then what the pod says.
variables whole_environment(const launch_request& r) {
    variables out;
    assign(out, "PATH", usual_path);
    assign(out, "HOSTNAME", r.pod->host_network ? "" : kernel_host_name(*r.pod));
    assign(out, "HOME", home_of(r.passwd, runs_as(r)));
    if (r.pod->host_network) {
        std::erase_if(out, [](const auto& v) { return v.first == "HOSTNAME"; });
    }
    if (const auto* image = image_config_of(*r.options, r.container->image)) {
        for (const auto& [name, value] : image->env) {
            assign(out, name, value);
        }
    }
    for (const image_variable& v : r.options->image_variables) {
        if (image_matches(v.glob, r.container->image)) {
            assign(out, v.name, v.value);
        }
    }
    for (const variables* more : {&r.devices, &r.env}) {
        for (const auto& [name, value] : *more) {
            assign(out, name, value);
        }
    }
    if (!r.options->venv.empty()) {
        const auto path = std::ranges::find(out, "PATH", &variables::value_type::first);
        path->second = r.options->venv + "/bin:" + path->second;
        assign(out, "VIRTUAL_ENV", r.options->venv);
    }
    return out;
}

/// A command takes the place of the image's ENTRYPOINT and CMD, args that of its CMD.
outcome<std::vector<std::string>> command_line(const launch_request& r) {
    const container_spec& c = *r.container;
    std::vector<std::string> out;
    if (const auto* image = image_config_of(*r.options, c.image); image && c.command.empty()) {
        out = image->entrypoint;
        if (c.args.empty()) {
            out.insert(out.end(), image->command.begin(), image->command.end());
        }
        if (out.empty() && c.args.empty()) {
            return refusal(
                "CreateContainerError",
                fmt::format(
                    "container {} has no command, and the image {} has none either: no ENTRYPOINT "
                    "and no CMD",
                    c.name,
                    c.image
                )
            );
        }
    } else if (c.command.empty()) {
        return refusal(
            "CreateContainerError",
            fmt::format(
                "container {} has no command: no one here knows the entrypoint of the image {}, as "
                "images are not pulled; give the container a command{}, or the image by --image "
                "{}=FILE",
                c.name,
                c.image,
                c.args.empty() ? "" : " in front of its args",
                c.image
            )
        );
    }
    for (const auto* part : {&c.command, &c.args}) {
        for (const std::string& word : *part) {
            // A kubelet expands these by the container's own variables alone.
            out.push_back(expand(word, r.env));
        }
    }
    return out;
}

/// What is below the volume that a mount wants a part of; empty: it wants all. What is missing is
/// made. Links in a volume may lead anywhere, a mount must not: whoever writes there may also
/// change them at any time, so what is looked at here is opened again, under the same rule, where
/// it is mounted.
outcome<std::string> part_of_volume(
    const launch_request& r, const volume_mount& m, const volume_place& volume
) {
    const std::string inner = m.sub_path_expr.empty() ? m.sub_path : expand(m.sub_path_expr, r.env);
    if (inner.empty()) {
        return inner;
    }
    const auto wrong = [&](const std::string& why) {
        return refusal(
            "CreateContainerConfigError",
            fmt::format(
                "failed to prepare subPath for volumeMount \"{}\" of container \"{}\": {}",
                m.volume,
                r.container->name,
                why
            )
        );
    };
    if (!is_inner_path(inner)) {
        return wrong(fmt::format("`{}` leaves the volume", inner));
    }
    const containers::unique_fd root(::open(volume.path.c_str(), O_PATH | O_CLOEXEC));
    struct stat is = {};
    if (!root || ::fstat(root.get(), &is) != 0) {
        return wrong(volume.path.string() + ": " + std::strerror(errno));
    }
    // With the mode of the volume, as a kubelet makes it: its writers may write here too.
    if (!containers::make_beneath(root.get(), inner, is.st_mode & 07777)) {
        return wrong(
            errno == EXDEV ? fmt::format("`{}` leads out of the volume", inner)
                           : fmt::format("`{}`: {}", inner, std::strerror(errno))
        );
    }
    return inner;
}

mount_point bind_of(const fs::path& source, std::string target, bool read_only) {
    mount_point out;
    out.source = source.string();
    out.target = std::move(target);
    out.read_only = read_only;
    return out;
}

bool mounts_at(const container_spec& c, const std::string& path) {
    return std::ranges::find(c.mounts, path, &volume_mount::path) != c.mounts.end();
}

void add_own_files(const launch_request& r, std::vector<mount_point>& out) {
    const container_spec& c = *r.container;
    for (const char* name : {"hosts", "hostname", "resolv.conf"}) {
        const std::string target = std::string("/etc/") + name;
        const bool of_node = r.pod->host_network && std::string_view(name) == "hostname";
        if (!mounts_at(c, target) && !of_node) {
            out.push_back(bind_of(r.folders->file(name), target, false));
        }
    }
    if (r.own_passwd && !mounts_at(c, "/etc/passwd")) {
        out.push_back(bind_of(r.folders->file("passwd-" + c.name), "/etc/passwd", false));
    }
    out.push_back(bind_of(r.folders->message(c.name, r.number), c.termination_path, false));
}

outcome<std::vector<mount_point>> mounts_of(const launch_request& r) {
    std::vector<mount_point> out;
    add_own_files(r, out);
    if (!r.options->venv.empty()) {
        out.push_back(bind_of(r.options->venv, r.options->venv, true));
    }
    for (const extra_bind& b : r.options->binds) {
        out.push_back(bind_of(b.source, b.target, b.read_only));
    }
    for (const volume_mount& m : r.container->mounts) {
        const auto volume = r.volumes->find(m.volume);
        if (volume == r.volumes->end()) {
            return refusal(
                "CreateContainerConfigError",
                fmt::format(
                    "cannot find volume \"{}\" to mount into container \"{}\"",
                    m.volume,
                    r.container->name
                )
            );
        }
        if (volume->second.memory) {
            mount_point memory;
            memory.what = mount_point::kind::memory;
            memory.target = m.path;
            memory.read_only = m.read_only;
            memory.size_limit = volume->second.size_limit;
            out.push_back(std::move(memory));
            continue;
        }
        auto part = part_of_volume(r, m, volume->second);
        if (part.has_error()) {
            return part.error();
        }
        const bool read_only = m.read_only || volume->second.read_only;
        out.push_back(bind_of(volume->second.path, m.path, read_only));
        out.back().inside = std::move(*part);
    }
    return out;
}

outcome<containers::identity> identity_of(const launch_request& r) {
    const container_spec& c = *r.container;
    if (c.rights.non_root && runs_as(r) == 0) {
        const std::string pod =
            fmt::format("\"{}_{}({})\", container: {}", r.pod->name, r.pod->ns, r.pod->uid, c.name);
        return refusal(
            "CreateContainerConfigError",
            c.rights.user
                ? fmt::format("container's runAsUser breaks non-root policy (pod: {})", pod)
                : fmt::format(
                      "container has runAsNonRoot and image will run as root (pod: {})", pod
                  )
        );
    }
    containers::identity out;
    if (r.as) {
        out.user = static_cast<std::uint32_t>(r.as->user);
        out.group = static_cast<std::uint32_t>(r.as->group);
        for (const std::int64_t g : r.as->groups) {
            out.groups.push_back(static_cast<std::uint32_t>(g));
        }
    } else if (c.rights.user) {
        out.user = static_cast<std::uint32_t>(*c.rights.user);
        out.group = static_cast<std::uint32_t>(c.rights.group.value_or(0));
    } else if (c.rights.group) {
        out.group = static_cast<std::uint32_t>(*c.rights.group);
    }
    for (const std::int64_t g : r.pod->groups) {
        out.groups.push_back(static_cast<std::uint32_t>(g));
    }
    if (r.pod->fs_group) {
        out.groups.push_back(static_cast<std::uint32_t>(*r.pod->fs_group));
    }
    return out;
}

}  // namespace

pod_folders::pod_folders(const fs::path& root, const pod_spec& of) {
    const std::string name = of.ns + "_" + of.name + "_" + of.uid;
    pod = root / "pods" / name;
    logs = root / "logs" / name;
}

fs::path pod_folders::run(const std::string& container, int number) const {
    return pod / "containers" / container / std::to_string(number);
}

fs::path pod_folders::message(const std::string& container, int number) const {
    return pod / "containers" / container / (std::to_string(number) + ".message");
}

fs::path pod_folders::log(const std::string& container, int number) const {
    return logs / container / (std::to_string(number) + ".log");
}

namespace {

/// Null: the machine's own files.
const image_folder* image_of(const process_options& options, const std::string& image) {
    for (const image_folder& i : options.images) {
        const bool same_name =
            i.config && images::full_image_name(i.glob) == images::full_image_name(image);
        if (same_name || image_matches(i.glob, image)) {
            return &i;
        }
    }
    return nullptr;
}

}  // namespace

std::string image_folder_of(const process_options& options, const std::string& image) {
    const image_folder* found = image_of(options, image);
    return found == nullptr ? "/" : found->folder;
}

const images::image_config* image_config_of(
    const process_options& options, const std::string& image
) {
    const image_folder* found = image_of(options, image);
    return found != nullptr && found->config ? &*found->config : nullptr;
}

std::string read_in_image(const std::string& folder, const std::string& name) {
    constexpr std::size_t most = 1 << 20;
    const containers::unique_fd root(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    const containers::unique_fd file = containers::open_in(root.get(), name);
    struct stat is = {};
    if (!file || ::fstat(file.get(), &is) != 0 || !S_ISREG(is.st_mode)) {
        return "";
    }
    return read_file(fmt::format("/proc/self/fd/{}", file.get()), most).value_or("");
}

std::optional<std::int64_t> user_of(const container_spec& container) {
    return container.rights.user;
}

outcome<containers::container_spec> launch_of(const launch_request& r) {
    const container_spec& c = *r.container;
    containers::container_spec out;
    auto command = command_line(r);
    if (command.has_error()) {
        return command.error();
    }
    auto identity = identity_of(r);
    if (identity.has_error()) {
        return identity.error();
    }
    auto mounts = mounts_of(r);
    if (mounts.has_error()) {
        return mounts.error();
    }
    out.sandbox = r.sandbox;
    out.root.image = image_folder_of(*r.options, c.image);
    out.root.changes = r.folders->run(c.name, r.number).string();
    out.root.read_only = c.rights.read_only_root;
    out.mounts = std::move(*mounts);
    out.process.argv = std::move(*command);
    for (const auto& [name, value] : whole_environment(r)) {
        out.process.env.push_back(name + "=" + value);
    }
    const auto* image = image_config_of(*r.options, c.image);
    const std::string usual_dir = image != nullptr ? image->working_dir : "";
    out.process.working_dir = c.working_dir.empty() ? usual_dir : c.working_dir;
    if (out.process.working_dir.empty()) {
        out.process.working_dir = "/";
    }
    out.process.as = std::move(*identity);
    out.process.capabilities = c.rights.capabilities;
    out.process.may_gain = c.rights.may_gain;
    out.process.bounded_calls = c.rights.bounded_calls;
    out.process.input = c.input;
    out.process.terminal = c.terminal;
    const auto memory = c.limits.find("memory");
    out.bounds.memory = memory == c.limits.end() ? 0 : bytes_of(memory->second).value_or(0);
    return out;
}

std::vector<std::string> unseen_files(const containers::container_spec& made) {
    constexpr std::array<std::string_view, 2> own_folders{"/tmp/", "/run/"};
    constexpr const char* around = " \t\n'\"`=,:;()<>&|";  // of paths in the text of a script
    std::vector<std::string> words = made.process.argv, out;
    words.push_back(made.process.working_dir);
    const auto is_shown = [&](const std::string& path) {
        return std::ranges::any_of(made.mounts, [&](const mount_point& m) {
            return path == m.target || path.starts_with(m.target + "/") ||
                   m.target.starts_with(path + "/");
        });
    };
    for (const std::string& word : words) {
        for (std::size_t end = 0, at = 0; at != std::string::npos; at = end) {
            at = word.find_first_not_of(around, end);
            end = word.find_first_of(around, at);
            const std::string path = at == std::string::npos ? "" : word.substr(at, end - at);
            const bool own = std::ranges::any_of(own_folders, [&](std::string_view folder) {
                return path.starts_with(folder) && path.size() > folder.size();
            });
            std::error_code failed;
            if (own && !is_shown(path) && fs::exists(path, failed) &&
                std::ranges::find(out, path) == out.end()) {
                out.push_back(path);
            }
        }
    }
    return out;
}

containers::process_spec exec_spec(
    const containers::container_spec& in, std::vector<std::string> command
) {
    containers::process_spec out = in.process;
    out.argv = std::move(command);
    out.input = out.terminal = false;
    return out;
}

}  // namespace signalbox::op::kubelet
