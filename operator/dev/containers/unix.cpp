// SPDX-License-Identifier: Apache-2.0
#include "containers/unix.hpp"

#include <sys/stat.h>

#include <cctype>
#include <cerrno>
#include <cstring>
#include <sstream>
#include <vector>

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

namespace signalbox::op::containers {

void unique_fd::reset(int fd) {
    if (fd_ >= 0) {
        ::close(fd_);
    }
    fd_ = fd;
}

std::string error_words(int number) {
    std::string text = std::strerror(number);
    if (text.size() > 1 && std::islower(static_cast<unsigned char>(text[1])) != 0) {
        text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
    }
    return text;
}

int write_text(const std::string& path, std::string_view text) {
    const unique_fd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (!file) {
        return errno;
    }
    return ::write(file.get(), text.data(), text.size()) < 0 ? errno : 0;
}

std::optional<std::string> read_text(const std::string& path) {
    const unique_fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) {
        return std::nullopt;
    }
    std::string text;
    char buffer[4096];
    for (;;) {
        const ssize_t size = ::read(file.get(), buffer, sizeof buffer);
        if (size <= 0) {
            return size == 0 ? std::optional(text) : std::nullopt;
        }
        text.append(buffer, static_cast<std::size_t>(size));
    }
}

bool in_user_namespace() {
    std::istringstream all(read_text("/proc/self/uid_map").value_or(""));
    std::uint64_t inside = 1;
    std::uint64_t outside = 1;
    std::uint64_t count = 0;
    all >> inside >> outside >> count;
    return inside != 0 || outside != 0 || count != UINT32_MAX;
}

int make_folders(const std::string& path, std::uint32_t mode) {
    if (::mkdir(path.c_str(), mode) == 0) {
        return 0;
    }
    if (errno == EEXIST) {
        struct stat is = {};
        return ::stat(path.c_str(), &is) == 0 && S_ISDIR(is.st_mode) ? 0 : ENOTDIR;
    }
    const std::size_t slash = path.find_last_of('/');
    if (errno != ENOENT || slash == std::string::npos || slash == 0) {
        return errno;
    }
    if (const int failed = make_folders(path.substr(0, slash), mode); failed != 0) {
        return failed;
    }
    return ::mkdir(path.c_str(), mode) == 0 || errno == EEXIST ? 0 : errno;
}

namespace {

int remove_entry(int folder, const char* name, dev_t device);

int empty_folder(unique_fd folder, dev_t device) {
    DIR* entries = ::fdopendir(folder.get());
    if (entries == nullptr) {
        return errno;
    }
    folder.release();
    int failed = 0;
    std::vector<std::string> names;
    while (const dirent* entry = ::readdir(entries)) {
        const std::string_view name = entry->d_name;
        if (name != "." && name != "..") {
            names.emplace_back(name);
        }
    }
    for (const std::string& name : names) {
        const int here = remove_entry(::dirfd(entries), name.c_str(), device);
        failed = failed == 0 ? here : failed;
    }
    ::closedir(entries);
    return failed;
}

int remove_entry(int folder, const char* name, dev_t device) {
    if (::unlinkat(folder, name, 0) == 0 || errno == ENOENT) {
        return 0;
    }
    const int not_removed = errno;
    if (not_removed != EISDIR && not_removed != EPERM) {
        return not_removed;
    }
    struct stat is = {};
    if (::fstatat(folder, name, &is, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISDIR(is.st_mode)) {
        return not_removed;
    }
    if (is.st_dev != device) {
        return EXDEV;
    }
    constexpr int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    if ((is.st_mode & 0700) != 0700) {
        // Not followed: what was a folder a moment ago.
        may_fail(::fchmodat(folder, name, 0700, 0));
    }
    unique_fd inner(::openat(folder, name, flags));
    if (!inner) {
        return errno;
    }
    const int failed = empty_folder(std::move(inner), device);
    if (::unlinkat(folder, name, AT_REMOVEDIR) == 0) {
        return 0;
    }
    return failed != 0 ? failed : errno;
}

}  // namespace

int remove_tree(const std::string& path) {
    struct stat is = {};
    if (::lstat(path.c_str(), &is) != 0) {
        return errno == ENOENT ? 0 : errno;
    }
    return remove_entry(AT_FDCWD, path.c_str(), is.st_dev);
}

}  // namespace signalbox::op::containers
