// SPDX-License-Identifier: Apache-2.0
#include "containers/mounts.hpp"

#include <linux/openat2.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace signalbox::op::containers {

unique_fd new_file_system(
    const std::string& type,
    const mount_settings& settings,
    std::uint64_t attributes,
    mount_failure& why
) {
    const unique_fd maker(::fsopen(type.c_str(), FSOPEN_CLOEXEC));
    bool good = static_cast<bool>(maker);
    for (const auto& [key, value] : settings) {
        good = good && ::fsconfig(
                           maker.get(),
                           value.empty() ? FSCONFIG_SET_FLAG : FSCONFIG_SET_STRING,
                           key.c_str(),
                           value.empty() ? nullptr : value.c_str(),
                           0
                       ) == 0;
    }
    good = good && ::fsconfig(maker.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) == 0;
    unique_fd made;
    if (good) {
        made.reset(::fsmount(maker.get(), FSMOUNT_CLOEXEC, static_cast<unsigned>(attributes)));
    }
    if (!made) {
        why.number = errno;
        char text[512];
        const ssize_t size = maker ? ::read(maker.get(), text, sizeof text) : 0;
        why.detail = size > 2 ? std::string(text + 2, static_cast<std::size_t>(size) - 2) : "";
    }
    return made;
}

unique_fd second_view(int folder, const std::string& path, bool deep) {
    constexpr unsigned common = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH;
    return unique_fd(::open_tree(folder, path.c_str(), common | (deep ? AT_RECURSIVE : 0)));
}

int make_read_only(int mount, bool deep) {
    mount_attr attributes = {};
    attributes.attr_set = MOUNT_ATTR_RDONLY;
    const unsigned flags = AT_EMPTY_PATH | (deep ? AT_RECURSIVE : 0);
    return ::mount_setattr(mount, "", flags, &attributes, sizeof attributes) == 0 ? 0 : errno;
}

int map_owners(int mount, int users, bool deep) {
    mount_attr attributes = {};
    attributes.attr_set = MOUNT_ATTR_IDMAP;
    attributes.userns_fd = static_cast<__u64>(users);
    const unsigned flags = AT_EMPTY_PATH | (deep ? AT_RECURSIVE : 0);
    return ::mount_setattr(mount, "", flags, &attributes, sizeof attributes) == 0 ? 0 : errno;
}

int attach(int mount, int on) {
    constexpr unsigned flags = MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH;
    return ::move_mount(mount, "", on, "", flags) == 0 ? 0 : errno;
}

namespace {

unique_fd open_resolved(int root, const std::string& path, std::uint64_t resolve) {
    open_how how = {};
    how.flags = O_PATH | O_CLOEXEC;
    how.resolve = resolve;
    return unique_fd(static_cast<int>(::syscall(SYS_openat2, root, path.c_str(), &how, sizeof how))
    );
}

}  // namespace

unique_fd open_in(int root, const std::string& path) {
    return open_resolved(root, path, RESOLVE_IN_ROOT);
}

unique_fd open_beneath(int root, const std::string& path) {
    // The kernel gives up where a folder is moved while it looks, which nothing does so many times.
    constexpr int most_tries = 100;
    unique_fd out;
    for (int i = 0; i < most_tries && !out && (i == 0 || errno == EAGAIN); ++i) {
        out = open_resolved(root, path, RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS);
    }
    return out;
}

unique_fd make_beneath(int root, const std::string& path, std::uint32_t mode) {
    unique_fd above = open_beneath(root, ".");
    std::size_t at = 0;
    while (above && at < path.size()) {
        const std::size_t end = std::min(path.find('/', at), path.size());
        const std::string name = path.substr(at, end - at);
        at = end + 1;
        unique_fd next = open_beneath(root, path.substr(0, end));
        // A link to nothing is there: it is not followed by what makes a folder.
        if (!next && errno == ENOENT && ::mkdirat(above.get(), name.c_str(), 0700) == 0) {
            may_fail(::fchmodat(above.get(), name.c_str(), mode, 0));
            next = open_beneath(root, path.substr(0, end));
        }
        above = std::move(next);
    }
    return above;
}

namespace {

unique_fd make_followed(
    int root, const std::string& path, bool folder, std::uint32_t owner, int links
) {
    unique_fd found = open_in(root, path);
    if (found || errno != ENOENT) {
        return found;
    }
    const std::size_t end = path.find_last_not_of('/');
    const std::size_t slash = path.find_last_of('/', end);
    if (end == std::string::npos || slash == std::string::npos || links == 0) {
        errno = ENOENT;
        return {};
    }
    const std::string parent = path.substr(0, slash + 1);
    const std::string name = path.substr(slash + 1, end - slash);
    const unique_fd above = make_followed(root, parent, true, owner, links);
    if (!above) {
        return {};
    }
    // A link to nothing, as /etc/resolv.conf often is where /run is empty: what it names is made.
    char link[PATH_MAX];
    if (const ssize_t size = ::readlinkat(above.get(), name.c_str(), link, sizeof link); size > 0) {
        const std::string target(link, static_cast<std::size_t>(size));
        const std::string at = target[0] == '/' ? target : parent + target;
        return make_followed(root, at, folder, owner, links - 1);
    }
    if (folder) {
        if (::mkdirat(above.get(), name.c_str(), 0755) != 0 && errno != EEXIST) {
            return {};
        }
    } else {
        const unique_fd made(
            ::openat(above.get(), name.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0644)
        );
        if (!made) {
            return {};
        }
    }
    if (owner != 0) {
        may_fail(::fchownat(above.get(), name.c_str(), owner, owner, AT_SYMLINK_NOFOLLOW));
    }
    return open_in(root, path);
}

}  // namespace

unique_fd make_in(int root, const std::string& path, bool folder, std::uint32_t owner) {
    constexpr int most_links = 20;
    return make_followed(root, path, folder, owner, most_links);
}

}  // namespace signalbox::op::containers
