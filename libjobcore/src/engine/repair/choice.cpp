// SPDX-License-Identifier: Apache-2.0
#include "engine/repair/choice.hpp"

#include "engine/facts/chosen_scheduler.hpp"
#include "engine/view/view.hpp"
#include "gang/scheduler.hpp"
#include "json/job_meta.hpp"

#include <algorithm>
#include <optional>

namespace signalbox::core::engine {
namespace {

/// What asks for the job's quota; null: nothing in view.
const child_record* quota_child(const inputs& in) {
    const auto it = std::ranges::find_if(in.seen.children, [&](const child_record* c) {
        return in.owns(*c) && !c->deleting && c->gang != nullptr && c->gang->quota != nullptr &&
               json::is_queue_name(c->gang->quota->queue);
    });
    return it == in.seen.children.end() ? nullptr : *it;
}

/// Of a job whose status has lost it.
std::string lost_queue(const inputs& in, const child_record* child) {
    const std::string& label = in.job.meta.queue_label;
    const bool needs = asked_scheduler_of(in).is_kueue();
    if (child != nullptr && (needs || child->gang->quota->queue == label)) {
        return child->gang->quota->queue;
    }
    return needs && json::is_queue_name(label) ? label : std::string();
}

/// What can be on record of a job that leaves its scheduler open.
bool can_be_on_record(const json::asked_scheduler& asked, std::string_view chosen) {
    const bool by_auto = !asked.name.empty();
    if (chosen == gang::left_open || chosen == gang::none_chosen || chosen.empty()) {
        return !chosen.empty() || !by_auto;
    }
    const gang::scheduler* by = gang::find_scheduler(chosen);
    return by != nullptr && by->quota == nullptr && (by->by_choice || !by_auto);
}

/// Whose gang all sound pods of the attempt are members of, `first` and the others; null: of none.
/// Nothing: they do not agree, or there are none.
std::optional<const gang::scheduler*> told_by(
    const inputs& in, std::int32_t attempt, const pod_record* first
) {
    const auto agrees = [&](const pod_record* p) {
        return p->gang == first->gang || p->attempt != attempt || !is_sound(in, *p);
    };
    return first != nullptr && std::ranges::all_of(in.seen.pods, agrees)
               ? std::optional(first->gang)
               : std::nullopt;
}

}  // namespace

std::string find_true_queue(const inputs& in, const job_status& s) {
    const json::asked_scheduler asked = asked_scheduler_of(in);
    if (!asked.leaves_queue_open()) {
        const bool is_same = s.queue.empty() || s.queue == asked.queue;
        const bool is_labelled = !asked.queue.empty() && in.job.meta.queue_label == asked.queue;
        return is_same ? s.queue : is_labelled ? in.job.meta.queue_label : std::string();
    }
    const child_record* child = quota_child(in);
    if (child != nullptr && s.admission && s.admission->uid == child->uid) {
        return child->gang->quota->queue;  // no one can change it while quota is reserved
    }
    if (s.queue.empty()) {
        return lost_queue(in, child);
    }
    // Nothing starts before an admission is on record, and what was admitted is there.
    const bool started = s.start_time || find_pod_of(in, s.attempt) != nullptr;
    const bool runs_without = child == nullptr && !s.admission && started;
    return runs_without && !asked.is_kueue() ? std::string() : s.queue;
}

std::string find_true_scheduler(const inputs& in, const job_status& s, std::int32_t attempt) {
    const json::asked_scheduler asked = asked_scheduler_of(in);
    if (!asked.is_open() || !s.queue.empty()) {
        return {};
    }
    const bool by_auto = !asked.name.empty();
    const bool places_nobody =
        s.scheduler == gang::none_chosen || (s.scheduler.empty() && !by_auto);
    const pod_record* first = find_pod_of(in, attempt);
    if (first != nullptr && first->gang == nullptr && places_nobody) {
        return s.scheduler;  // the others could at most disagree
    }
    const auto told = told_by(in, attempt, first);
    if (told && *told != nullptr && can_be_on_record(asked, (*told)->name)) {
        return std::string((*told)->name);
    }
    if (told && *told == nullptr && !places_nobody) {
        const bool chooses = by_auto || in.policy.default_scheduler == gang::left_open;
        return std::string(chooses ? gang::none_chosen : "");
    }
    if (!can_be_on_record(asked, s.scheduler)) {
        return std::string(by_auto ? gang::left_open : "");
    }
    return s.scheduler;
}

bool can_have_admission(const inputs& in, const job_status& s) {
    const gang::scheduler* by = gang::find_scheduler(asked_scheduler_of(in).name);
    return !s.queue.empty() || (by != nullptr && by->quota != nullptr);
}

}  // namespace signalbox::core::engine
