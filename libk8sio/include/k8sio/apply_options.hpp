// SPDX-License-Identifier: Apache-2.0
//
// How an object is applied, and what comes of it (REQUIREMENTS.md X6).
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace signalbox::k8sio {

/// Who applies an object, and how firmly.
class apply_options {
public:
    apply_options() = default;
    explicit apply_options(std::string field_manager) : manager(std::move(field_manager)) {}

    /// Who wants the fields. Use the same name each time: fields of the last apply under this name
    /// that are left out now are removed. Empty: client_options::manager.
    std::string manager;
    /// Takes fields over that other managers own. A controller that owns its objects sets it.
    bool force = false;
    /// `status`, `scale` or empty.
    std::string subresource;
};

/// A field that another manager owns with another value.
struct apply_conflict {
    std::string manager;  ///< its name; empty if the server did not say it
    std::string field;    ///< path, as `.spec.replicas`
    std::string message;  ///< the server's
    bool operator==(const apply_conflict&) const = default;
};

/// What came of an apply: the object, or the conflicts for which nothing was changed.
class apply_outcome {
public:
    apply_outcome() = default;
    bool applied() const { return conflicts.empty(); }

    std::string object;  ///< as the server has it now; empty if there are conflicts
    std::vector<apply_conflict> conflicts;
};

}  // namespace signalbox::k8sio
