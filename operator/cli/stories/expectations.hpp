// SPDX-License-Identifier: Apache-2.0
//
// What a story may expect, a row for each member of `expect`: how it is read, and how it is
// compared with what there is.
#pragma once

#include "cli/stories/cast.hpp"
#include "cli/stories/cluster.hpp"
#include "cli/stories/story.hpp"

#include <jobcore/observed.hpp>
#include <jobcore/status.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::op::stories {

/// A pod of the job as it was last seen.
struct cast_pod {
    std::string replica;
    core::pod_record record;
    std::string json;

    /// Neither ended nor terminating.
    bool active() const;
};

/// What is there at one moment.
struct scene {
    core::instant now{};
    core::milliseconds slack{};  ///< cluster::slack()
    bool deleted = false;        ///< the job
    rapidjson::Document job;
    core::job_status status;
    std::vector<child_object> children;
    std::vector<cast_pod> pods;  ///< of each replica the newest one, by replica
    std::vector<told_event> events;
    std::span<const done_action> actions;  ///< of the step
    std::vector<core::explain_line> explained;
};
scene look_at(cluster& stage, std::size_t actions_before);

/// The text with the hash in the names of the job's children (BEHAVIOUR.md 1.1) for each `HASH`: it
/// goes by the UID, which a story does not choose.
std::string with_hash(std::string text, std::string_view job_json);

/// What was expected and is not so.
struct mismatch {
    std::string pointer;  ///< of the value in the file
    std::string expected, found;
    std::string found_json;  ///< what would be right in the file; empty: no single value
};

struct expectation_row {
    std::string_view name;
    void (*read
    )(const json_value& wanted, const std::string& pointer, problems& into, const cast& known);
    void (*compare
    )(const json_value& wanted,
      const std::string& pointer,
      const scene& there,
      std::vector<mismatch>& into);
};

/// Reads a mapping `expect`; `within` is set if it has one.
std::vector<expectation> read_expectations(
    const json_value& expect,
    const std::string& pointer,
    problems& into,
    const cast& known,
    core::milliseconds& within
);

/// All that is not so; empty if everything is as expected.
std::vector<mismatch> compare(std::span<const expectation> expected, const scene& there);

/// Whether all of `wanted` is in `found`: members of mappings, items of lists in their order,
/// scalars that are equal; null: it is not there. What is not goes to `into`.
void compare_subset(
    const json_value& wanted,
    const json_value* found,
    const std::string& pointer,
    std::vector<mismatch>& into
);

}  // namespace signalbox::op::stories
