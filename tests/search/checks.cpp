// SPDX-License-Identifier: Apache-2.0
#include "checks.hpp"

#include "configurations.hpp"
#include "engine/ledger.hpp"
#include "engine/losses.hpp"
#include "engine/view.hpp"
#include "process.hpp"
#include "property/rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace signalbox::search {

using namespace core;

namespace {

bool is_condition_true(const job_status& s, std::string_view type) {
    const condition* c = find_condition(s, type);
    return c != nullptr && c->status;
}

milliseconds stuck_after(const world& w) {
    const auto& notes = w.set->config().job.annotations;
    const auto it = notes.find("batch.tensorstack.dev/stuck-after");
    return it == notes.end() ? w.set->rules().stuck_after : seconds(std::stoi(it->second));
}

/// One decision with the view it was made on.
class decision_check {
public:
    decision_check(const world& w, const sight& shown, const decision& d, violations& out)
        : w_(w),
          d_(d),
          out_(out),
          before_(w.known_job->status),
          next_(d.status ? *d.status : before_),
          plan_(*w.known_job->compiled->plan),
          absences_(shown.absences),
          view_(engine::make_view(plan_, before_, shown.observed(), stuck_after(w), w.now)) {}

    void run() {
        find_missing();
        check_absences();
        check_final();
        check_rejection();
        check_initialized();
    }

private:
    void find_missing() {
        for (std::size_t r = 0; r < view_.roles.size(); ++r) {
            for (std::size_t i = 0; i < view_.roles[r].slots.size(); ++i) {
                const engine::slot& s = view_.roles[r].slots[i];
                if (!s.seen || s.current != nullptr || s.settled() || s.damaged) {
                    continue;
                }
                const pod_identity id{
                    r, static_cast<std::int32_t>(i), before_.attempt, s.round, s.rename};
                std::string name = pod_name(plan_, id);
                const bool confirmed = std::ranges::any_of(absences_, [&](const auto& a) {
                    return a.kind == object_kind::pod && a.name == name;
                });
                if (!confirmed) {
                    missing_.push_back(std::move(name));
                }
            }
        }
    }

    bool judges() const {
        const restart_ledger& a = before_.restarts;
        const restart_ledger& b = next_.restarts;
        const bool by_loss = next_.phase == job_phase::failed &&
                             (next_.reason == engine::reason::error_in_pod ||
                              next_.reason == engine::reason::backoff_limit_exceeded);
        return next_.backoff_count != before_.backoff_count || a.disruptions != b.disruptions ||
               (by_loss && before_.phase != job_phase::failed) || a.given_up != b.given_up;
    }

    bool confirms(const std::string& name) const {
        return std::ranges::any_of(d_.stages, [&](const stage& s) {
            return std::ranges::any_of(s, [&](const action& a) {
                return a.what == verb::confirm && a.name == name;
            });
        });
    }

    /// Absence is confirmed before anything is judged (5.3), and nothing waits beside one that
    /// nobody confirms.
    void check_absences() {
        if (missing_.empty() || is_final(before_.phase) || before_.phase == job_phase::paused) {
            return;
        }
        if (judges() && next_.attempt <= before_.attempt + 1) {
            out_.push_back("5.3 an incident is judged while an absence is not confirmed");
        } else if (!d_.status && !test::acts(d_, w_.now) && !confirms(missing_.front())) {
            out_.push_back("5.3 nobody confirms an absence while the job waits");
        }
    }

    bool ends() const { return is_final(next_.phase) && !is_final(before_.phase); }

    std::int32_t remaining() const {
        std::int32_t n = 0;
        for (std::size_t r = 0; r < view_.roles.size(); ++r) {
            for (const engine::slot& s : view_.roles[r].slots) {
                const bool failed =
                    s.current != nullptr &&
                    engine::end_of(*s.current, plan_.roles[r].training_container, w_.now) &&
                    !s.completed;
                const bool gone = s.current == nullptr && s.seen && !s.completed;
                n += s.given_up || failed || gone ? 0 : 1;
            }
        }
        return n;
    }

