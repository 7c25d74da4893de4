// SPDX-License-Identifier: Apache-2.0
//
// The order of the rules: the first that applies is recorded, and the others wait for the next
// decision.
#include "engine/rules/rules.hpp"

namespace signalbox::core::engine {
namespace {

using rule = std::optional<record> (*)(const context&, const health&, const open_questions&);

/// When a rule is asked.
enum class when {
    not_ended,  ///< also while the job is paused
    to_pause,   ///< somebody asks for a pause that is not on record
    paused,     ///< the job was paused, and that is no longer asked for
    active,     ///< neither ended nor paused nor to be paused
    certain,    ///< active, and no question is open: what is lost is known, and has settled
};

struct row {
    std::string_view number;  ///< of BEHAVIOUR.md
    when asked;
    bool with_invalid_spec;  ///< also while the specification is invalid (4.2)
    rule apply;
};

constexpr row rules[]{
    {"5.1", when::not_ended, true, end_by_success},
    {"5.1", when::not_ended, true, end_by_deciding_pod},
    {"6.2", when::to_pause, false, judge_before_pause},
    {"6.1", when::to_pause, true, begin_pause},
    {"6.4", when::paused, false, end_pause},
    {"5.12", when::active, true, end_by_deadline},
    {"5.7", when::active, false, begin_first_attempt},
    {"8.15", when::active, false, settle_scheduler},
    {"8.13", when::active, false, follow_quota},
    {"5.6", when::active, false, let_exit_settle},
    {"5.4", when::certain, false, answer_losses},
    {"2.6", when::certain, false, answer_lost_keys},
    {"13.8", when::certain, false, answer_stall},
    {"5.9", when::certain, false, repeat_replicas},
    {"10.4", when::certain, false, follow_types},
    {"7.2", when::certain, false, follow_size},
    {"1.3", when::active, false, rename_stuck},
};

bool is_asked(when w, const context& c, const open_questions& open) {
    const bool active = !c.in.was_paused() && !c.in.plan.paused;
    switch (w) {
        case when::not_ended:
            return true;
        case when::to_pause:
            return !c.in.was_paused() && c.in.plan.paused;
        case when::paused:
            return c.in.was_paused() && !c.in.plan.paused;
        case when::active:
            return active;
        case when::certain:
            return active && !open.any();
    }
    return false;
}

}  // namespace

std::optional<record> first_record(const context& c, const health& h, const open_questions& open) {
    if (is_final(c.status.phase)) {
        return std::nullopt;
    }
    for (const row& r : rules) {
        if (is_asked(r.asked, c, open) && (r.with_invalid_spec || !c.in.invalid)) {
            if (auto found = r.apply(c, h, open)) {
                return found;
            }
        }
    }
    return std::nullopt;
}

}  // namespace signalbox::core::engine
