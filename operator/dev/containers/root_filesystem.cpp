// SPDX-License-Identifier: Apache-2.0
#include "containers/root_filesystem.hpp"

#include "containers/mounts.hpp"
#include "containers/unix.hpp"
#include "containers/user_namespace.hpp"

#include <fmt/format.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <sstream>
#include <string_view>

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

namespace signalbox::op::containers {

namespace {

/// Top-level folders of an image that are not taken from it.
constexpr std::array<std::string_view, 5> own_folders{"dev", "proc", "run", "sys", "tmp"};

constexpr std::string_view share_memory_size = "64m";  // as container runtimes have it

bool is_own(std::string_view top) {
    return std::find(own_folders.begin(), own_folders.end(), top) != own_folders.end();
}

std::string link_text(int folder, const std::string& name) {
    char text[PATH_MAX];
    const ssize_t size = ::readlinkat(folder, name.c_str(), text, sizeof text);
    return size > 0 ? std::string(text, static_cast<std::size_t>(size)) : "";
}

std::string path_of(int fd) {
    return link_text(AT_FDCWD, fmt::format("/proc/self/fd/{}", fd));
}

/// As overlay options want paths.
std::string overlay_path(const std::string& path) {
    std::string out;
    for (const char c : path) {
        if (c == ':' || c == ',' || c == '\\') {
            out += '\\';
        }
        out += c;
    }
    return out;
}

mount_settings overlay_settings(
    const std::string& lower, const std::string& upper, const std::string& work
) {
    // volatile: nothing is flushed to the disk when the container ends.
    mount_settings out{
        {"lowerdir", overlay_path(lower)},
        {"upperdir", overlay_path(upper)},
        {"workdir", overlay_path(work)},
        {"volatile", ""},
    };
    if (in_user_namespace()) {
        out.emplace_back("userxattr", "");
    }
    return out;
}

class root_builder {
public:
    root_builder(const root_plan& plan, start_report& report) : plan_(plan), report_(report) {}

    void build() {
        open_sources();
        prepare_folders();
        take_image();
        add_kernel_file_systems();
        add_devices();
        hide_folder();
        for (std::size_t i = 0; i < plan_.mounts.size(); ++i) {
            add(plan_.mounts[i], sources_[i].get());
        }
        const unique_fd cwd = make(plan_.working_dir, true);
        if (plan_.files.read_only) {
            for (const unique_fd& each : layers_) {
                make_read_only(each.get(), false);
            }
            make_read_only(root_.get(), false);
        }
    }

    void enter() {
        // The old root ends up below the new one, and goes.
        if (::fchdir(root_.get()) != 0 || ::syscall(SYS_pivot_root, ".", ".") != 0 ||
            ::umount2(".", MNT_DETACH) != 0 || ::chdir("/") != 0) {
            report_.cannot_create("enter the container's file system", errno);
        }
    }

private:
    std::string changes(std::string_view part, std::string_view top) const {
        return fmt::format("{}/{}/{}", plan_.files.changes, part, top);
    }

    bool is_mapped() const { return plan_.users >= 0; }

    /// On disk, of what has that owner in the container.
    std::uint32_t owner_of(std::uint32_t inside) const {
        constexpr std::uint32_t nobody = 65'534;
        return plan_.first_id + (is_mapped() && inside >= ids_of_a_pod ? nobody : inside);
    }

    unique_fd make(const std::string& target, bool folder) const {
        return make_in(root_.get(), target, folder, plan_.first_id);
    }

    /// second_view() of files that the container has as they are, with their owners.
    unique_fd view_of(int folder, const std::string& path, bool deep, const std::string& name) {
        unique_fd view = second_view(folder, path, deep);
        const int failed = view && is_mapped() ? map_owners(view.get(), plan_.users, deep) : 0;
        if (failed != 0) {
            report_.cannot_create(
                "give " + name + " to a user namespace, which its file system may not support",
                failed
            );
        }
        return view;
    }

