// SPDX-License-Identifier: Apache-2.0
#include "checks.hpp"

#include "configurations.hpp"
#include "engine/facts/ledger.hpp"
#include "engine/facts/plan_of_attempt.hpp"
#include "engine/health/health.hpp"
#include "engine/view/view.hpp"
#include "process.hpp"
#include "property/rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

namespace signalbox::search {

using namespace core;

namespace {

bool is_condition_true(const job_status& s, std::string_view type) {
    const condition* c = find_condition(s, type);
    return c != nullptr && c->status;
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
          began_(engine::plan_of_attempt(*w.known_job->compiled->plan, before_)),
          plan_(began_ ? *began_ : *w.known_job->compiled->plan),
          absences_(shown.absences),
          view_(engine::make_view(plan_, before_, shown.observed(), stuck_after_of(w), w.now)) {}

    void run() {
        find_missing();
        check_absences();
        check_final();
        check_rejection();
        check_initialized();
        check_new_attempt();
        check_begin_of_pause();
        check_new_rounds();
        check_becomes_running();
        check_success_of_all();
        check_barrier();
        check_without_restart();
        check_deadline_awaited();
        check_end_together();
    }

private:
    /// The pods of an attempt that is over are told to end in one stage, the first that acts
    /// (5.15).
    void check_end_together() {
        const auto removes = [](const stage& s, const pod_record& pod) {
            return std::ranges::any_of(s, [&](const action& a) {
                return a.what() == verb::remove && a.kind == object_kind::pod && a.name == pod.name;
            });
        };
        std::size_t some = 0;
        std::size_t all = 0;
        for (const engine::left_over& l : view_.left_overs) {
            if (l.older_attempt && !l.pod->deletion) {
                ++all;
                some += !d_.stages.empty() && removes(d_.stages.front(), *l.pod) ? 1U : 0U;
            }
        }
        const bool acts_on_it =
            before_.phase != job_phase::paused && !is_final(before_.phase) && !d_.stages.empty();
        if (acts_on_it && some != all && !w_.known_job->compiled->plan->paused) {
            out_.push_back("5.15 pods of an attempt that is over are told to end one by one");
        }
    }

    /// The end of a pod that settles is known: whether it is still there says nothing more.
    bool has_exit_on_record(const pod_identity& id) const {
        const auto& settling = before_.restarts.settling;
        return settling && std::ranges::any_of(settling->pods, [&](const auto& pod) {
                   const pod_identity known = engine::identity_from_name(plan_, pod.name);
                   return known.type == id.type && known.index == id.index;
               });
    }

    void find_missing() {
        for (std::size_t r = 0; r < view_.types.size(); ++r) {
            for (std::size_t i = 0; i < view_.types[r].replicas.size(); ++i) {
                const engine::replica_view& s = view_.types[r].replicas[i];
                if (!s.seen || s.current != nullptr || s.done() || s.damaged) {
                    continue;
                }
                const pod_identity id{
                    r, static_cast<std::int32_t>(i), before_.attempt, s.round, s.rename};
                std::string name = pod_name(plan_, id);
                if (has_exit_on_record(id)) {
                    continue;
                }
                const bool in_view = std::ranges::any_of(view_.left_overs, [&](const auto& l) {
                    return l.pod->name == name;
                });
                if (in_view) {
                    continue;  // it is waited for (5.3)
                }
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
                             (engine::says(next_.reason, engine::reason::error_in_pod) ||
                              engine::says(next_.reason, engine::reason::backoff_limit_exceeded));
        return next_.backoff_count != before_.backoff_count || a.disruptions != b.disruptions ||
               (by_loss && before_.phase != job_phase::failed) || a.given_up != b.given_up;
    }

    bool confirms(const std::string& name) const {
        return std::ranges::any_of(d_.stages, [&](const stage& s) {
            return std::ranges::any_of(s, [&](const action& a) {
                return a.what() == verb::confirm && a.name == name;
            });
        });
    }

    /// Absence is confirmed before anything is judged (5.3), and nothing waits beside one that
    /// no one confirms.
    void check_absences() {
        if (missing_.empty() || is_final(before_.phase) || before_.phase == job_phase::paused) {
            return;
        }
        if (judges() && next_.attempt <= before_.attempt + 1) {
            out_.push_back("5.3 an incident is judged while an absence is not confirmed");
        } else if (!d_.status && !test::acts(d_, w_.now) && !confirms(missing_.front())) {
            out_.push_back("5.3 no one confirms an absence while the job waits");
        }
    }

    bool ends() const { return is_final(next_.phase) && !is_final(before_.phase); }

    std::int32_t remaining() const {
        std::int32_t n = 0;
        for (std::size_t r = 0; r < view_.types.size(); ++r) {
            for (const engine::replica_view& s : view_.types[r].replicas) {
                const bool failed =
                    s.current != nullptr &&
                    engine::end_of(*s.current, plan_.types[r].training_container, w_.now) &&
                    !s.completed;
                const bool gone = s.current == nullptr && s.seen && !s.completed;
                n += s.given_up || failed || gone ? 0 : 1;
            }
        }
        return n;
    }

    bool deciding_failed() const {
        const auto& replicas = view_.types[plan_.deciding_type].replicas;
        if (replicas.empty() || replicas.front().current == nullptr) {
            return true;
        }
        return engine::end_of(
                   *replicas.front().current,
                   plan_.types[plan_.deciding_type].training_container,
                   w_.now
        )
            .has_value();
    }

    void check_final() {
        if (!ends()) {
            return;
        }
        const bool by_loss = engine::says(next_.reason, engine::reason::error_in_pod) ||
                             engine::says(next_.reason, engine::reason::backoff_limit_exceeded);
        if (next_.phase == job_phase::failed && by_loss && plan_.elastic &&
            plan_.elastic->survives_loss && !deciding_failed() &&
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
        if (!engine::says(next_.reason, engine::reason::deadline_exceeded)) {
            return;
        }
        const auto limit = w_.known_job->compiled->spec
                               ? w_.known_job->compiled->spec->policy.active_deadline_seconds
                               : w_.known_job->compiled->fragments.run.active_deadline_seconds;
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
        const bool lost_quota = before_.admission && !next_.admission;  // that comes first
        if (rejected && !lost_quota && !engine::says(next_.reason, engine::reason::pod_rejected) &&
            !engine::says(next_.reason, engine::reason::deadline_exceeded)) {
            out_.push_back("2.8 a pod was refused for good, none ever was, and the job goes on");
        }
    }

    /// Every first-stage child was accepted: Initialized is True, also in the last look (2.4).
    void check_initialized() {
        if (!d_.status || is_final(before_.phase) || before_.attempt == 0 ||
            next_.attempt != before_.attempt) {
            return;
        }
        bool all = !view_.types.empty();
        for (std::size_t r = 0; r < view_.types.size(); ++r) {
            const bool first =
                plan_.pod_stages.empty() ||
                std::ranges::find(plan_.pod_stages.front(), r) != plan_.pod_stages.front().end();
            for (const engine::replica_view& s : view_.types[r].replicas) {
                all = all && (!first || s.current != nullptr);
            }
        }
        if (ends() && all && before_.restarts.replaced.empty() &&
            !is_condition_true(next_, "Initialized")) {
            out_.push_back("2.4 the job ends with all its pods accepted, and is not Initialized");
        }
    }

    /// A raised attempt begins with an empty record of replicas (5.3).
    void check_new_attempt() {
        const restart_ledger& r = next_.restarts;
        if (next_.attempt != before_.attempt &&
            !(r.seen.empty() && r.replaced.empty() && r.renamed.empty() && r.completed.empty() &&
              r.given_up.empty())) {
            out_.push_back("5.3 a new attempt begins with records of the one before");
        }
    }

    /// An end of the deciding pod that does not end the job when it is paused never does (6.2).
    void check_begin_of_pause() {
        if (next_.phase != job_phase::paused || before_.phase == job_phase::paused ||
            next_.attempt != before_.attempt) {
            return;
        }
        const auto& replicas = view_.types[plan_.deciding_type].replicas;
        const engine::replica_view deciding =
            replicas.empty() ? engine::replica_view() : replicas.front();
        const auto end =
            deciding.current == nullptr
                ? std::nullopt
                : engine::end_of(
                      *deciding.current, plan_.types[plan_.deciding_type].training_container, w_.now
                  );
        if (end && end->before_deletion && end->exit_code) {
            out_.push_back("6.2 a paused job keeps the attempt whose deciding pod has ended");
        }
    }

    /// The name of a replaced index is its usual one again (1.3), and its new pod is not seen yet.
    void check_new_rounds() {
        if (next_.attempt != before_.attempt) {
            return;
        }
        for (const replaced_index& now : next_.restarts.replaced) {
            const auto was = std::ranges::find_if(before_.restarts.replaced, [&](const auto& r) {
                return r.type == now.type && r.index == now.index && r.round == now.round;
            });
            const auto is_it = [&](const renamed_index& r) {
                return r.type == now.type && r.index == now.index;
            };
            if (was == before_.restarts.replaced.end() &&
                std::ranges::any_of(next_.restarts.renamed, is_it)) {
                out_.push_back("1.3 a replaced index keeps the name of the round before");
            }
        }
    }

    static bool replica_is_up(const engine::replica_view& s) { return s.done() || s.is_up(); }

    /// Running begins when every wanted replica is up (4.9).
    /// This decision records that nothing more is expected of the replica.
    bool becomes_done(std::size_t type, std::int32_t index) const {
        const restart_ledger& ledger = next_.restarts;
        return std::ranges::any_of(
            std::array{&ledger.completed, &ledger.given_up},
            [&](const auto* list) {
                const index_set* set = engine::find_indexes(*list, plan_.types[type].name);
                return set != nullptr && set->contains(index);
            }
        );
    }

    void check_becomes_running() {
        const bool begins = next_.phase == job_phase::running &&
                            before_.phase != job_phase::running &&
                            next_.attempt == before_.attempt && !plan_.elastic;
        for (std::size_t r = 0; begins && r < view_.types.size(); ++r) {
            const auto& replicas = view_.types[r].replicas;
            for (std::size_t i = 0; i < replicas.size(); ++i) {
                if (!replica_is_up(replicas[i]) && !becomes_done(r, static_cast<std::int32_t>(i))) {
                    out_.push_back("4.9 the job is Running before every replica is up");
                    return;
                }
            }
        }
    }

    /// Under torchrun the deciding pod's success waits for its peers: one that failed outranks it
    /// (5.1).
    void check_success_of_all() {
        if (next_.phase != job_phase::succeeded || !ends() || !plan_.peers_join ||
            w_.known_job->compiled->spec->policy.failure == failure_policy::master) {
            return;
        }
        for (std::size_t r = 0; r < view_.types.size(); ++r) {
            for (const engine::replica_view& s : view_.types[r].replicas) {
                const auto end =
                    s.current == nullptr || s.done()
                        ? std::nullopt
                        : engine::end_of(*s.current, plan_.types[r].training_container, w_.now);
                if (end && end->before_deletion && end->exit_code.value_or(0) != 0) {
                    out_.push_back("5.1 the job succeeds though a pod of its attempt failed");
                    return;
                }
            }
        }
    }

    bool removes(const pod_record& pod) const {
        return std::ranges::any_of(d_.stages, [&](const stage& s) {
            return std::ranges::any_of(s, [&](const action& a) {
                return a.what() == verb::remove && a.uid() == pod.uid;
            });
        });
    }

    /// After a torchrun success running pods have the time of the exit barrier, while none has
    /// failed; and none once one had, whatever is left of it (5.1, 5.13).
    void check_barrier() {
        if (before_.phase != job_phase::succeeded || !plan_.peers_join ||
            !before_.completion_time ||
            w_.now >= *before_.completion_time + w_.context->rules().exit_barrier) {
            return;
        }
        const auto& policy = w_.known_job->compiled->spec->policy;
        const bool stays =
            policy.clean_up == clean_up_policy::none || policy.ttl_seconds_after_finished;
        const bool one_failed = a_peer_failed(w_, plan_);
        for (const pod_ptr& p : w_.pods) {
            if (p->deletion || w_.harm.attempts.contains(p->uid) || p->attempt != before_.attempt ||
                p->phase != pod_phase::running) {
                continue;
            }
            if (removes(*p) && !one_failed && !w_.past.failed_peer) {
                out_.push_back("5.1 a pod is deleted within the exit barrier");
            }
            if (!removes(*p) && w_.past.failed_peer && !stays) {
                out_.push_back("5.13 pods are waited for though one had failed");
            }
        }
    }

    /// A kind that restarts nothing makes nothing good once its launcher has started (5.11); the
    /// keys of its pods are another matter (2.6).
    void check_without_restart() {
        const auto& replicas = view_.types[plan_.deciding_type].replicas;
        const auto& last = next_.restarts.last;
        if (plan_.scope != scope_rule::no_restart || replicas.empty() ||
            replicas.front().current == nullptr || !last ||
            engine::says(last->cause, engine::cause::secret_lost)) {
            return;
        }
        const container_record* c = engine::training_container(
            *replicas.front().current, plan_.types[plan_.deciding_type].training_container
        );
        if (next_.restarts.disruptions != before_.restarts.disruptions && c != nullptr &&
            engine::has_started(*c)) {
            out_.push_back("5.11 a loss is made good though the launcher has started");
        }
    }

    /// A job with a deadline wakes up for it (5.12).
    void check_deadline_awaited() {
        const auto limit = w_.known_job->compiled->spec->policy.active_deadline_seconds;
        if (!limit || !next_.start_time || d_.status || is_final(next_.phase) ||
            next_.phase == job_phase::paused) {
            return;
        }
        const instant deadline = *next_.start_time + seconds(*limit);
        if (!d_.wake_up || *d_.wake_up > deadline) {
            out_.push_back("5.12 there is no wake-up at the deadline");
        }
    }

    const world& w_;
    const decision& d_;
    violations& out_;
    const job_status& before_;
    const job_status& next_;
    const std::optional<job_plan> began_;
    const job_plan& plan_;
    const std::vector<confirmed_absence>& absences_;
    engine::pod_view view_;
    std::vector<std::string> missing_;
};

/// While the specification is invalid no incident is recorded, and nothing is completed (4.2).
void check_invalid(const job_status& before, const decision& d, violations& out) {
    if (!d.status || before.attempt == 0) {
        return;
    }
    const bool raised = d.status->attempt != before.attempt;
    // A pause may leave the attempt (6.2), with its records (5.3).
    const bool left = raised && d.status->phase == job_phase::paused;
    const restart_ledger a = left ? restart_ledger() : before.restarts;
    const restart_ledger& b = d.status->restarts;
    if ((raised && !left) || d.status->backoff_count != before.backoff_count ||
        b.disruptions != before.restarts.disruptions || a.replaced != b.replaced ||
        a.completed != b.completed || a.given_up != b.given_up) {
        out.push_back("4.2 an incident is recorded while the specification is invalid");
    }
}

}  // namespace

std::optional<engine::pod_end> end_of_pod(
    const world& w, const job_plan& plan, const pod_record& pod
) {
    const auto type = std::ranges::find(plan.types, pod.type, &type_plan::name);
    return type == plan.types.end() ? std::nullopt
                                    : engine::end_of(pod, type->training_container, w.now);
}

bool is_failed_peer(const world& w, const job_plan& plan, const pod_record& pod) {
    const auto end = end_of_pod(w, plan, pod);
    return pod.attempt == w.known_job->status.attempt && end && !end->success();
}

bool a_peer_failed(const world& w, const job_plan& plan) {
    return std::ranges::any_of(w.pods, [&](const pod_ptr& p) {
        return is_failed_peer(w, plan, *p);
    });
}

void check_decision(const world& w, const decision& d, violations& out) {
    const sight shown(w);
    const observed seen = shown.observed();
    const bool dying =
        std::ranges::any_of(w.refusals, [](const refusal& r) { return r.namespace_terminating; });
    const test::situation s{
        *w.known_job, seen, w.context->rules(), w.now, w.context->backoff_limit(w.spec), dying};
    test::check_actions(s, d, out);
    check_order(w, d, out);
    if (w.harm.status) {
        return;  // nothing follows from such a status: what comes of it is looked at
    }
    test::check_status(s, d, /*reachable=*/true, out);
    check_record(w, d, out);
    check_progress(w, d, out);
    if (w.known_job->compiled->plan) {
        decision_check(w, shown, d, out).run();
    } else {
        check_invalid(w.known_job->status, d, out);
        check_invalid_end(w, d, out);
    }
    if (w.known_job->meta.deletion_time && (d.status || !d.stages.empty())) {
        out.push_back("I4 a job that is being deleted is still worked on");
    }
}

void check_counts(const world& w, violations& out) {
    const job_status& s = w.job->status;
    if (w.harm.status) {
        return;
    }
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

}  // namespace signalbox::search
