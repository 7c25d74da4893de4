// SPDX-License-Identifier: Apache-2.0
//
// What a container has written into the file system of its image, which goes with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace signalbox::op::kubelet {

struct written_file {
    std::filesystem::path where;   ///< on the machine
    std::filesystem::path inside;  ///< in the container, absolute
    std::uintmax_t size = 0;
};

/// Results of a run that has ended, by name: `changes` is its `root_files::changes`. Left out is
/// what no one would miss: what is empty, links, hidden files and folders (caches), `__pycache__`,
/// and what lies in folders of programs and of what is temporary. No more than `most`.
std::vector<written_file> written_files(const std::filesystem::path& changes, std::size_t most);

/// `/home/me/model.pt`, or `run/model.pt and 3 more files below /home/me`: the largest is named.
/// `files` is not empty.
std::string words_for(const std::vector<written_file>& files);

}  // namespace signalbox::op::kubelet