    /// The root itself is a folder on disk, with a mount for each folder of the image: an overlay
    /// over all of `/` would not show what is mounted below, and is not allowed in a user
    /// namespace.
    void prepare_folders() {
        const std::string base = plan_.files.changes + "/root";
        for (const char* part : {"/root", "/upper", "/work"}) {
            if (const int failed = make_folders(plan_.files.changes + part); failed != 0) {
                report_.cannot_create("make " + plan_.files.changes + part, failed);
            }
        }
        const unique_fd tree = second_view(AT_FDCWD, base, false);
        const unique_fd folder(::open(base.c_str(), O_PATH | O_CLOEXEC));
        if (!tree || attach(tree.get(), folder.get()) != 0) {
            report_.cannot_create("mount " + base, errno);
        }
        root_.reset(::open(base.c_str(), O_PATH | O_CLOEXEC));
        image_.reset(::open(plan_.files.image.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
        if (!image_) {
            report_.cannot_create("open the image " + plan_.files.image, errno);
        }
        may_fail(::chown(base.c_str(), owner_of(0), owner_of(0)));
        for (const std::string_view own : own_folders) {
            ::mkdirat(root_.get(), own.data(), 0755);
            may_fail(::fchownat(root_.get(), own.data(), owner_of(0), owner_of(0), 0));
        }
        may_fail(::fchmodat(root_.get(), "tmp", 01777, 0));
    }

    void take_image() {
        std::vector<std::string> folders;
        DIR* entries = ::opendir(plan_.files.image.c_str());
        if (entries == nullptr) {
            report_.cannot_create("read the image " + plan_.files.image, errno);
        }
        while (const dirent* entry = ::readdir(entries)) {
            const std::string name = entry->d_name;
            struct stat is = {};
            if (name == "." || name == ".." || name == "lost+found" || is_own(name) ||
                ::fstatat(image_.get(), name.c_str(), &is, AT_SYMLINK_NOFOLLOW) != 0) {
                continue;
            }
            if (S_ISLNK(is.st_mode)) {
                may_fail(
                    ::symlinkat(link_text(image_.get(), name).c_str(), root_.get(), name.c_str())
                );
                may_fail(::fchownat(
                    root_.get(),
                    name.c_str(),
                    owner_of(is.st_uid),
                    owner_of(is.st_gid),
                    AT_SYMLINK_NOFOLLOW
                ));
            } else if (S_ISDIR(is.st_mode)) {
                if (is_empty(name)) {
                    // Nothing to lay anything over; overlays cost time and folders.
                    make_like(plan_.files.changes + "/root/" + name, is);
                    continue;
                }
                prepare_top(name, is);
                folders.push_back(name);
            } else if (S_ISREG(is.st_mode)) {
                const unique_fd here = make("/" + name, false);
                const unique_fd view = view_of(image_.get(), name, false, "/" + name);
                make_read_only(view.get(), false);
                attach(view.get(), here.get());
            }
        }
        ::closedir(entries);
        for (std::size_t i = 0; i < plan_.mounts.size(); ++i) {
            prepare_target(plan_.mounts[i].target, is_folder(sources_[i].get()));
        }
        prepare_target(plan_.working_dir, true);
        for (const std::string& name : folders) {
            take_folder(name);
        }
        if (plan_.files.image == "/") {
            take_mounts(folders);
        }
    }

    /// The root of an upper layer is what one sees of the folder itself.
    void prepare_top(const std::string& name, const struct stat& like) {
        ::mkdirat(root_.get(), name.c_str(), 0755);
        make_like(changes("upper", name), like);
        remove_tree(changes("work", name));
        ::mkdir(changes("work", name).c_str(), 0755);
    }

    bool is_empty(const std::string& name) const {
        constexpr int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
        DIR* entries = ::fdopendir(::openat(image_.get(), name.c_str(), flags));
        int count = 0;
        while (entries != nullptr && count <= 2 && ::readdir(entries) != nullptr) {
            ++count;
        }
        if (entries != nullptr) {
            ::closedir(entries);
        }
        return count <= 2;  // also what the user cannot read
    }

    void make_like(const std::string& folder, const struct stat& like) const {
        if (::mkdir(folder.c_str(), 0755) == 0) {
            // In a user namespace other users' folders become our own: they cannot be theirs.
            may_fail(::lchown(folder.c_str(), owner_of(like.st_uid), owner_of(like.st_gid)));
            ::chmod(folder.c_str(), like.st_mode & 07777);
        }
    }

    /// `source`: of open_sources().
    static bool is_folder(int source) {
        struct stat is = {};
        return source < 0 || ::fstat(source, &is) != 0 || S_ISDIR(is.st_mode);
    }

    /// What was opened once is what is mounted: other containers of the pod may change a volume
    /// while this one starts.
    void open_sources() {
        for (const mount_point& m : plan_.mounts) {
            unique_fd source;
            if (m.what == mount_point::kind::bind) {
                source.reset(::open(m.source.c_str(), O_PATH | O_CLOEXEC));
                const bool whole = m.inside.empty() || !source;
                unique_fd found = whole ? std::move(source) : open_beneath(source.get(), m.inside);
                if (!found) {
                    const std::string name = m.source + (m.inside.empty() ? "" : "/" + m.inside);
                    report_.fail(
                        "CreateContainerError",
                        fmt::format("failed to stat \"{}\": {}", name, error_words(errno))
                    );
                }
                source = std::move(found);
            }
            sources_.push_back(std::move(source));
        }
    }

    /// Makes a missing mount target in the upper layer before it is one: once it is mounted, an
    /// ordinary user could not make anything in folders of the machine's root.
    void prepare_target(const std::string& target, bool folder) {
        std::string known = target;
        std::string missing;
        unique_fd deepest = open_in(image_.get(), known);
        while (!deepest && errno == ENOENT && known.size() > 1) {
            const std::size_t slash = known.find_last_of('/');
            missing = known.substr(slash) + missing;
            known = slash == 0 ? "/" : known.substr(0, slash);
            deepest = open_in(image_.get(), known);
        }
        if (missing.empty() || !deepest) {
            return;
        }
        const std::string base = path_of(image_.get());
        const std::string real = path_of(deepest.get()).substr(base == "/" ? 0 : base.size());
        const std::string top = real.substr(0, real.find('/', 1));
        if (top.size() < 2 || is_own(std::string_view(top).substr(1))) {
            return;
        }
        // Folders that the image has are repeated in the upper layer as they are there.
        for (std::size_t end = real.find('/', 1);; end = real.find('/', end + 1)) {
            struct stat is = {};
            const std::string part = real.substr(0, end);
            if (::stat((base == "/" ? part : base + part).c_str(), &is) == 0) {
                make_like(plan_.files.changes + "/upper" + part, is);
            }
            if (end == std::string::npos) {
                break;
            }
        }
        const unique_fd upper(
            ::open((plan_.files.changes + "/upper" + real).c_str(), O_PATH | O_CLOEXEC)
        );
        if (upper && missing.find("/../") == std::string::npos) {
            make_in(upper.get(), missing, folder, plan_.first_id);
        }
    }

    void take_folder(const std::string& name) {
        const std::string lower = lower_of(name);
        const unique_fd here = open_in(root_.get(), name);
        mount_failure why;
        unique_fd layer = new_file_system(
            "overlay",
            overlay_settings(lower, changes("upper", name), changes("work", name)),
            0,
            why
        );
        if (!layer) {
            layer = view_of(image_.get(), name, true, "/" + name);
            make_read_only(layer.get(), true);
        }
        if (const int failed = attach(layer.get(), here.get()); failed != 0) {
            report_.cannot_create("mount /" + name, failed);
        }
        layers_.push_back(std::move(layer));
    }

    /// The folder of the image; with its owners mapped it is mounted beside the layers for that.
    std::string lower_of(const std::string& name) {
        if (!is_mapped()) {
            return (plan_.files.image == "/" ? "" : plan_.files.image) + "/" + name;
        }
        const std::string mapped = changes("lower", name);
        const unique_fd view = view_of(image_.get(), name, false, "/" + name);
        const int failed = make_folders(mapped);
        const unique_fd here(::open(mapped.c_str(), O_PATH | O_CLOEXEC));
        if (failed != 0 || attach(view.get(), here.get()) != 0) {
            report_.cannot_create("mount " + mapped, failed != 0 ? failed : errno);
        }
        return mapped;
    }

    /// Overlays do not show what is mounted below a folder, such as other disks: that is there to
    /// be read.
    void take_mounts(const std::vector<std::string>& folders) {
        std::istringstream all(read_text("/proc/self/mountinfo").value_or(""));
        std::string line;
        while (std::getline(all, line)) {
            std::istringstream words(line);
            std::string target;
            for (int i = 0; i < 5; ++i) {
                words >> target;
            }
            const std::size_t slash = target.find('/', 1);
            const std::string top = slash == std::string::npos ? "" : target.substr(1, slash - 1);
            const bool own = target.compare(0, plan_.hidden.size(), plan_.hidden) == 0;
            if (own || std::find(folders.begin(), folders.end(), top) == folders.end()) {
                continue;
            }
            const unique_fd here = open_in(root_.get(), target);
            const unique_fd view = here ? second_view(AT_FDCWD, target, false) : unique_fd();
            if (view && is_mapped()) {
                may_fail(map_owners(view.get(), plan_.users, false));  // else the owner is nobody
            }
            if (view && make_read_only(view.get(), false) == 0) {
                attach(view.get(), here.get());
            }
        }
    }

    void mount_new(
        const char* type,
        const mount_settings& settings,
        std::uint64_t attributes,
        const std::string& target
    ) {
        mount_failure why;
        const unique_fd made = new_file_system(type, settings, attributes, why);
        const unique_fd here = make_in(root_.get(), target, true);
        if (!made || attach(made.get(), here.get()) != 0) {
            report_.cannot_create("mount " + target, made ? errno : why.number);
        }
    }

    void add_kernel_file_systems() {
        constexpr std::uint64_t safe = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC;
        mount_new("proc", {}, safe, "/proc");
        mount_new("sysfs", {}, safe | MOUNT_ATTR_RDONLY, "/sys");
        // Root in a container is the machine's root where there is no user namespace: what is not
        // the container's own must not be changed through /proc.
        for (const char* part :
             {"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"}) {
            const unique_fd here = open_in(root_.get(), part);
            const unique_fd view = here ? second_view(here.get(), "", true) : unique_fd();
            if (view && make_read_only(view.get(), true) == 0) {
                attach(view.get(), here.get());
            }
        }
        for (const char* part : {"/proc/kcore", "/proc/keys", "/proc/timer_list"}) {
            bind_if_there("/dev/null", part);
        }
    }

    void bind_if_there(const std::string& source, const std::string& target) {
        const unique_fd here = make_in(root_.get(), target, false);
        const unique_fd view = second_view(AT_FDCWD, source, false);
        if (here && view) {
            attach(view.get(), here.get());
        }
    }

    void add_devices() {
        constexpr std::uint64_t safe = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC;
        mount_new("tmpfs", {{"mode", "755"}, {"size", "1m"}}, safe, "/dev");
        for (const char* name : {"null", "zero", "full", "random", "urandom", "tty"}) {
            bind_if_there(fmt::format("/dev/{}", name), fmt::format("/dev/{}", name));
        }
        if (DIR* all = ::opendir("/dev"); all != nullptr) {
            while (const dirent* entry = ::readdir(all)) {
                const std::string_view name = entry->d_name;
                if (name.substr(0, 6) == "nvidia" && entry->d_type == DT_CHR) {
                    bind_if_there(fmt::format("/dev/{}", name), fmt::format("/dev/{}", name));
                }
            }
            ::closedir(all);
        }
        mount_settings terminals{{"newinstance", ""}, {"ptmxmode", "0666"}, {"mode", "0620"}};
        if (!in_user_namespace()) {
            terminals.emplace_back("gid", "5");
        }
        mount_new("devpts", terminals, safe, "/dev/pts");
        const mount_settings shared{{"mode", "1777"}, {"size", std::string(share_memory_size)}};
        mount_new("tmpfs", shared, safe | MOUNT_ATTR_NODEV, "/dev/shm");
        mount_new("mqueue", {}, safe | MOUNT_ATTR_NODEV, "/dev/mqueue");
        const unique_fd dev = open_in(root_.get(), "/dev");
        for (const auto& [name, target] :
             {std::pair{"ptmx", "pts/ptmx"},
              std::pair{"fd", "/proc/self/fd"},
              std::pair{"stdin", "/proc/self/fd/0"},
              std::pair{"stdout", "/proc/self/fd/1"},
              std::pair{"stderr", "/proc/self/fd/2"}}) {
            may_fail(::symlinkat(target, dev.get(), name));
        }
    }

    void hide_folder() {
        if (plan_.files.image != "/" || plan_.hidden.empty()) {
            return;
        }
        if (const unique_fd here = open_in(root_.get(), plan_.hidden); here) {
            mount_failure why;
            const unique_fd empty =
                new_file_system("tmpfs", {{"mode", "755"}, {"size", "4k"}}, MOUNT_ATTR_RDONLY, why);
            attach(empty.get(), here.get());
        }
    }

    void add(const mount_point& m, int source) {
        unique_fd what;
        if (m.what == mount_point::kind::memory) {
            mount_settings settings{{"mode", "1777"}};
            if (m.size_limit > 0) {
                settings.emplace_back("size", std::to_string(m.size_limit));
            }
            mount_failure why;
            constexpr std::uint64_t safe = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
            what = new_file_system("tmpfs", settings, safe, why);
            if (!what) {
                report_.cannot_create("mount " + m.target, why.number);
            }
        } else {
            what = view_of(source, "", true, m.source);
            if (!what) {
                report_.fail(
                    "CreateContainerError",
                    fmt::format("failed to stat \"{}\": {}", m.source, error_words(errno))
                );
            }
        }
        const unique_fd target = make(m.target, is_folder(source));
        if (!target) {
            report_.cannot_create("make the mount point " + m.target, errno);
        }
        if (m.read_only) {
            if (const int failed = make_read_only(what.get(), true); failed != 0) {
                report_.cannot_create("make read-only " + m.target, failed);
            }
        }
        if (const int failed = attach(what.get(), target.get()); failed != 0) {
            report_.cannot_create(fmt::format("mount {} on {}", m.source, m.target), failed);
        }
    }

    const root_plan& plan_;
    start_report& report_;
    unique_fd root_;
    unique_fd image_;
    std::vector<unique_fd> sources_;  ///< of the plan's mounts; none of one in memory
    std::vector<unique_fd> layers_;
};

}  // namespace

void enter_root(const root_plan& plan, start_report& report) {
    root_builder builder(plan, report);
    builder.build();
    builder.enter();
}

std::string overlay_trouble(const std::string& folder) {
    const std::string probe = folder + "/overlay-probe";
    mount_failure why;
    bool good = false;
    if (make_folders(probe + "/upper") == 0 && make_folders(probe + "/work") == 0) {
        const mount_settings settings = overlay_settings("/usr", probe + "/upper", probe + "/work");
        good = static_cast<bool>(new_file_system("overlay", settings, 0, why));
    } else {
        why.number = errno;
    }
    return good ? "" : error_words(why.number) + (why.detail.empty() ? "" : ": " + why.detail);
}

}  // namespace signalbox::op::containers
