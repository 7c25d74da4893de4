// SPDX-License-Identifier: Apache-2.0
//
// Which resource of the API server each kind of object is, and which kinds the controller watches:
// the one place to add a kind of child.
#pragma once

#include "jobcore/observed.hpp"
#include "jobcore/plan.hpp"
#include "k8sio/resource.hpp"

#include <span>
#include <string>

namespace signalbox::op {

/// Label selector of what the controller watches: its own children only, so that foreign objects
/// never cross the wire (client.md 4.6). A child that lost this label is seen by live reads only.
inline constexpr std::string_view children_selector = "app.kubernetes.io/managed-by=signalbox";

/// One kind of child that the controller keeps a view of.
struct watched_kind {
    core::object_kind kind;
    const k8sio::resource_type* type;
};

/// Watched kinds of children but pods, which have a store of their own.
std::span<const watched_kind> watched_children();

/// The resource of a child kind, or of a job of `job` for object_kind::job. Lives for ever.
const k8sio::resource_type& type_of(core::object_kind kind, core::job_kind job);
const k8sio::resource_type& type_of(core::job_kind job);

}  // namespace signalbox::op
