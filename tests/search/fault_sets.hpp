// SPDX-License-Identifier: Apache-2.0
//
// What may befall a job in one configuration. A set is small, so that several of its faults in a
// row are searched.
#pragma once

#include "choices.hpp"

#include <string_view>
#include <vector>

namespace signalbox::search {

struct fault_set {
    std::string_view name;
    int depth;
    std::vector<op> faults;
};

/// By the name that the rows of jobs use.
const std::vector<fault_set>& fault_sets();

}  // namespace signalbox::search