    bool master_failed() const {
        const auto& slots = view_.roles[plan_.master_role].slots;
        if (slots.empty() || slots.front().current == nullptr) {
            return true;
        }
        return engine::end_of(
                   *slots.front().current, plan_.roles[plan_.master_role].training_container, w_.now
        )
            .has_value();
    }

    void check_final() {
        if (!ends()) {
            return;
        }
        const bool by_loss = next_.reason == engine::reason::error_in_pod ||
                             next_.reason == engine::reason::backoff_limit_exceeded;
        if (next_.phase == job_phase::failed && by_loss && plan_.elastic && !master_failed() &&
            remaining() >= plan_.elastic->min_replicas) {
            out_.push_back(fmt::format(
                "5.10 an elastic job fails though {} of at least {} replicas are left",
                remaining(),
                plan_.elastic->min_replicas
            ));
        }
        const bool any_given_up = std::ranges::any_of(
            next_.restarts.given_up, [](const typed_indexes& t) { return !t.indexes.empty(); }
        );
        if (any_given_up && !is_condition_true(next_, "ReplicaFailure")) {
            out_.push_back(
                "4.13 ReplicaFailure is not True at the end of a job that gave up a "
                "replica"
            );
        }
        check_deadline();
        const condition* failed = find_condition(next_, "Failed");
        if (next_.phase == job_phase::failed &&
            (failed == nullptr || !failed->status || failed->reason.empty() ||
             failed->message.empty())) {
            out_.push_back("I25 a failed job does not say why");
        }
    }

    void check_deadline() {
        if (next_.reason != engine::reason::deadline_exceeded) {
            return;
        }
        const auto limit = w_.known_job->compiled->spec
                               ? w_.known_job->compiled->spec->policy.active_deadline_seconds
                               : w_.known_job->compiled->fragments.active_deadline_seconds;
        if (!limit || !next_.start_time || w_.now < *next_.start_time + seconds(*limit)) {
            out_.push_back("I15 DeadlineExceeded before the deadline");
        }
    }

    /// Refused for good before any pod ever was: the job ends as PodRejected (2.8), at once.
    void check_rejection() {
        if (w_.past.pod_created || is_final(before_.phase) || before_.attempt != 1 ||
            w_.known_job->compiled->spec->mode.pause || before_.phase == job_phase::paused) {
            return;
        }
        const bool rejected = std::ranges::any_of(w_.refusals, [&](const refusal& r) {
            const bool for_good = r.http_code == 422 ||
                                  (r.http_code == 403 && !r.message.starts_with("exceeded quota"));
            return r.kind == object_kind::pod && for_good && !r.foreign_owner &&
                   !r.namespace_terminating && r.attempt == before_.attempt && r.round == 0;
        });
        if (rejected && next_.reason != engine::reason::pod_rejected &&
            next_.reason != engine::reason::deadline_exceeded) {
            out_.push_back("2.8 a pod was refused for good, none ever was, and the job goes on");
        }
    }

    /// Every first-stage child was accepted: Initialized is True, also in the last look (2.4).
    void check_initialized() {
        if (!d_.status || is_final(before_.phase) || before_.attempt == 0 ||
            next_.attempt != before_.attempt) {
            return;
        }
        bool all = !view_.roles.empty();
        for (std::size_t r = 0; r < view_.roles.size(); ++r) {
            const bool first =
                plan_.pod_stages.empty() ||
                std::ranges::find(plan_.pod_stages.front(), r) != plan_.pod_stages.front().end();
            for (const engine::slot& s : view_.roles[r].slots) {
                all = all && (!first || s.current != nullptr);
            }
        }
        if (ends() && all && before_.restarts.replaced.empty() &&
            !is_condition_true(next_, "Initialized")) {
            out_.push_back("2.4 the job ends with all its pods accepted, and is not Initialized");
        }
    }

