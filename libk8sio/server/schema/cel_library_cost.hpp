// SPDX-License-Identifier: Apache-2.0
//
// What calls of library functions cost at worst, in the figures of the real server
// (k8s.io/apiserver, pkg/cel/library/cost.go).
#pragma once

#include "server/schema/cel_library.hpp"
#include "server/schema/cel_outcome.hpp"

#include <vector>

namespace signalbox::k8sio::server::cel {

/// Looking at each item of a list, for the largest say, or at each sign of a text. `self`: what the
/// place of the list begins with.
number cost_of_items(const outcome& list, const declared& self);

/// Sets cost and size of a call without what its parts cost. `with`: of a method the object first,
/// as many as the function takes.
void charge(
    const library_function& f, const std::vector<outcome>& with, const declared& self, outcome& out
);

}  // namespace signalbox::k8sio::server::cel
