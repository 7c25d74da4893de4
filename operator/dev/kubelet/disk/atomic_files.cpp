// SPDX-License-Identifier: Apache-2.0
#include "kubelet/disk/atomic_files.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>

#include <fcntl.h>
#include <unistd.h>

namespace signalbox::op::kubelet {

namespace {

namespace fs = std::filesystem;

refusal machine_error(std::string_view what, const fs::path& path, int number) {
    return {"FailedMount", fmt::format("{} {}: {}", what, path.string(), std::strerror(number))};
}

refusal machine_error(std::string_view what, const fs::path& path, const std::error_code& e) {
    return {"FailedMount", fmt::format("{} {}: {}", what, path.string(), e.message())};
}

/// Closes at the end of the scope.
class descriptor {
public:
    explicit descriptor(int number) : number_(number) {}
    ~descriptor() {
        if (number_ >= 0) {
            ::close(number_);
        }
    }
    descriptor(const descriptor&) = delete;
    descriptor& operator=(const descriptor&) = delete;
    int number() const { return number_; }

private:
    int number_;
};

outcome<void> fill(const fs::path& path, std::string_view content, std::uint32_t mode) {
    const descriptor to(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (to.number() < 0) {
        return machine_error("open", path, errno);
    }
    while (!content.empty()) {
        const ssize_t n = ::write(to.number(), content.data(), content.size());
        if (n < 0 && errno != EINTR) {
            return machine_error("write", path, errno);
        }
        content.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
    }
    if (::fchmod(to.number(), mode) != 0) {
        return machine_error("chmod", path, errno);
    }
    return outcome<void>();
}

bool is_as_planned(const fs::path& folder, const std::vector<planned_file>& files) {
    std::error_code failed;
    std::size_t there = 0;
    const fs::path data = folder / "..data" / "";
    for (fs::recursive_directory_iterator it(data, failed), end; !failed && it != end;
         it.increment(failed)) {
        there += it->is_directory() ? 0U : 1U;
    }
    return !failed && there == files.size() &&
           std::ranges::all_of(files, [&](const planned_file& f) {
               return read_file(data / f.path, f.content.size() + 1) == f.content;
           });
}

std::string dated_name(std::chrono::system_clock::time_point now) {
    const auto seconds = std::chrono::floor<std::chrono::seconds>(now);
    const auto rest = std::chrono::duration_cast<std::chrono::nanoseconds>(now - seconds);
    return fmt::format(
        "..{:%Y_%m_%d_%H_%M_%S}.{:09}",
        fmt::gmtime(std::chrono::system_clock::to_time_t(seconds)),
        rest.count()
    );
}

/// The group may read what the owner may, as for a volume that is read-only.
std::uint32_t mode_of(const planned_file& f, const folder_owner& owner) {
    return owner.group ? f.mode | 0440U : f.mode;
}

outcome<void> write_version(
    const fs::path& dated, const std::vector<planned_file>& files, const folder_owner& owner
) {
    if (const auto made = make_folder(dated, 0755); made.has_error()) {
        return made.error();
    }
    for (const planned_file& f : files) {
        const fs::path path = dated / f.path;
        const auto above = make_folder(path.parent_path(), 0755);
        if (above.has_error()) {
            return above.error();
        }
        if (const auto done = fill(path, f.content, mode_of(f, owner)); done.has_error()) {
            return done.error();
        }
        if (owner.group) {
            // An ordinary user cannot give files to another group; they stay readable as they are.
            static_cast<void>(
                ::lchown(path.c_str(), static_cast<uid_t>(-1), static_cast<gid_t>(*owner.group)) ==
                0
            );
        }
    }
    return outcome<void>();
}

outcome<void> point_link(const fs::path& link, const fs::path& to) {
    std::error_code failed;
    const fs::path next = link.string() + "_tmp";
    fs::remove(next, failed);
    fs::create_symlink(to, next, failed);
    if (!failed) {
        fs::rename(next, link, failed);
    }
    return failed ? outcome<void>(machine_error("link", link, failed)) : outcome<void>();
}

/// A link for the first part of each path; links to what is no more there go.
outcome<void> link_names(const fs::path& folder, const std::vector<planned_file>& files) {
    std::set<std::string> wanted;
    for (const planned_file& f : files) {
        wanted.insert(fs::path(f.path).begin()->string());
    }
    std::error_code failed;
    for (const std::string& name : wanted) {
        if (!fs::is_symlink(fs::symlink_status(folder / name, failed))) {
            const auto linked = point_link(folder / name, fs::path("..data") / name);
            if (linked.has_error()) {
                return linked.error();
            }
        }
    }
    for (const auto& entry : fs::directory_iterator(folder, failed)) {
        const std::string name = entry.path().filename().string();
        if (!name.starts_with("..") && !wanted.contains(name)) {
            fs::remove(entry.path(), failed);
        }
    }
    return outcome<void>();
}

}  // namespace

outcome<void> make_folder(const fs::path& path, std::uint32_t mode) {
    std::error_code failed;
    const fs::path above = path.parent_path();
    if (!above.empty() && !fs::exists(above, failed)) {
        if (const auto made = make_folder(above, 0755); made.has_error()) {
            return made;
        }
    }
    fs::create_directory(path, failed);
    if (failed) {
        return machine_error("mkdir", path, failed);
    }
    return ::chmod(path.c_str(), mode) == 0 ? outcome<void>()
                                            : outcome<void>(machine_error("chmod", path, errno));
}

std::optional<std::string> read_file(const fs::path& path, std::size_t limit) {
    const descriptor from(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (from.number() < 0) {
        return std::nullopt;
    }
    std::string out(limit, '\0');
    std::size_t have = 0;
    while (have < limit) {
        const ssize_t n = ::read(from.number(), out.data() + have, limit - have);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return std::nullopt;
        }
        if (n == 0) {
            break;
        }
        have += static_cast<std::size_t>(n);
    }
    out.resize(have);
    return out;
}

outcome<void> write_file(const fs::path& path, std::string_view content, std::uint32_t mode) {
    const fs::path next = path.string() + ".new";
    if (const auto done = fill(next, content, mode); done.has_error()) {
        return done.error();
    }
    std::error_code failed;
    fs::rename(next, path, failed);
    return failed ? outcome<void>(machine_error("rename", path, failed)) : outcome<void>();
}

outcome<void> write_volume(
    const fs::path& folder,
    const std::vector<planned_file>& files,
    const folder_owner& owner,
    std::chrono::system_clock::time_point now
) {
    if (const auto made = make_folder(folder, owner.mode); made.has_error()) {
        return made.error();
    }
    if (is_as_planned(folder, files)) {
        return outcome<void>();
    }
    std::error_code failed;
    const fs::path before = fs::read_symlink(folder / "..data", failed);
    const std::string name = dated_name(now);
    const fs::path dated = folder / name;
    auto done = write_version(dated, files, owner);
    if (done.has_value()) {
        done = point_link(folder / "..data", name);
    }
    if (done.has_error()) {
        fs::remove_all(dated, failed);
        return done.error();
    }
    if (const auto linked = link_names(folder, files); linked.has_error()) {
        return linked.error();
    }
    if (!before.empty() && before != name) {
        fs::remove_all(folder / before, failed);
    }
    return outcome<void>();
}

}  // namespace signalbox::op::kubelet
