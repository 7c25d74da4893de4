// SPDX-License-Identifier: Apache-2.0
//
// Which resource of the API server each kind of object is, and which kinds the controller watches.
// All follows from the library's list of kinds.
#pragma once

#include "jobcore/observed.hpp"
#include "jobcore/plan.hpp"
#include "k8sio/resource.hpp"

#include <span>
#include <string>
#include <string_view>

namespace signalbox::op {

/// Label selector of what the controller watches: its own children only, so that foreign objects
/// never cross the wire. A child that lost this label is seen by live reads only.
inline constexpr std::string_view children_selector = "app.kubernetes.io/managed-by=signalbox";
/// An object with that label and nothing else.
inline constexpr std::string_view children_label_json =
    R"({"metadata":{"labels":{"app.kubernetes.io/managed-by":"signalbox"}}})";

enum class watched {
    always,     ///< every API server serves the kind
    if_served,  ///< an extension: discovery says whether it is there (BEHAVIOUR.md 8.4, 9.1)
    by_name,    ///< read by name when it matters (BEHAVIOUR.md 2.10)
};

/// One kind of child that the controller keeps a view of.
struct watched_kind {
    core::object_kind kind;
    const k8sio::resource_type* type;
    watched when = watched::always;
};

/// Kinds of children but pods, which have a store of their own.
std::span<const watched_kind> watched_children();

/// The resource of a child kind, or of a job of `job` for object_kind::job. A constant.
const k8sio::resource_type& type_of(core::object_kind kind, core::job_kind job);
const k8sio::resource_type& type_of(core::job_kind job);

/// True for versions of one resource: what has one of them the server has in all that it serves.
bool is_same_resource(const k8sio::resource_type& a, const k8sio::resource_type& b);

}  // namespace signalbox::op
