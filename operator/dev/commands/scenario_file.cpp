// SPDX-License-Identifier: Apache-2.0
#include "commands/scenario_file.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

namespace signalbox::op::cli {

bool load_scenario(const std::string& path, pods::scenario& into, std::string& error) {
    if (path.empty()) {
        return true;
    }
    errno = 0;
    std::ifstream in(path, std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    if (!in || text.empty()) {
        error = path + ": cannot be read: " + (errno != 0 ? std::strerror(errno) : "it is empty");
        return false;
    }
    std::optional<pods::scenario> read = pods::read_scenario(text, path, error);
    if (read) {
        into = std::move(*read);
    }
    return read.has_value();
}

}  // namespace signalbox::op::cli
