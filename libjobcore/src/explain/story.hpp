// SPDX-License-Identifier: Apache-2.0
//
// What the sections of an explanation share: the input, the decision on it, and where its pods
// stand. Private to this folder.
#pragma once

#include "engine/view/view.hpp"
#include "jobcore/decide.hpp"
#include "jobcore/explain.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::core::explaining {

struct story {
    const job_object& job;
    const observed& seen;
    const policy& rules;
    instant now;
    /// What the operator does now. Record first, act after (BEHAVIOUR.md 12.3): a decision that
    /// only writes status is followed by the next one, on what the first has recorded.
    std::vector<decision> decisions{};
    /// The status with all of that written.
    job_status after{};
    /// The status tells of a refused write that the input does not know, as in every recording:
    /// refusals live in the operator's memory only.
    bool refusals_unknown = false;
    /// Where the pods stand by `after`; only with a valid specification.
    std::optional<engine::pod_view> view{};
    std::vector<explain_line> out{};

    /// Where the attempt goes by another plan than that of the specification (BEHAVIOUR.md 10.4).
    std::optional<job_plan> began{};

    const job_plan* plan() const {
        if (began) {
            return &*began;
        }
        return job.compiled && job.compiled->plan ? &*job.compiled->plan : nullptr;
    }
    const job_spec* spec() const {
        return job.compiled && job.compiled->spec ? &*job.compiled->spec : nullptr;
    }
    /// `sentence` without its full stop.
    void say(explain_section where, std::string sentence, std::string_view rule = {});
};

/// Calls decide() until it acts or comes to rest.
void decide_all(story& s);

// The sections.
void say_phase(story& s);
void say_awaited(story& s);
void say_next(story& s);
void say_actions(story& s);
void say_history(story& s);
/// Of the history: times and attempts.
void say_attempts(story& s);
void say_specification(story& s);
/// Of a job that is being deleted: in place of all others.
void say_deletion(story& s);

/// `PyTorchTrainingJob team-a/mnist`
std::string name_of(const job_meta& meta);

}  // namespace signalbox::core::explaining
