// SPDX-License-Identifier: Apache-2.0
#include "http/changing_file.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>

namespace signalbox::op {

bool changing_file::refresh() {
    if (path_.empty()) {
        return false;
    }
    struct stat facts {};
    if (::stat(path_.c_str(), &facts) != 0) {
        problem_ = fmt::format("{}: {}", path_, std::strerror(errno));
        return false;
    }
    constexpr std::int64_t second = 1'000'000'000;
    const std::int64_t changed_at = facts.st_mtim.tv_sec * second + facts.st_mtim.tv_nsec;
    if (problem_.empty() && changed_at == changed_at_ && facts.st_ino == inode_) {
        return false;
    }
    std::ifstream file(path_, std::ios::binary);
    std::string text;
    std::array<char, 4096> piece{};
    // Not by iterators, which throw where nothing can be read, as from a folder.
    while (file.read(piece.data(), piece.size()) || file.gcount() > 0) {
        text.append(piece.data(), static_cast<std::size_t>(file.gcount()));
    }
    if (!file.is_open() || file.bad()) {
        problem_ = fmt::format("{}: it cannot be read", path_);
        return false;
    }
    problem_.clear();
    changed_at_ = changed_at;
    inode_ = facts.st_ino;
    text_ = std::move(text);
    return true;
}

}  // namespace signalbox::op
