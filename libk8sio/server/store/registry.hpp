// SPDX-License-Identifier: Apache-2.0
//
// Which kinds are served now, and under which group and version.
#pragma once

#include "server/kinds/kind_info.hpp"
#include "server/store/store.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::k8sio::server {

/// A kind under one version, and the table with its objects (shared by all versions of the kind).
struct served_kind {
    std::shared_ptr<const kind_info> info;
    std::shared_ptr<resource_table> table;
};

class registry {
public:
    explicit registry(store& objects) : objects_(&objects) {}

    /// Serves a kind, or replaces what is known of it; objects stay.
    void serve(kind_info kind);
    /// Stops serving every version of a kind and drops its objects.
    void remove(std::string_view group, std::string_view plural);
    /// Stops serving one version.
    void remove_version(std::string_view group, std::string_view version, std::string_view plural);

    /// nullptr if it is not served.
    const served_kind* find(
        std::string_view group, std::string_view version, std::string_view plural
    ) const;
    const std::vector<served_kind>& all() const { return kinds_; }
    bool serves_group(std::string_view group, std::string_view version) const;

private:
    store* objects_;
    std::vector<served_kind> kinds_;
};

}  // namespace signalbox::k8sio::server
