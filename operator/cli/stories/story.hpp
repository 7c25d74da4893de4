// SPDX-License-Identifier: Apache-2.0
//
// A story: a job, what happens to it, and what is expected of the operator. As data, read from a
// file; README.md describes the form.
#pragma once

#include "cli/stories/strict_reader.hpp"
#include "manifests/manifest.hpp"

#include <jobcore/object_kind.hpp>
#include <jobcore/observed.hpp>
#include <jobcore/policy.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::op::stories {

inline constexpr std::string_view story_version = "story.signalbox/v1";
inline constexpr std::string_view story_kind = "Story";

/// What can happen. The names that files have are in the table of story_reader.cpp.
enum class verb {
    run,
    wait,
    starts,
    fails,
    succeeds,
    evicted,
    vanishes,
    stays_terminating,
    node_lost,
    cannot_start,
    unschedulable,
    edit,
    annotate,
    refuse,
    remove,
    change,
    serve,
    restart_operator,
};

/// Writes that the API server refuses.
struct refusal_rule {
    std::optional<core::object_kind> kind;  ///< nothing: of every kind
    std::string verb;                       ///< `create`, `patch`; empty: both
    std::string name;                       ///< of the object; empty: every one
    std::string replica;                    ///< of the pod, `worker-1`; empty: every one
    int code = 403;
    std::string reason = "Forbidden";
    std::string message;
    std::int32_t times = 1;  ///< negative: always
};

/// Something that happens. Which members count, its verb says.
struct story_event {
    verb what = verb::wait;
    std::string pointer;                ///< of the value in the file
    std::vector<std::string> replicas;  ///< `worker-1`
    std::int32_t code = 1;
    std::string reason, message, log;
    std::optional<core::milliseconds> span;
    std::string patch;       ///< a merge patch, JSON
    std::string refused;     ///< what the refusal of an edit says; empty: none is expected
    core::object_kind kind;  ///< of an object
    std::string name;        ///< of it; empty: the only one of its kind
    std::vector<core::object_kind> kinds;
    refusal_rule refusal;
};

struct expectation_row;

/// Something that is expected. `wanted` lives as long as the story.
struct expectation {
    const expectation_row* row = nullptr;
    std::string pointer;
    const json_value* wanted = nullptr;
};

struct story_step {
    std::string pointer;
    std::vector<story_event> events;  ///< at one instant; all of one verb
    std::vector<expectation> expects;
    core::milliseconds within{};  ///< how long what is expected may take
};

struct story {
    std::string title;
    std::vector<std::string> rules;  ///< as they are cited
    std::string job;                 ///< JSON, as the API server has it when it is created
    core::policy policy;
    core::capabilities served;
    /// How long after its creation a pod starts; nothing: when the story says so.
    std::optional<core::milliseconds> start_after = core::seconds(1);
    /// Edits are checked as the webhook does, before the server takes them.
    bool validates = true;
    bool engine_only = false;  ///< a whole operator shows something else
    bool has_logs = false;
    std::vector<story_step> steps;

    std::shared_ptr<const manifests::manifest> source;
    std::shared_ptr<const rapidjson::Document> document;
};

/// The moment at which each story begins.
core::instant story_begin();

}  // namespace signalbox::op::stories
