// SPDX-License-Identifier: Apache-2.0
#include "containers/instance_folder.hpp"

#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <climits>
#include <cstdlib>

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

namespace signalbox::op::containers {

namespace {

constexpr const char* name_start = "node-";
constexpr const char* lock_name = "/lock";

container_error no_folder(const std::string& path, const std::string& why) {
    return {"NoFolder", fmt::format("cannot use the folder {}: {}", path, why)};
}

container_error no_folder(const std::string& path, int number) {
    return no_folder(path, error_words(number));
}

unique_fd open_lock(const std::string& folder, int flags) {
    return unique_fd(::open((folder + lock_name).c_str(), O_RDWR | O_CLOEXEC | flags, 0600));
}

/// Who else could change what lies there, or where its name leads; empty if no one could. In a
/// folder that all users share, such as /tmp, the name may have been there before.
std::string others_rights(const std::string& folder) {
    struct stat named = {};
    struct stat is = {};
    if (::lstat(folder.c_str(), &named) != 0 || ::stat(folder.c_str(), &is) != 0) {
        return error_words(errno);
    }
    const uid_t own = ::geteuid();
    if (S_ISLNK(named.st_mode) && named.st_uid != own && named.st_uid != 0) {
        return fmt::format("it is a link of user {}", named.st_uid);
    }
    if (is.st_uid != own) {
        return fmt::format("it is of user {}", is.st_uid);
    }
    return (is.st_mode & S_IWOTH) != 0 ? "everybody may write there" : "";
}

std::vector<std::string> folders_left(const std::string& base) {
    std::vector<std::string> out;
    DIR* entries = ::opendir(base.c_str());
    while (const dirent* entry = entries != nullptr ? ::readdir(entries) : nullptr) {
        const std::string name = entry->d_name;
        if (name.compare(0, std::string_view(name_start).size(), name_start) != 0) {
            continue;
        }
        const std::string folder = base + "/" + name;
        const unique_fd lock = open_lock(folder, 0);
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

result<instance_folder> make_instance_folder(const std::string& base) {
    if (const int failed = make_folders(base, 0700); failed != 0) {
        return no_folder(base, failed);
    }
    if (const std::string why = others_rights(base); !why.empty()) {
        return no_folder(base, why);
    }
    // Overlays and what hides this folder from containers need its path as the kernel has it.
    char real[PATH_MAX];
    const unique_fd one_at_a_time = open_lock(base, O_CREAT);
    if (!one_at_a_time || ::realpath(base.c_str(), real) == nullptr ||
        ::flock(one_at_a_time.get(), LOCK_EX) != 0) {
        return no_folder(base, errno);
    }
    instance_folder out;
    out.left = folders_left(real);
    out.path = fmt::format("{}/{}XXXXXX", real, name_start);
    if (::mkdtemp(out.path.data()) == nullptr) {
        return no_folder(base, errno);
    }
    // Programs in containers that are not root reach what lies below; its base keeps others out.
    ::chmod(out.path.c_str(), 0755);
    out.lock = open_lock(out.path, O_CREAT);
    if (!out.lock || ::flock(out.lock.get(), LOCK_EX | LOCK_NB) != 0) {
        return no_folder(out.path, errno);
    }
    return out;
}

}  // namespace signalbox::op::containers
