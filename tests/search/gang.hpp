// SPDX-License-Identifier: Apache-2.0
//
// Schedulers of gangs in a world. Kueue gives quota to the job's Workload and takes it away. Those
// of Kubernetes, of coscheduling and of Koordinator place pods of a group once enough of them are
// there, and say nothing until then. Volcano says by the group's phase whether there may be pods.
#pragma once

#include "choices.hpp"
#include "world.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace signalbox::search {

/// What the job's gang is placed by; PodGroup of T9k, where the job has none.
core::object_kind gang_kind(const world& w);
/// The job's scheduler gives quota.
bool gives_quota(const world& w);
/// The group says by its phase whether there may be pods, as those of Volcano do.
bool tells_by_phase(const world& w);
/// The object asks for quota.
bool is_of_quota(const core::child_record& child);
/// The number in world::children of what the gang is placed by.
std::optional<std::size_t> find_gang_object(const world& w);
/// What the server's Workload says; null: there is none.
const core::quota_answer* quota_of(const world& w);

/// The object that is made from a text, of which the server keeps the whole.
core::child_record gang_object_of(world& w, const std::string& text, std::string_view uid);
/// False: it is another version now (409).
bool patch_gang_object(world& w, std::size_t child, const core::action& a);

/// The scheduler does not place it: too few pods of its group are there, or the nodes
/// have no room for as many as have to start together.
bool is_held(const world& w, const core::pod_record& pod);
/// A deletion of it lasts until the last pod of the group is gone.
bool outlives_deletion(const world& w, const core::child_record& child);
/// It is being deleted, and nothing keeps it.
bool can_go(const world& w, const core::child_record& child);

/// Whether this can happen to the Workload, or to its queue: from op::queue_answers to
/// op::open_queue. To a group of Volcano the first of them and op::take_quota: to be enqueued, or
/// not any more.
bool can_befall_quota(const world& w, op what);
void change_quota(world& w, op what);

}  // namespace signalbox::search
