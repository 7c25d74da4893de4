// SPDX-License-Identifier: Apache-2.0
//
// Stories from files. README.md describes what they may have.
#pragma once

#include "cli/stories/story.hpp"

#include <span>
#include <string>
#include <vector>

namespace signalbox::op::stories {

struct read_stories {
    std::vector<story> stories;                 ///< by file
    std::vector<manifests::read_error> errors;  ///< of all files at once
};

/// Reads files and folders (manifests::read_paths), each document a story.
read_stories read_story_files(std::span<const std::string> paths);

/// The job with what an API server adds to it when it is created.
std::string as_created(std::string job_json);

}  // namespace signalbox::op::stories
