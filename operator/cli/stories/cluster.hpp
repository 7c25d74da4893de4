// SPDX-License-Identifier: Apache-2.0
//
// Where a story is played: something that has a job with its children, does what the operator does
// about them, and whose time moves only when it is told to.
#pragma once

#include "cli/stories/story.hpp"

#include <jobcore/explain.hpp>
#include <jobcore/time.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace signalbox::op::stories {

/// The story cannot go on, for a reason that people can read.
struct story_stopped : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct told_event {
    core::instant time;
    bool warning = false;
    std::string reason, message;
    std::int32_t count = 1;
};

/// An action that took effect.
struct done_action {
    core::instant time;
    std::string verb, kind, name;
    std::string replica;  ///< of a pod, `worker-1`; else empty
    std::string rule, why;
};

struct timeline_entry {
    core::instant time;
    std::string text;
};

/// A child of the job, as the API server shows it.
struct child_object {
    core::object_kind kind;
    std::string name;
    std::string json;
};

class cluster {
public:
    virtual ~cluster() = default;

    // Time.
    virtual core::instant now() const = 0;
    /// How long the operator may take for what it does at once.
    virtual core::milliseconds slack() const { return {}; }
    /// When the operator acts next though nothing happens; nothing: never.
    virtual std::optional<core::instant> next_due() = 0;
    /// Time goes on, but not past what is due, and what the operator does then is done.
    virtual void go_to(core::instant when) = 0;
    /// All that the operator does at this instant.
    virtual void settle() = 0;

    // What is there.
    /// JSON; empty once it is deleted.
    virtual std::string job() = 0;
    virtual std::vector<child_object> children() = 0;
    virtual std::vector<told_event> events() = 0;
    /// In the order in which they were done.
    virtual const std::vector<done_action>& actions() const = 0;
    virtual std::vector<core::explain_line> explain() = 0;

    // What others do. Each returns before the operator acts on it; the text is why it could not be
    // done, empty if it was.
    /// A merge patch of the whole job.
    virtual std::string change_job(const std::string& patch) = 0;
    /// A merge patch of a child; `status` is taken too.
    virtual std::string change_child(
        core::object_kind kind, const std::string& name, const std::string& patch
    ) = 0;
    /// Deletes it. A pod that stays terminating only gets its deletion timestamp, and goes with
    /// `at_once`, as when its node is removed.
    virtual std::string remove_child(
        core::object_kind kind, const std::string& name, bool at_once
    ) = 0;
    /// The deletion of that pod does not end.
    virtual void stay_terminating(const std::string& pod) = 0;
    virtual void refuse(const refusal_rule& rule) = 0;
    virtual void serve(core::object_kind kind) = 0;
    /// Appends to what the pod's log ends with.
    virtual void write_log(const std::string& pod, const std::string& text) = 0;
    /// The process dies, and another one starts.
    virtual void restart_operator() = 0;

    const std::vector<timeline_entry>& timeline() const { return timeline_; }
    void tell(std::string what) { timeline_.push_back({now(), std::move(what)}); }

private:
    std::vector<timeline_entry> timeline_;
};

/// `worker-1` of a pod's labels; empty if it has none of ours.
std::string replica_of(const core::pod_record& pod);
/// `Pending (RestartDelay)`, of a job's JSON; `deleted` of an empty one.
std::string summary_of(std::string_view job_json);
/// Whether a write is one of those.
bool is_of(const refusal_rule& rule, const done_action& write, core::object_kind kind);

/// The engine alone, on objects in memory: each write succeeds at once unless it is refused.
std::unique_ptr<cluster> make_engine_cluster(const story& of);

}  // namespace signalbox::op::stories
