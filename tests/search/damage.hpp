// SPDX-License-Identifier: Apache-2.0
//
// What somebody with an editor does to a status and to the labels of pods (BEHAVIOUR.md 1.9, api
// 5.7): every field of the status table, taken away, of another type, out of range, huge, and at
// odds with the rest.
#pragma once

#include "choices.hpp"
#include "world.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace signalbox::search {

/// All ways to damage the status that the job has now, from the table of its kind.
/// Valid until it is asked for another status.
const damage_list& damages_of(const world& w);
void damage_status(world& w, const damage& d);

/// Ways to damage the labels of one pod.
enum class mislabel : std::uint8_t { gone, far_index, other_index, type, attempt, round, count };
std::string_view to_string(mislabel how);
void damage_labels(world& w, std::size_t pod, mislabel how);

/// The pod loses the label by which children are watched: the process does not see it.
void hide_pod(world& w, std::size_t pod);
/// A live read has found it, and the label is put back (BEHAVIOUR.md 1.9, 2.7).
void unhide_pod(world& w, std::string_view name);

}  // namespace signalbox::search
