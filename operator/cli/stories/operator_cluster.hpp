// SPDX-License-Identifier: Apache-2.0
//
// The whole operator on an embedded API server, for programs that have one. The program for a
// cluster has none: there nothing is registered.
#pragma once

#include "cli/stories/cluster.hpp"

#include <memory>

namespace signalbox::op::stories {

using cluster_maker = std::unique_ptr<cluster> (*)(const story& of);

/// Null if this program has no API server of its own.
cluster_maker operator_cluster_maker();

/// A constant of the file that defines the maker registers it.
class registered_cluster {
public:
    explicit registered_cluster(cluster_maker maker);
};

}  // namespace signalbox::op::stories
