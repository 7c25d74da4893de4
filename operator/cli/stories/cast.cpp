// SPDX-License-Identifier: Apache-2.0
#include "cli/stories/cast.hpp"

#include <jobcore/decide.hpp>
#include <jobcore/strings.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace signalbox::op::stories {

bool cast::add(std::string_view job_json) {
    const auto job = core::read_job(job_json);
    if (!job || !job->compiled->plan) {
        return false;
    }
    for (const core::type_plan& type : job->compiled->plan->types) {
        std::int32_t& most = most_[type.name];
        most = std::max(most, type.wanted);
    }
    return true;
}

std::string cast::complaint(std::string_view replica) const {
    if (most_.empty()) {
        return {};  // no specification is right: nothing is known
    }
    const std::size_t dash = replica.rfind('-');
    const bool has_index = dash != std::string_view::npos;
    const auto row = has_index ? most_.find(std::string(replica.substr(0, dash))) : most_.end();
    const auto index = has_index ? core::read_whole_number(replica.substr(dash + 1)) : std::nullopt;
    if (row != most_.end() && index && *index < row->second) {
        return {};
    }
    std::string there;
    for (const auto& [type, most] : most_) {
        if (most > 0) {
            there += fmt::format("{}{}-0", there.empty() ? "" : ", ", type);
            there += most > 1 ? fmt::format(" to {}-{}", type, most - 1) : "";
        }
    }
    return fmt::format("the job has no replica `{}`; there are: {}", replica, there);
}

}  // namespace signalbox::op::stories
