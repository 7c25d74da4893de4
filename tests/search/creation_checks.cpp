// SPDX-License-Identifier: Apache-2.0
//
// What must hold when a child is made or changed, on the server's truth.
#include "checks.hpp"
#include "configurations.hpp"
#include "engine/facts/inputs.hpp"
#include "engine/facts/ledger.hpp"
#include "engine/facts/pod_facts.hpp"
#include "events.hpp"
#include "gang.hpp"
#include "process.hpp"
#include "property/rules.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace signalbox::search {

using namespace core;

namespace {

bool is_older(const pod_record& pod, std::int32_t attempt) {
    return pod.attempt != gone_attempt && pod.attempt < attempt;
}

class creation_check {
public:
    creation_check(const world& w, const job_object& decided, const action& a, violations& out)
        : w_(w), decided_(decided), plan_(*decided.compiled->plan), a_(a), out_(out) {}

    void run() {
        if (a_.kind == object_kind::secret) {
            check_keys();
        }
        if (a_.kind != object_kind::pod) {
            return;
        }
        check_beside();
        search::check_beside(w_, a_, out_);
        check_delay();
        check_objects();
        check_minimum();
        check_phase();
        check_admitted(w_, decided_, a_, out_);
        check_stages();
        check_record();
    }

private:
    void check_beside() {
        if (a_.pod()->index >=
            engine::wanted_in_force(decided_.status, plan_.types[a_.pod()->type])) {
            out_.push_back("I2 " + a_.name + " is made beyond the size of its type");
        }
        for (const pod_ptr& p : w_.pods) {
            if (is_older(*p, a_.pod()->attempt) && !is_stuck(w_, *p)) {
                out_.push_back(
                    fmt::format("I8 {} is made beside {} of an older attempt", a_.name, p->name)
                );
            }
            const pod_identity id = test::identity_of(plan_, *p);
            if (test::is_live(*p) && p->attempt == a_.pod()->attempt && id.type == a_.pod()->type &&
                id.index == a_.pod()->index) {
                out_.push_back(fmt::format("I1 {} is made beside {}", a_.name, p->name));
            }
        }
    }

    void check_delay() {
        const auto& last = decided_.status.restarts.last;
        const bool held = last && last->not_before && *last->not_before > w_.now &&
                          (last->scope == restart_scope::job || a_.pod()->round > 0);
        if (held) {
            out_.push_back("I15 " + a_.name + " is made before the restart delay has passed");
        }
    }

    /// Whatever the process saw or the server has: one of both must hold the object.
    bool is_there(const planned_object& o) const {
        const std::string name = object_name(o, decided_.status.attempt);
        const auto same = [&](const auto& c) { return c->kind == o.kind && c->name == name; };
        return std::ranges::any_of(w_.children, same) ||
               std::ranges::any_of(sight(w_).children, same);
    }

    /// Other objects come first (2.1, I9). A Secret that was lost is not made for pods that have
    /// started (2.6).
    void check_objects() {
        for (const planned_object& o : plan_.objects) {
            if (o.kind != object_kind::secret && !is_there(o)) {
                out_.push_back(fmt::format("2.1 {} is made before a {}", a_.name, to_string(o.kind))
                );
                return;
            }
        }
    }

    /// What pods are placed by says of the members what is on record, or they are held forever
    /// (8.6).
    void check_minimum() {
        if (!plan_.gang || plan_.objects.front().kind->use != kind_use::gang) {
            return;
        }
        const planned_object& group = plan_.objects.front();
        const auto options = engine::render_options_of(decided_.status, plan_);
        for (const child_record* c : sight(w_).children) {
            if (c->kind == group.kind &&
                c->fingerprint != expected_fingerprint(plan_, group, options, c->fields)) {
                out_.push_back("8.6 " + a_.name + " is made beside another minimum");
            }
        }
    }

