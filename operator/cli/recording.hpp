// SPDX-License-Identifier: Apache-2.0
//
// A job and its children as an API server showed them, from a file or read live: what `explain` and
// `plan --at` decide on.
#pragma once

#include <jobcore/decide.hpp>

#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace signalbox::op::cli {

/// One object, in any order among the others.
struct recorded_object {
    std::string api_version;
    std::string kind;
    std::string json;
    std::string place;  ///< for messages, e.g. `job.yaml:12:3`
};

/// One job with what belongs to it. Movable; `seen` holds while it is alive and unchanged.
struct recorded_job {
    core::job_object job;
    std::string json;
    std::vector<core::pod_record> pods;
    std::vector<core::child_record> children;
    core::capabilities served;
    /// What was taken for granted, one sentence each.
    std::vector<std::string> notes;

    std::vector<const core::pod_record*> pod_views;
    std::vector<const core::child_record*> child_views;
    core::observed seen() const;
};

struct recording {
    std::vector<recorded_job> jobs;  ///< by kind, namespace, name, UID
    std::vector<std::string> errors;
};

/// What is known of a recording beside its objects.
struct recording_facts {
    /// What discovery said; without it, it is concluded from the objects.
    std::optional<core::capabilities> served;
    /// Kinds of children that were read whole, so that one that is not there does not exist. Of
    /// other kinds nothing is known unless there is an object of it.
    std::set<core::object_kind> complete;
    core::instant now{};
};

/// Sorts objects by the jobs that own them. Objects of other owners and of other kinds are left
/// out; of one object recorded twice the newer counts. Children of a kind that was not recorded at
/// all are taken as there and unchanged while pods of the job are, and a note says so.
recording read_recording(std::span<const recorded_object> objects, const recording_facts& facts);

}  // namespace signalbox::op::cli
