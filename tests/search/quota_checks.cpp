// SPDX-License-Identifier: Apache-2.0
//
// Quota that a scheduler gives: who may run by it, and that it is given back.
#include "checks.hpp"
#include "configurations.hpp"
#include "engine/facts/ledger.hpp"
#include "engine/facts/reasons.hpp"
#include "gang.hpp"
#include "kueue/workload.hpp"
#include "process.hpp"
#include "property/rules.hpp"
#include "property/server_side.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

namespace signalbox::search {

using namespace core;

namespace {

namespace workload = test::workload;

/// It may still run, as far as anybody can know.
bool takes_quota(const world& w, const pod_record& pod) {
    return !test::has_ended(pod) && pod.attempt != gone_attempt && !is_stuck(w, pod);
}

/// What the process sees of the object that asks for quota; null: nothing.
const child_record* shown_object(const sight& shown) {
    const auto it =
        std::ranges::find_if(shown.children, [](const child_record* c) { return is_of_quota(*c); });
    return it == shown.children.end() ? nullptr : *it;
}

bool lets_run(const child_record& object) {
    const quota_answer& says = *object.gang->quota;
    return says.admitted && !says.evicted && !says.finished && !object.deleting;
}

/// Pods that are to go stop before quota is given back; of a job that has ended others may stay.
void check_given_back(const world& w, const action& a, bool at_end, violations& out) {
    const sight shown(w);
    for (const pod_record* pod : shown.pods) {
        if (takes_quota(w, *pod) && (pod->deletion || !at_end)) {
            out.push_back(fmt::format("8.13 {} gives quota back that {} takes", a.name, pod->name));
            return;
        }
    }
}

class rest_check {
public:
    rest_check(
        const world& w, const child_record* object, const quota_answer* says, violations& out
    )
        : w_(w), s_(w.job->status), object_(object), says_(says), out_(out) {}

    void run() {
        if (is_final(s_.phase)) {
            check_end();
        } else if (s_.phase == job_phase::paused) {
            check_pause();
        } else if (w_.has_plan()) {
            check_active();
        }
    }

private:
    bool any_pod(bool stopping) const {
        return std::ranges::any_of(w_.pods, [&](const pod_ptr& p) {
            return takes_quota(w_, *p) && (p->deletion || !stopping);
        });
    }

    void check_end() {
        if (says_ != nullptr && !says_->finished && !any_pod(/*stopping=*/true)) {
            out_.push_back("8.13 a job that has ended keeps its quota, or its place");
        }
    }

    void check_pause() {
        const bool wanted =
            w_.spec.pause;  // else the invalid specification keeps it as it is (4.2)
        if (wanted && says_ != nullptr && !any_pod(/*stopping=*/false)) {
            out_.push_back("8.13 a paused job keeps its quota, or its place");
        }
    }

    void check_active() {
        const bool served = w_.served.of(gang_kind(w_)) == served::yes;
        const bool reserved = says_ != nullptr && says_->reserved && !says_->finished;
        if (!reserved && served && any_pod(/*stopping=*/false)) {
            out_.push_back("8.11 pods run without quota");
        }
        if (reserved && says_->evicted && served && !any_pod(/*stopping=*/false)) {
            out_.push_back("8.13 an eviction is not answered");
        }
        if (reserved && says_->admitted && !says_->evicted && served && !s_.admission &&
            !any_pod(/*stopping=*/false)) {
            out_.push_back("8.12 an admission is not on record");
        }
        check_explained();
        if (reserved && s_.phase == job_phase::running && w_.dead_nodes.empty() && served) {
            check_running();
        }
    }

    /// Kueue's own words.
    void check_explained() {
        const condition* running = find_condition(s_, "Running");
        if (!engine::says(s_.reason, engine::reason::waiting_for_quota) || running == nullptr ||
            object_ == nullptr) {
            return;
        }
        const std::string& words = object_->gang->words;
        const bool gives_back = says_->admitted && !says_->evicted;
        const bool told = gives_back
                              ? running->message.find("gives its quota back") != std::string::npos
                              : !words.empty() && running->message.find(words) != std::string::npos;
        if (!told) {
            out_.push_back("8.11 a job waits for quota and does not say why: " + running->message);
        }
    }

    void check_running() {
        for (const quota_answer::pod_set& set : says_->sets) {
            const task_status* task = engine::find_task(s_, set.type);
            const std::int32_t wanted = task == nullptr ? 0 : task->wanted;
            if (set.count - set.reclaimed > wanted - engine::replicas_ended(s_, set.type)) {
                out_.push_back("8.14 quota is kept for replicas of which nothing is expected");
            }
        }
        const bool all_run = std::ranges::all_of(w_.pods, [&](const pod_ptr& p) {
            return p->attempt == s_.attempt && (p->ready || p->phase == pod_phase::succeeded);
        });
        if (all_run && !says_->ready) {
            out_.push_back("8.14 Kueue is not told that all pods are ready");
        }
    }

    const world& w_;
    const job_status& s_;
    const child_record* object_;
    const quota_answer* says_;
    violations& out_;
};

}  // namespace

void check_admitted(const world& w, const job_object& decided, const action& a, violations& out) {
    if (!gives_quota(w)) {
        return;
    }
    const sight shown(w);
    const child_record* object = shown_object(shown);
    if (object == nullptr || !lets_run(*object)) {
        out.push_back("8.11 " + a.name + " is made without quota");
        return;
    }
    const quota_answer& says = *object->gang->quota;
    const auto& admission = decided.status.admission;
    if (!admission || admission->uid != object->uid || admission->since != says.since) {
        out.push_back("8.12 " + a.name + " is made before its admission is on record");
    }
    const std::string& type = decided.compiled->plan->types[a.pod()->type].name;
    const auto taken = std::ranges::count_if(shown.pods, [&](const pod_record* p) {
        return p->type == type && takes_quota(w, *p);
    });
    const quota_answer::pod_set* set = says.find(type);
    if (set == nullptr || taken + 1 > set->count - set->reclaimed) {
        out.push_back(fmt::format("8.11 {} is made beyond the quota of {}", a.name, type));
    }
}

void check_gang_object(const world& w, const child_record& made, violations& out) {
    if (made.owner_uid != w.job->meta.uid ||
        w.gang_text->find(R"("finalizers")") != std::string::npos) {
        out.push_back("8.11 " + made.name + " does not go with the job");
    }
}

void check_quota_write(const world& w, const action& a, violations& out) {
    const quota_answer* says = quota_of(w);
    if (says == nullptr || w.children[*find_gang_object(w)]->uid != a.uid()) {
        return;
    }
    if (a.what() == verb::remove) {
        if (says->reserved && !says->finished) {
            check_given_back(w, a, /*at_end=*/false, out);
        }
        return;
    }
    const auto after = test::patched(*w.gang_text, a.body(), a.subresource());
    if (!after) {
        return;
    }
    const std::string why_not = workload::objection(*w.gang_text, *after, !a.subresource().empty());
    if (!why_not.empty()) {
        out.push_back("8.13 " + why_not);
    }
    const bool finishes = workload::told(*after, "Finished") == "True" && !says->finished;
    const bool releases = says->reserved && workload::told(*after, "QuotaReserved") != "True";
    if (finishes || releases) {
        check_given_back(w, a, finishes, out);
    }
}

void check_quota_at_rest(const world& w, violations& out) {
    if (!gives_quota(w)) {
        return;
    }
    const auto i = find_gang_object(w);
    rest_check(w, i ? w.children[*i].get() : nullptr, quota_of(w), out).run();
}

}  // namespace signalbox::search
