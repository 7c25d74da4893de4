// SPDX-License-Identifier: Apache-2.0
//
// What an image says about the processes that run in it: the `config` of the OCI image format.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace signalbox::op::images {

struct image_config {
    std::vector<std::string> entrypoint;  ///< ENTRYPOINT
    std::vector<std::string> command;     ///< CMD
    std::vector<std::pair<std::string, std::string>> env;
    std::string working_dir;  ///< empty: `/`
    std::string user;         ///< name or number, perhaps with a group; empty: root
};

}  // namespace signalbox::op::images
