// SPDX-License-Identifier: Apache-2.0
#include "images/root_writer.hpp"

#include "containers/mounts.hpp"
#include "images/archive_handle.hpp"
#include "images/trouble.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <string_view>
#include <utility>

#include <archive.h>
#include <archive_entry.h>
#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

namespace signalbox::op::images {

namespace {

using containers::error_words;
using containers::may_fail;
using containers::unique_fd;

// As the image format of the OCI has them, under "Whiteouts".
constexpr std::string_view whiteout = ".wh.";
constexpr std::string_view opaque = ".wh..wh..opq";
constexpr std::string_view whiteout_of_old = ".wh..wh.";  // files of AUFS itself

std::string path_of_folder(int folder) {
    char out[PATH_MAX];
    const std::string link = fmt::format("/proc/self/fd/{}", folder);
    const ssize_t size = ::readlink(link.c_str(), out, sizeof out);
    return size > 0 ? std::string(out, static_cast<std::size_t>(size)) : "";
}

std::vector<std::string> names_in(int folder, const std::string& name) {
    std::vector<std::string> out;
    const int inner =
        ::openat(folder, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR* entries = inner < 0 ? nullptr : ::fdopendir(inner);
    while (const dirent* entry = entries != nullptr ? ::readdir(entries) : nullptr) {
        const std::string_view found = entry->d_name;
        if (found != "." && found != "..") {
            out.emplace_back(found);
        }
    }
    if (entries != nullptr) {
        ::closedir(entries);
    }
    return out;
}

void remove_all(int folder, const std::string& name) {
    const std::string path = fmt::format("/proc/self/fd/{}/{}", folder, name);
    if (const int failed = containers::remove_tree(path); failed != 0) {
        give_up("{} cannot be removed: {}", name, error_words(failed));
    }
}

bool is_zero(const char* bytes, std::size_t size) {
    return size > 0 && bytes[0] == 0 && std::memcmp(bytes, bytes + 1, size - 1) == 0;
}

}  // namespace

root_writer::root_writer(const std::string& folder, const image_bounds& bounds)
    : bounds_(bounds),
      as_root_(::geteuid() == 0),
      root_(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)) {
    if (!root_) {
        give_up("{}: {}", folder, error_words(errno));
    }
    base_ = path_of_folder(root_.get());
}

std::vector<std::string> root_writer::parts_of(const std::string& path) const {
    std::vector<std::string> out;
    std::string_view rest = path;
    while (!rest.empty()) {
        const std::size_t end = std::min(rest.find('/'), rest.size());
        const std::string_view part = rest.substr(0, end);
        rest.remove_prefix(std::min(end + 1, rest.size()));
        if (part == "..") {
            give_up("its path leads out of the image");
        }
        if (!part.empty() && part != ".") {
            out.emplace_back(part);
        }
    }
    if (out.size() > bounds_.depth) {
        give_up("more than {} folders in each other", bounds_.depth);
    }
    return out;
}

/// Opens the folder of an entry; links on the way are followed within the image, as a process in
/// it would.
bool root_writer::open_parent(const std::vector<std::string>& parts, bool make) {
    const std::string said = fmt::format("/{}", fmt::join(parts.begin(), parts.end() - 1, "/"));
    if (parent_ && said == parent_said_) {
        return true;
    }
    parent_ = make ? containers::make_in(root_.get(), said, true)
                   : containers::open_in(root_.get(), said);
    const int failed = errno;
    struct stat is = {};
    if (parent_ && (::fstat(parent_.get(), &is) != 0 || !S_ISDIR(is.st_mode))) {
        give_up("{} is no folder", said);
    }
    if (!parent_) {
        parent_said_.clear();
        if (!make && (failed == ENOENT || failed == ENOTDIR)) {
            return false;
        }
        give_up("{}: {}", said, error_words(failed));
    }
    parent_said_ = said;
    parent_real_ = path_of_folder(parent_.get()).substr(base_.size());
    return true;
}

void root_writer::apply(byte_stream& layer, const std::string& name) {
    layer_ = name;
    touched_.clear();
    parent_.reset();
    archive_reader reader(layer, archive_reader::format::tar, name);
    while (archive_entry* entry = reader.next()) {
        const char* said = ::archive_entry_pathname(entry);
        const std::string path = said == nullptr ? "" : said;
        try {
            if (said == nullptr) {
                give_up("its name cannot be read");
            }
            if (++entries_ > bounds_.entries) {
                give_up("the image has more than {} files", bounds_.entries);
            }
            take(reader, entry, path);
        } catch (const image_trouble& why) {
            if (std::string_view(why.what()).starts_with(name)) {
                throw;
            }
            give_up("{}, {}: {}", name, path, why.what());
        }
    }
}

void root_writer::take(archive_reader& reader, archive_entry* entry, const std::string& path) {
    const std::vector<std::string> parts = parts_of(path);
    if (parts.empty()) {
        return;  // the root itself
    }
    const std::string& name = parts.back();
    const bool hides = name.starts_with(whiteout);
    const std::string hidden = hides ? name.substr(whiteout.size()) : "";
    if (hides && (hidden.empty() || hidden == "." || hidden == "..")) {
        give_up("it hides no file");
    }
    if (!open_parent(parts, !hides)) {
        return;
    }
    const place at{parent_.get(), parent_real_, name};
    if (hides) {
        white_out(at, name);
        return;
    }
    const char* hard = ::archive_entry_hardlink(entry);
    const auto type = ::archive_entry_filetype(entry);
    if (hard == nullptr && (type == AE_IFCHR || type == AE_IFBLK || type == AE_IFSOCK)) {
        return;
    }
    make_room(at, hard == nullptr && type == AE_IFDIR);
    touch(at.path());
    if (hard != nullptr) {
        make_link(hard, at);
        return;
    }
    if (type == AE_IFDIR) {
        make_folder(entry, at);
        return;
    }
    int failed = 0;
    if (type == AE_IFLNK) {
        const char* target = ::archive_entry_symlink(entry);
        failed = ::symlinkat(target == nullptr ? "" : target, at.folder, name.c_str());
    } else if (type == AE_IFIFO) {
        failed = ::mkfifoat(at.folder, name.c_str(), ::archive_entry_perm(entry) & 0777U);
    } else {
        make_file(reader, entry, at);
    }
    if (failed != 0) {
        give_up("{}", error_words(errno));
    }
    if (type != AE_IFREG) {
        set_owner(entry, at);
    }
    set_time(entry, at);
}

void root_writer::white_out(const place& at, const std::string& name) {
    if (name == opaque) {
        const unique_fd folder(::openat(at.folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        for (const std::string& each : names_in(folder.get(), ".")) {
            remove_lower(at.folder, at.real, each);
        }
    } else if (!name.starts_with(whiteout_of_old)) {
        remove_lower(at.folder, at.real, name.substr(whiteout.size()));
    }
    parent_.reset();
}

/// Removes what layers below have there, and keeps what this one has. True if nothing is left.
bool root_writer::remove_lower(int folder, const std::string& real, const std::string& name) {
    const std::string path = real + "/" + name;
    if (!touched_.contains(path)) {
        remove_all(folder, name);
        forget(path);
        return true;
    }
    const unique_fd inner(
        ::openat(folder, name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    );
    for (const std::string& each : inner ? names_in(folder, name) : std::vector<std::string>()) {
        remove_lower(inner.get(), path, each);
    }
    return false;
}

/// What is there goes, unless both are folders.
void root_writer::make_room(const place& at, bool for_folder) {
    struct stat is = {};
    if (::fstatat(at.folder, at.name.c_str(), &is, AT_SYMLINK_NOFOLLOW) != 0) {
        return;
    }
    if (for_folder && S_ISDIR(is.st_mode)) {
        return;
    }
    remove_all(at.folder, at.name);
    forget(at.path());
}

void root_writer::touch(const std::string& path) {
    for (std::size_t end = path.size(); end != std::string::npos && end > 0;
         end = path.find_last_of('/', end - 1)) {
        if (!touched_.insert(path.substr(0, end)).second) {
            return;
        }
    }
}

/// The folder is gone, and what was to be done to it and below.
void root_writer::forget(const std::string& path) {
    folders_.erase(path);
    const std::string below = path + "/";
    for (auto it = folders_.lower_bound(below);
         it != folders_.end() && it->first.starts_with(below);) {
        it = folders_.erase(it);
    }
}

void root_writer::make_folder(archive_entry* entry, const place& at) {
    if (::mkdirat(at.folder, at.name.c_str(), 0700) != 0 && errno != EEXIST) {
        give_up("{}", error_words(errno));
    }
    // Until all is written its owner may write there.
    may_fail(::fchmodat(at.folder, at.name.c_str(), 0700, 0));
    set_owner(entry, at);
    folders_[at.path()] = {::archive_entry_perm(entry), ::archive_entry_mtime(entry)};
}

void root_writer::make_file(archive_reader& reader, archive_entry* entry, const place& at) {
    constexpr int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    const unique_fd file(::openat(at.folder, at.name.c_str(), flags, 0600));
    if (!file) {
        give_up("{}", error_words(errno));
    }
    const std::int64_t whole = ::archive_entry_size(entry);
    if (whole < 0 || static_cast<std::uint64_t>(whole) > bounds_.bytes - bytes_) {
        give_up("the image has more than {} bytes", bounds_.bytes);
    }
    bytes_ += static_cast<std::uint64_t>(whole);
    const char* bytes = nullptr;
    std::size_t size = 0;
    std::int64_t from = 0;
    while (reader.next_block(bytes, size, from)) {
        if (from < 0 || from > whole || size > static_cast<std::uint64_t>(whole - from)) {
            give_up("it has more than it says");
        }
        // Holes need no disk.
        for (std::size_t done = is_zero(bytes, size) ? size : 0; done < size;) {
            const ssize_t wrote =
                ::pwrite(file.get(), bytes + done, size - done, from + static_cast<off_t>(done));
            if (wrote <= 0) {
                give_up("{}", error_words(errno));
            }
            done += static_cast<std::size_t>(wrote);
        }
    }
    if (::ftruncate(file.get(), whole) != 0) {
        give_up("{}", error_words(errno));
    }
    set_owner(entry, at);
    const unsigned mode = ::archive_entry_perm(entry) & (as_root_ ? 07777U : 0777U);
    may_fail(::fchmod(file.get(), mode));
    // Of attributes only what a program may do: others would mean something to overlays.
    const char* name = nullptr;
    const void* value = nullptr;
    std::size_t length = 0;
    ::archive_entry_xattr_reset(entry);
    while (as_root_ && ::archive_entry_xattr_next(entry, &name, &value, &length) == ARCHIVE_OK) {
        if (name != nullptr && std::string_view(name) == "security.capability") {
            may_fail(::fsetxattr(file.get(), name, value, length, 0));
        }
    }
}

void root_writer::make_link(const std::string& target, const place& at) {
    const std::vector<std::string> parts = parts_of(target);
    if (parts.empty()) {
        give_up("it is a link to no file");
    }
    const std::string above = fmt::format("/{}", fmt::join(parts.begin(), parts.end() - 1, "/"));
    const unique_fd folder = containers::open_in(root_.get(), above);
    if (!folder ||
        ::linkat(folder.get(), parts.back().c_str(), at.folder, at.name.c_str(), 0) != 0) {
        give_up("a link to {}: {}", target, error_words(errno));
    }
}

void root_writer::set_owner(archive_entry* entry, const place& at) const {
    const std::int64_t user = ::archive_entry_uid(entry);
    const std::int64_t group = ::archive_entry_gid(entry);
    if (!as_root_) {
        return;
    }
    const bool possible = user >= 0 && group >= 0 && user < UINT32_MAX && group < UINT32_MAX;
    const int failed = possible ? ::fchownat(
                                      at.folder,
                                      at.name.c_str(),
                                      static_cast<uid_t>(user),
                                      static_cast<gid_t>(group),
                                      AT_SYMLINK_NOFOLLOW
                                  )
                                : -1;
    // In a user namespace there are owners that cannot be given.
    if (failed != 0 && !containers::in_user_namespace()) {
        give_up("owner {}:{}: {}", user, group, possible ? error_words(errno) : "there is none");
    }
}

void root_writer::set_time(archive_entry* entry, const place& at) const {
    const timespec then{::archive_entry_mtime(entry), ::archive_entry_mtime_nsec(entry)};
    const timespec both[] = {then, then};
    may_fail(::utimensat(at.folder, at.name.c_str(), both, AT_SYMLINK_NOFOLLOW));
}

void root_writer::finish() {
    // From the last to the first, so that those inside come before those around them.
    for (auto it = folders_.rbegin(); it != folders_.rend(); ++it) {
        const unique_fd folder = containers::open_beneath(root_.get(), it->first.substr(1));
        struct stat is = {};
        if (!folder || ::fstat(folder.get(), &is) != 0 || !S_ISDIR(is.st_mode)) {
            continue;
        }
        const std::string path = fmt::format("/proc/self/fd/{}", folder.get());
        const timespec then{it->second.modified, 0};
        const timespec both[] = {then, then};
        may_fail(::utimensat(AT_FDCWD, path.c_str(), both, 0));
        may_fail(::chmod(path.c_str(), it->second.mode & (as_root_ ? 07777U : 01777U)));
    }
}

}  // namespace signalbox::op::images
