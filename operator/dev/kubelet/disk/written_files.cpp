// SPDX-License-Identifier: Apache-2.0
#include "kubelet/disk/written_files.hpp"

#include <jobcore/strings.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace signalbox::op::kubelet {

namespace {

namespace fs = std::filesystem;

/// Below the root: programs and their settings, and what no restart keeps anywhere.
constexpr std::array<std::string_view, 16> not_looked_at{
    "bin",
    "boot",
    "dev",
    "etc",
    "lib",
    "lib32",
    "lib64",
    "libx32",
    "proc",
    "run",
    "sbin",
    "signalbox",
    "sys",
    "tmp",
    "usr",
    "var"};

bool is_result(const fs::path& inside) {
    const std::string name = inside.filename().string();
    const bool top = inside.parent_path() == "/";
    return !name.starts_with('.') && name != "__pycache__" &&
           !(top && std::ranges::find(not_looked_at, name) != not_looked_at.end());
}

/// Links are not followed: they may lead anywhere.
void look(
    const fs::path& folder, const fs::path& inside, std::size_t most, std::vector<written_file>& to
) {
    std::error_code failed;
    for (fs::directory_iterator it(folder, failed), end; !failed && it != end && to.size() < most;
         it.increment(failed)) {
        const fs::path name = inside / it->path().filename();
        std::error_code unseen;
        const fs::file_status is = it->symlink_status(unseen);
        if (unseen || !is_result(name)) {
            continue;
        }
        if (fs::is_directory(is)) {
            look(it->path(), name, most, to);
        } else if (fs::is_regular_file(is)) {
            const std::uintmax_t size = it->file_size(unseen);
            if (!unseen && size > 0) {
                to.push_back({it->path(), name, size});
            }
        }
    }
}

/// The folder that has them all.
fs::path common_folder(const std::vector<written_file>& files) {
    fs::path out = files.front().inside.parent_path();
    for (const written_file& f : files) {
        const fs::path folder = f.inside.parent_path();
        const auto end = std::ranges::mismatch(out, folder).in1;
        fs::path both;
        for (auto part = out.begin(); part != end; ++part) {
            both /= *part;
        }
        out = both;
    }
    return out;
}

}  // namespace

std::vector<written_file> written_files(const fs::path& changes, std::size_t most) {
    std::vector<written_file> out;
    // Folders of the image, and what lies beside them (containers::root_files).
    for (const char* part : {"upper", "root"}) {
        look(changes / part, "/", most, out);
    }
    std::ranges::sort(out, {}, &written_file::inside);
    return out;
}

std::string words_for(const std::vector<written_file>& files) {
    const written_file& largest = *std::ranges::max_element(files, {}, &written_file::size);
    if (files.size() == 1) {
        return core::in_one_line(largest.inside.string());
    }
    const fs::path folder = common_folder(files);
    const std::size_t more = files.size() - 1;
    return core::in_one_line(fmt::format(
        "{} and {} more file{} below {}",
        largest.inside.lexically_relative(folder).string(),
        more,
        more == 1 ? "" : "s",
        folder.string()
    ));
}

}  // namespace signalbox::op::kubelet
