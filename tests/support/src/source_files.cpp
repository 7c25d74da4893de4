// SPDX-License-Identifier: Apache-2.0
#include "signalbox_test/source_files.hpp"

#include <fstream>
#include <sstream>
#include <stdexcept>

namespace signalbox::test {

std::string source_path(std::string_view file) {
    return std::string(SIGNALBOX_SOURCE_DIR "/").append(file);
}

std::string source_text(std::string_view file) {
    const std::string path = source_path(file);
    std::ifstream in(path, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    if (!in) {
        throw std::runtime_error("cannot read " + path);
    }
    return text.str();
}

}  // namespace signalbox::test
