// SPDX-License-Identifier: Apache-2.0
#include "jobcore/carry_out.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace signalbox::core {
namespace {

template <class Matches>
bool is_asked(const decision& made, Matches matches) {
    return std::ranges::any_of(made.stages, [&](const stage& actions) {
        return std::ranges::any_of(actions, matches);
    });
}

auto find_refusal(auto& refusals, const action& a) {
    return std::ranges::find_if(refusals, [&](const refusal& r) { return is_refusal_of(r, a); });
}

}  // namespace

answer::refused answer::by_other_owner() {
    return {
        409,
        "AlreadyExists",
        "an object of this name belongs to another owner",
        /*foreign_owner=*/true};
}

answer::refused answer::by_other_content() {
    refused out = by_other_owner();
    out.message = "an object of this name has content that is not the operator's";
    out.foreign_content = true;
    return out;
}

work_order job_answers::begin(const decision& made, const job_status& stored) {
    forget_unasked(made);
    return {*this, made, made.status && !made.deferrable() && *made.status != stored};
}

const refusal* job_answers::find(const action& a) const {
    const auto known = find_refusal(refusals_, a);
    return known == refusals_.end() ? nullptr : &*known;
}

void job_answers::forget_unasked(const decision& made) {
    std::erase_if(refusals_, [&](const refusal& r) {
        return !is_asked(made, [&](const action& a) { return is_refusal_of(r, a); });
    });
    if (!is_asked(made, [](const action& a) { return a.what() == verb::confirm; })) {
        absences_.clear();
    }
    // What was made comes into view at once and is recorded as seen: then it is known.
    const bool makes_pods = is_asked(made, [](const action& a) { return a.pod() != nullptr; });
    if (!made.status && !makes_pods) {
        admitted_ = {};
    }
    if (!made.keeps_logs) {
        logs_.clear();
    }
    const auto reads = [](const action& a) {
        return std::holds_alternative<read_object>(a.request);
    };
    if (!readings_.empty() && !is_asked(made, reads)) {
        readings_.clear();
    }
}

void job_answers::admit(std::uint64_t content) {
    constexpr std::size_t most = 256;
    if (std::ranges::find(admitted_, content) != admitted_.end()) {
        return;
    }
    if (admitted_.size() == most) {
        admitted_.erase(admitted_.begin());
    }
    admitted_.push_back(content);
}

void job_answers::forget_refusal(const action& a) {
    std::erase_if(refusals_, [&](const refusal& r) { return is_refusal_of(r, a); });
}

void job_answers::add(const action& a, answer::refused no, instant now) {
    const auto known = find_refusal(refusals_, a);
    const bool fresh = known == refusals_.end();
    refusal& r = fresh ? refusals_.emplace_back(refusal_of(a, now)) : *known;
    r.count += fresh ? 0 : 1;
    r.last = now;
    r.http_code = no.http_code;
    r.reason = std::move(no.reason);
    r.message = std::move(no.message);
    r.foreign_owner = no.foreign_owner;
    r.foreign_content = no.foreign_content;
    r.namespace_terminating = no.namespace_terminating;
}

const action* work_order::next(instant now) {
    while (!unrecorded_ && stage_ < made_->stages.size()) {
        const stage& actions = made_->stages[stage_];
        while (next_ < actions.size()) {
            const action& a = actions[next_++];
            if (a.not_before && *a.not_before > now) {
                complete_ = false;
                continue;
            }
            ++open_;
            return &a;
        }
        if (open_ > 0 || !complete_) {
            return nullptr;
        }
        ++stage_;
        next_ = 0;
    }
    return nullptr;
}

void work_order::note(const action& a, outcome what, instant now) {
    --open_;
    if (auto* no = std::get_if<answer::refused>(&what)) {
        complete_ = false;
        answers_->add(a, *std::move(no), now);
        return;
    }
    if (std::holds_alternative<answer::unanswered>(what)) {
        complete_ = false;
        return;
    }
    if (auto* log = std::get_if<answer::said>(&what)) {
        log->what.pod_uid = std::get<read_log>(a.request).pod_uid;
        answers_->logs_.push_back(std::move(log->what));
    }
    if (auto* read = std::get_if<answer::told>(&what)) {
        std::erase_if(answers_->readings_, [&](const object_reading& r) {
            return r.kind == a.kind && r.name == a.name;
        });
        answers_->readings_.push_back({a.kind, a.name, std::move(read->json)});
    }
    answers_->forget_refusal(a);
    acted_ = acted_ || !std::holds_alternative<answer::present>(what);
    if (std::holds_alternative<answer::absent>(what)) {
        answers_->forget_disproved([&](object_kind kind, std::string_view name) {
            return kind == a.kind && name == a.name;  // once in the list
        });
        answers_->absences_.push_back({a.kind, a.name});
    }
}

}  // namespace signalbox::core
