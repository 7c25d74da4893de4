// SPDX-License-Identifier: Apache-2.0
//
// A story from a recording, as a starting point: the job as it is written, incidents as far as the
// status tells of them, and the state that it was in as what is expected.
#pragma once

#include "cli/recording.hpp"

#include <string>

namespace signalbox::op::stories {

/// YAML, a document beginning with `---`.
std::string story_of(const cli::recorded_job& recorded);

}  // namespace signalbox::op::stories
