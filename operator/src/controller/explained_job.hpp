// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jobcore/explain.hpp"

#include <vector>

namespace signalbox::op {

/// A job, and what there is to say of it.
struct explained_job {
    core::job_meta meta;
    core::instant at;
    bool ended = false;
    /// None if its details were let go.
    std::vector<core::explain_line> lines;
};

}  // namespace signalbox::op
