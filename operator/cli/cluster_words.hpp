// SPDX-License-Identifier: Apache-2.0
//
// Words of a cluster that a shell may complete. A server that does not answer within seconds has
// none, and nothing complains.
#pragma once

#include "cli/commands.hpp"

#include <string>
#include <vector>

namespace signalbox::op::cli {

struct cluster_word {
    std::string word;
    std::string what;
};

/// Jobs by name, with kind and phase. `ns`: empty: that of the context.
std::vector<cluster_word> jobs_of(const cluster_options& cluster, const std::string& ns);
std::vector<cluster_word> namespaces_of(const cluster_options& cluster);

}  // namespace signalbox::op::cli
