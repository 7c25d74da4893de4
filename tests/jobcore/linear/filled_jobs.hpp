// SPDX-License-Identifier: Apache-2.0
//
// Jobs of any size, in which one place holds nearly all bytes: each list and each text of each
// kind, made from the tables, and what somebody may write who means no good.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace signalbox::test {

struct filled_job {
    std::string name;  ///< kind, place and what fills it
    /// The job as JSON, of about so many bytes. The same in every run.
    std::function<std::string(std::size_t bytes)> make;
};

/// For every row of the tables that takes a text, a list or an object of any size: that, filled.
std::vector<filled_job> filled_from_tables();

/// What costs more than its bytes where something is searched for again and again.
std::vector<filled_job> filled_by_hand();

}  // namespace signalbox::test