    /// Where the group says by its phase whether there may be pods, it has said so (8.5).
    void check_phase() {
        if (!tells_by_phase(w_)) {
            return;
        }
        for (const child_record* c : sight(w_).children) {
            if (c->kind->use == kind_use::gang && c->gang != nullptr &&
                c->gang->is != gang_answer::state::admitted) {
                out_.push_back("8.5 " + a_.name + " is made before its group is enqueued");
            }
        }
    }

    /// A later stage begins when every pod of the one before is Ready (2.3).
    void check_stages() {
        const sight shown(w_);
        for (std::size_t s = 1; s < plan_.pod_stages.size(); ++s) {
            const auto& stage = plan_.pod_stages[s];
            if (std::ranges::find(stage, a_.pod()->type) == stage.end()) {
                continue;
            }
            for (const std::size_t before : plan_.pod_stages[s - 1]) {
                const type_plan& type = plan_.types[before];
                const auto ready = std::ranges::count_if(shown.pods, [&](const pod_record* p) {
                    return p->type == type.name && p->attempt == decided_.status.attempt &&
                           p->ready && !p->deletion;
                });
                if (ready < engine::wanted_in_force(decided_.status, type)) {
                    out_.push_back("2.3 " + a_.name + " is made before every worker is Ready");
                }
            }
        }
    }

    /// The loss of a pod that was seen is recorded before another one is made (5.3).
    void check_record() {
        const std::string& type = plan_.types[a_.pod()->type].name;
        const index_set* seen = engine::find_indexes(decided_.status.restarts.seen, type);
        if (seen != nullptr && seen->contains(a_.pod()->index)) {
            out_.push_back("5.3 " + a_.name + " is made again without a record of its loss");
        }
    }

    /// Pods that have started keep their keys: no other Secret is made for the attempt (2.6).
    void check_keys() {
        const sight shown(w_);
        const bool started = std::ranges::any_of(shown.pods, [&](const pod_record* p) {
            const container_record* c = training_container(w_, *p);
            return p->attempt == decided_.status.attempt && p->labels_complete && !p->deletion &&
                   c != nullptr && engine::has_started(*c);
        });
        if (started) {
            out_.push_back("2.6 a Secret is made though pods of the attempt have started");
        }
    }

    const world& w_;
    const job_object& decided_;
    const job_plan& plan_;
    const action& a_;
    violations& out_;
};

}  // namespace

bool is_stuck(const world& w, const pod_record& pod) {
    const milliseconds bound = stuck_after_of(w);
    return bound.count() > 0 && pod.deletion && w.now > *pod.deletion + bound;
}

void check_creation(const world& w, const job_object& decided, const action& a, violations& out) {
    creation_check(w, decided, a, out).run();
}

void check_pod(const world& w, const search_context::rendered_pod& pod, violations& out) {
    const pod_record& made = pod.record;
    if (made.owner_uid != w.job->meta.uid || !made.labels_complete) {
        out.push_back("I3 " + made.name + " does not belong to the job");
    }
    for (const pod_ptr& p : w.pods) {
        const auto known = w.rendezvous.find(p->uid);
        if (test::is_live(*p) && p->attempt == made.attempt && known != w.rendezvous.end() &&
            known->second != pod.rendezvous) {
            out.push_back(fmt::format(
                "I10 {} and {} disagree on the rendezvous of their attempt", made.name, p->name
            ));
        }
    }
}

void check_gone_label(const action& a, violations& out) {
    if (a.body().find(R"("batch.tensorstack.dev/attempt":"gone")") == std::string_view::npos) {
        out.push_back("2.7 a pod is patched otherwise than to gone: " + std::string(a.body()));
    }
}

void check_expiry(const world& w, violations& out) {
    const compiled_job& compiled = *w.job->compiled;
    const auto ttl = compiled.spec ? compiled.spec->policy.ttl_seconds_after_finished
                                   : compiled.fragments.run.ttl_seconds_after_finished;
    const job_status& s = w.job->status;
    if (!is_final(s.phase) || !ttl || !s.completion_time ||
        w.now < *s.completion_time + seconds(*ttl)) {
        out.push_back("I15 the job is deleted before its time to live has passed");
    }
}

}  // namespace signalbox::search
