// SPDX-License-Identifier: Apache-2.0
//
// What a choice does to a world.
#pragma once

#include "choices.hpp"
#include "process.hpp"

namespace signalbox::search {

/// Carries out a choice that all_choices() or natural_choice() gave for this world.
void apply(world& w, const choice& c, outcome& out);

/// The training container of a pod by its type; null if its labels do not tell.
const core::container_record* training_container(const world& w, const core::pod_record& pod);

}  // namespace signalbox::search
