// SPDX-License-Identifier: Apache-2.0
//
// Explanations in thousands of generated situations: what is said is what is decided.
#include "engine/facts/reasons.hpp"
#include "jobcore/explain.hpp"
#include "property/story.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <string>
#include <vector>

using namespace signalbox::core;
using signalbox::test::cluster;
using signalbox::test::draw_story;
using signalbox::test::happen;
using signalbox::test::story;

namespace {

constexpr std::uint64_t stories = 120;
constexpr int steps_per_story = 24;

/// What a cluster shows, or a recording of it, which knows no refusals.
class view {
public:
    view(const cluster& c, bool recorded) : c_(&c) {
        for (const pod_record& p : c.pods) {
            pods_.push_back(&p);
        }
        for (const child_record& child : c.children) {
            children_.push_back(&child);
        }
        if (!recorded) {
            refusals_ = c.refusals;
        }
    }

    std::vector<explain_line> explained() const {
        return explain(c_->job, seen(), c_->rules, c_->now);
    }
    decision decided() const { return decide(c_->job, seen(), c_->rules, c_->now); }
    void turn_around() {
        std::ranges::reverse(pods_);
        std::ranges::reverse(children_);
        std::ranges::reverse(refusals_);
    }

private:
    observed seen() const { return {pods_, children_, refusals_, c_->absences, c_->served}; }

    const cluster* c_;
    std::vector<const pod_record*> pods_;
    std::vector<const child_record*> children_;
    std::vector<refusal> refusals_;
};

bool is_action(const explain_line& line) {
    if (line.section != explain_section::actions) {
        return false;
    }
    return std::ranges::any_of(
        std::vector<std::string>{"Create ", "Patch ", "Delete ", "Ask the API server whether "},
        [&](const std::string& verb) { return line.sentence.starts_with(verb); }
    );
}

bool says(const std::vector<explain_line>& lines, std::string_view text) {
    return std::ranges::any_of(lines, [&](const explain_line& line) {
        return line.sentence.find(text) != std::string::npos;
    });
}

std::string text_of(const std::vector<explain_line>& lines) {
    std::string out;
    for (const explain_line& line : lines) {
        out += std::string(to_string(line.section)) + ": " + line.sentence + "\n";
    }
    return out;
}

/// The sentences of any situation.
void check_form(const std::vector<explain_line>& lines) {
    CHECK_FALSE(lines.empty());
    CHECK(std::ranges::is_sorted(lines, {}, &explain_line::section));
    for (const explain_line& line : lines) {
        CHECK(line.sentence.ends_with('.'));
        CHECK_FALSE(line.sentence.ends_with(".."));
        CHECK(line.sentence.find('\n') == std::string::npos);
    }
}

/// What is said of the actions is what the decision returns, one line for each.
void check_actions(const std::vector<explain_line>& lines, const decision& d) {
    std::ptrdiff_t actions = 0;
    for (const stage& s : d.stages) {
        for (const action& a : s) {
            ++actions;
            const auto told = std::ranges::count_if(lines, [&](const explain_line& line) {
                return is_action(line) && line.rule == a.rule &&
                       line.sentence.find(a.name) != std::string::npos &&
                       line.sentence.find(a.why) != std::string::npos;
            });
            CHECK(told >= 1);
        }
    }
    if (actions > 0) {
        CHECK(std::ranges::count_if(lines, is_action) == actions);
    }
    const bool idle = !d.status && actions == 0;
    CHECK(says(lines, "Nothing: all that can be done now is done") == idle);
}

void check_phase(const std::vector<explain_line>& lines, const cluster& c, const decision& d) {
    if (!d.status || d.stages.empty()) {
        return;  // else the next decision follows in the text
    }
    // A refusal that has just ended looks like one that a recording lacks: what is recorded stands.
    if (c.refusals.empty() && says(lines, "is not in the record")) {
        return;
    }
    const bool changes =
        d.status->phase != c.job.status.phase || d.status->reason != c.job.status.reason;
    CHECK(says(lines, "By what is observed now it becomes") == changes);
}

}  // namespace

TEST_CASE("explanations say what is decided, in any situation", "[explain][property]") {
    int situations = 0;
    for (std::uint64_t seed = 1; seed <= stories; ++seed) {
        const story s = draw_story(seed, steps_per_story);
        cluster c(s.job);
        for (const auto& step : s.steps) {
            happen(c, step);
            view whole(c, /*recorded=*/false);
            const auto lines = whole.explained();
            const decision d = whole.decided();
            INFO("seed " << seed << "\n" << text_of(lines));
            check_form(lines);
            const bool left_alone =
                c.job.meta.deletion_time.has_value() || lines.front().rule == "behaviour 2.9";
            if (!left_alone) {
                check_actions(lines, d);
                check_phase(lines, c, d);
            }
            whole.turn_around();
            CHECK(whole.explained() == lines);
            check_form(view(c, /*recorded=*/true).explained());
            c.carry_out(d);
            ++situations;
            if (c.job_deleted) {
                break;
            }
        }
    }
    CHECK(situations > 1000);
}
