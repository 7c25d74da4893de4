// SPDX-License-Identifier: Apache-2.0
#include "containers/instance_folder.hpp"

#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

namespace signalbox::op::containers {

namespace {

constexpr const char* name_start = "node-";
constexpr const char* lock_name = "lock";
constexpr uid_t unmapped_user = 65534;

container_error no_folder(const std::string& path, const std::string& why) {
    return {"NoFolder", fmt::format("cannot use the folder {}: {}", path, why)};
}

container_error no_folder(const std::string& path, int number) {
    return no_folder(path, error_words(number));
}

unique_fd open_lock(int folder, const std::string& name, int flags) {
    return unique_fd(::openat(folder, name.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0600));
}

/// Who else could put another folder where one of these is, or a link; empty if no one could.
std::string rights_above(std::string folder) {
    while (folder.size() > 1) {
        folder.resize(std::max<std::size_t>(folder.find_last_of('/'), 1));
        struct stat is = {};
        if (::lstat(folder.c_str(), &is) != 0) {
            return error_words(errno);
        }
        // In a user namespace the machine's root is one of those that are not there.
        const bool unknown = is.st_uid == unmapped_user && in_user_namespace();
        if (is.st_uid != 0 && is.st_uid != ::geteuid() && !unknown) {
            return fmt::format("{} above it is of user {}", folder, is.st_uid);
        }
        if ((is.st_mode & S_IWOTH) != 0 && (is.st_mode & S_ISVTX) == 0) {
            return fmt::format("everybody may write in {} above it", folder);
        }
    }
    return "";
}

/// Who else could read or change what lies there; empty if no one could. In a folder that all users
/// share, such as /tmp, the name may have been there before.
std::string others_rights(const std::string& name, int folder) {
    struct stat named = {};
    struct stat is = {};
    if (::lstat(name.c_str(), &named) != 0) {
        return error_words(errno);
    }
    const uid_t own = ::geteuid();
    if (S_ISLNK(named.st_mode)) {
        return named.st_uid == own ? "it is a link: name the folder that it leads to"
                                   : fmt::format("it is a link of user {}", named.st_uid);
    }
    if (::fstat(folder, &is) != 0) {
        return error_words(errno);
    }
    if (is.st_uid != own) {
        return fmt::format("it is of user {}", is.st_uid);
    }
    if ((is.st_mode & S_IWOTH) != 0) {
        return "everybody may write there";
    }
    return (is.st_mode & 077) == 0
               ? ""
               : fmt::format(
                     "other users have rights there (mode {:o}): chmod 700", is.st_mode & 0777
                 );
}

std::vector<std::string> folders_left(const std::string& base, int held) {
    std::vector<std::string> out;
    DIR* entries = ::opendir(base.c_str());
    while (const dirent* entry = entries != nullptr ? ::readdir(entries) : nullptr) {
        const std::string name = entry->d_name;
        if (name.compare(0, std::string_view(name_start).size(), name_start) != 0) {
            continue;
        }
        const std::string folder = base + "/" + name;
        const unique_fd lock = open_lock(held, name + "/" + lock_name, 0);
        if (lock ? ::flock(lock.get(), LOCK_EX | LOCK_NB) == 0 : errno == ENOENT) {
            out.push_back(folder);
        }
    }
    if (entries != nullptr) {
        ::closedir(entries);
    }
    return out;
}

}  // namespace

result<private_folder> open_private_folder(const std::string& base) {
    if (const int failed = make_folders(base, 0700); failed != 0) {
        return no_folder(base, failed);
    }
    // From here on it is the folder that was looked at, whatever its name leads to.
    private_folder out;
    out.held.reset(::open(base.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (const std::string why = others_rights(base, out.held.get()); !why.empty()) {
        return no_folder(base, why);
    }
    // Overlays and what hides this folder from containers need its path as the kernel has it.
    char real[PATH_MAX];
    if (!out.held || ::realpath(base.c_str(), real) == nullptr) {
        return no_folder(base, errno);
    }
    if (const std::string why = rights_above(real); !why.empty()) {
        return no_folder(base, why);
    }
    out.path = real;
    return out;
}

result<instance_folder> make_instance_folder(const std::string& base) {
    const auto shared = open_private_folder(base);
    if (shared.has_error()) {
        return shared.error();
    }
    const std::string& real = shared->path;
    const unique_fd& held = shared->held;
    const unique_fd one_at_a_time = open_lock(held.get(), lock_name, O_CREAT);
    if (!one_at_a_time || ::flock(one_at_a_time.get(), LOCK_EX) != 0) {
        return no_folder(base, errno);
    }
    instance_folder out;
    out.left = folders_left(real, held.get());
    out.path = fmt::format("{}/{}XXXXXX", real, name_start);
    if (::mkdtemp(out.path.data()) == nullptr) {
        return no_folder(base, errno);
    }
    // Programs in containers that are not root reach what lies below; its base keeps others out.
    ::chmod(out.path.c_str(), 0755);
    const std::string own_lock = out.path.substr(real.size() + 1) + "/" + lock_name;
    out.lock = open_lock(held.get(), own_lock, O_CREAT);
    if (!out.lock || ::flock(out.lock.get(), LOCK_EX | LOCK_NB) != 0) {
        return no_folder(out.path, errno);
    }
    return out;
}

}  // namespace signalbox::op::containers
