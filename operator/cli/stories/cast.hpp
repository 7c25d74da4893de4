// SPDX-License-Identifier: Apache-2.0
//
// Which replicas a job has, over all the sizes that a story gives it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace signalbox::op::stories {

class cast {
public:
    /// Takes the sizes of this job, as far as its specification is right. False if it is not.
    bool add(std::string_view job_json);
    /// Why there is no such replica, and which there are; empty if there is.
    std::string complaint(std::string_view replica) const;

private:
    std::map<std::string, std::int32_t> most_;  ///< by type
};

}  // namespace signalbox::op::stories