    const world& w_;
    const decision& d_;
    violations& out_;
    const job_status& before_;
    const job_status& next_;
    const job_plan& plan_;
    const std::vector<confirmed_absence>& absences_;
    engine::pod_view view_;
    std::vector<std::string> missing_;
};

bool is_older(const pod_record& pod, std::int32_t attempt) {
    return pod.attempt != gone_attempt && pod.attempt < attempt;
}

bool is_stuck(const world& w, const pod_record& pod) {
    const milliseconds bound = stuck_after(w);
    return bound.count() > 0 && pod.deletion && w.now > *pod.deletion + bound;
}

}  // namespace

void check_decision(const world& w, const decision& d, violations& out) {
    const sight shown(w);
    const observed seen = shown.observed();
    const bool dying =
        std::ranges::any_of(w.refusals, [](const refusal& r) { return r.namespace_terminating; });
    const test::situation s{
        *w.known_job, seen, w.set->rules(), w.now, w.set->backoff_limit(w.spec), dying};
    test::check_actions(s, d, out);
    test::check_status(s, d, /*reachable=*/true, out);
    if (w.known_job->compiled->plan) {
        decision_check(w, shown, d, out).run();
    }
    if (w.known_job->meta.deletion_time && (d.status || !d.stages.empty())) {
        out.push_back("I4 a job that is being deleted is still worked on");
    }
}

void check_creation(const world& w, const job_object& decided, const action& a, violations& out) {
    if (a.kind != object_kind::pod) {
        return;
    }
    const job_plan& plan = *decided.compiled->plan;
    for (const pod_ptr& p : w.pods) {
        if (is_older(*p, a.pod.attempt) && !is_stuck(w, *p)) {
            out.push_back(
                fmt::format("I8 {} is made beside {} of an older attempt", a.name, p->name)
            );
        }
        const pod_identity id = test::identity_of(plan, *p);
        if (test::is_live(*p) && p->attempt == a.pod.attempt && id.role == a.pod.role &&
            id.index == a.pod.index) {
            out.push_back(fmt::format("I1 {} is made beside {}", a.name, p->name));
        }
    }
    const auto& last = decided.status.restarts.last;
    const bool held = last && last->not_before && *last->not_before > w.now &&
                      (last->scope == restart_scope::job || a.pod.round > 0);
    if (held) {
        out.push_back("I15 " + a.name + " is made before the restart delay has passed");
    }
    const bool has_group = std::ranges::any_of(w.children, [](const child_ptr& c) {
        return c->kind == object_kind::pod_group;
    });
    if (plan.gang && !has_group) {
        out.push_back("I9 " + a.name + " is made before its PodGroup");
    }
}

void check_gone_label(const action& a, violations& out) {
    if (a.body.find(R"("batch.tensorstack.dev/attempt":"gone")") == a.body.npos) {
        out.push_back("2.7 a pod is patched otherwise than to gone: " + a.body);
    }
}

void check_expiry(const world& w, violations& out) {
    const auto ttl = w.job->compiled->spec->policy.ttl_seconds_after_finished;
    const job_status& s = w.job->status;
    if (!is_final(s.phase) || !ttl || !s.completion_time ||
        w.now < *s.completion_time + seconds(*ttl)) {
        out.push_back("I15 the job is deleted before its time to live has passed");
    }
}

void check_counts(const world& w, violations& out) {
    const job_status& s = w.job->status;
    if (s.backoff_count > w.past.failures) {
        out.push_back(
            fmt::format("I7 backoffCount is {} after {} failures", s.backoff_count, w.past.failures)
        );
    }
    if (s.backoff_count + s.restarts.disruptions > w.past.failures + w.past.disruptions) {
        out.push_back(fmt::format(
            "I7 {} incidents after {} losses",
            s.backoff_count + s.restarts.disruptions,
            w.past.failures + w.past.disruptions
        ));
    }
}

void check_grouping(const world& a, const world& b, violations& out) {
    const job_status& x = a.job->status;
    const job_status& y = b.job->status;
    if (x.backoff_count != y.backoff_count || x.phase != y.phase) {
        out.push_back(fmt::format(
            "5.5 the same failures cost more if they are seen one after the other: {} {} together, "
            "{} {} apart",
            x.backoff_count,
            to_string(x.phase),
            y.backoff_count,
            to_string(y.phase)
        ));
    }
}

}  // namespace signalbox::search
