// SPDX-License-Identifier: Apache-2.0
//
// The jobs that most stories of the engine are about.
#pragma once

#include "signalbox_test/world.hpp"

#include <string>

namespace signalbox::test {

/// Plain mode: a master and workers.
inline job_builder ddp(int workers = 2, const std::string& restart = "OnFailure") {
    return job_builder("mnist").replicas("master", 1, restart).replicas("worker", workers, restart);
}

/// torchrun over c10d; index 0 hosts the store.
inline job_builder c10d(int nodes = 3, int max_restarts = 3) {
    return job_builder("mnist").replicas("node", nodes).torchrun(max_restarts);
}

}  // namespace signalbox::test
