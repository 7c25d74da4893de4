// SPDX-License-Identifier: Apache-2.0
#include "process.hpp"

#include "checks.hpp"
#include "configurations.hpp"
#include "damage.hpp"
#include "engine/facts/reasons.hpp"
#include "gang.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace signalbox::search {

using namespace core;

namespace {

bool is_held(const action& a, instant now) {
    return a.not_before && *a.not_before > now;
}

struct refusal_class {
    op what;
    int code;
    const char* reason;
    const char* message;
    bool terminating;
};
constexpr refusal_class refusal_classes[] = {
    {op::refuse_forbidden, 403, "Forbidden", "not allowed here", false},
    {op::refuse_invalid, 422, "Invalid", "a field is wrong", false},
    {op::refuse_quota, 403, "Forbidden", "exceeded quota: pods", false},
    {op::refuse_not_found, 404, "NotFound", "the server could not find it", false},
    {op::refuse_terminating, 403, "Forbidden", "the namespace is being terminated", true},
};

const refusal_class* class_of(op what) {
    const auto it = std::ranges::find(refusal_classes, what, &refusal_class::what);
    return it == std::end(refusal_classes) ? nullptr : it;
}

/// Causes of failures of the job's own that come of something else than a pod that ends.
constexpr std::array told_by_no_pod{engine::cause::stalled};

bool is_told_by_no_pod(std::string_view cause) {
    return std::ranges::any_of(told_by_no_pod, [&](engine::cause each) {
        return engine::says(cause, each);
    });
}

/// The object is there. Others of another kind may have its name.
template <class Pods, class Children>
bool holds(object_kind kind, std::string_view name, const Pods& pods, const Children& children) {
    const auto named = [&](const auto& o) { return o->name == name; };
    return kind == object_kind::pod ? std::ranges::any_of(pods, named)
                                    : std::ranges::any_of(children, [&](const auto& c) {
                                          return c->kind == kind && named(c);
                                      });
}

class pass {
public:
    pass(world& w, const choice& c, outcome& out) : w_(w), c_(c), out_(out), d_(w.decided) {}

    void run() {
        if (d_->status && !(c_.what == op::pass_defers && d_->deferrable())) {
            if (!write_status()) {
                return;
            }
            decided_ = w_.job;
        } else {
            decided_ = w_.known_job;
            if (d_->status) {
                auto shown = std::make_shared<job_object>(*w_.known_job);
                shown->status = *d_->status;
                decided_ = std::move(shown);
            }
        }
        forget_unasked();
        if (carry_out_stages()) {
            settle();
        }
    }

private:
    bool write_status() {
        const bool mine = at_fault();
        if (w_.known_job != w_.job) {
            show_present(object_kind::job);  // a conflict: the object is read again
            return false;
        }
        const bool reaches = !mine || c_.what == op::lose_answer || c_.what == op::crash;
        if (!reaches) {
            return false;
        }
        note_attempt();
        note_incident();
        set_job(w_, *d_->status);
        show_present(object_kind::job);
        ++out_.writes;
        if (mine && c_.what == op::crash) {
            restart(w_);
        }
        return !mine;  // after a lost answer the object is read again before anything else
    }

    /// What an attempt has is fixed with it (10.4), by the specification that was decided on.
    void note_attempt() {
        const job_status& next = *d_->status;
        const auto& compiled = *w_.known_job->compiled;
        const bool raised = next.attempt != w_.known_job->status.attempt && !is_attempt_repaired();
        // Of an attempt that a damaged record alone tells, with the first status about it.
        const bool untold = next.attempt > 0 && w_.past.sizes.empty();
        if (!compiled.plan || (!raised && !untold)) {
            return;
        }
        w_.past.deciding = compiled.plan->types[compiled.plan->deciding_type].name;
        w_.past.sizes.clear();
        for (const type_plan& type : compiled.plan->types) {
            w_.past.sizes.emplace_back(type.name, type.wanted);
        }
    }

    /// The number is put right: it is named first.
    bool is_attempt_repaired() const {
        return is_told(*d_, engine::reason::status_repaired) &&
               d_->events.front().message.find("put right: attempt") != std::string::npos;
    }

    void note_incident() {
        const job_status& before = w_.known_job->status;
        const job_status& next = *d_->status;
        if (next.backoff_count + next.restarts.disruptions >
            before.backoff_count + before.restarts.disruptions) {
            w_.past.incident = w_.now;
            w_.past.failures += is_told_by_no_pod(next.restarts.last->cause) ? 1 : 0;
        }
    }

    /// False if the process died.
    bool carry_out_stages() {
        bool stopped = false;
        for (const stage& actions : d_->stages) {
            bool acknowledged = true;
            for (const action& a : actions) {
                if (stopped || is_held(a, w_.now)) {
                    acknowledged = false;
                    continue;
                }
                const bool mine = at_fault();
                acknowledged = carry_out(a, mine) && acknowledged;
                if (mine && c_.what == op::crash) {
                    restart(w_);
                    return false;
                }
            }
            stopped = stopped || !acknowledged;
        }
        return true;
    }

    /// Counts writes. True for the one that the fault befalls.
    bool at_fault() { return c_.what > op::pass_defers && next_write_++ == c_.at; }

    bool carry_out(const action& a, bool mine) {
        if (mine && c_.what == op::lose_request) {
            return false;
        }
        if (mine && c_.what >= op::refuse_forbidden) {
            return refuse(a);
        }
        const bool answered = !mine || c_.what != op::lose_answer;
        switch (a.what()) {
            case verb::create:
                return create(a, answered);
            case verb::patch:
                return patch(a) && answered;
            case verb::remove:
                return remove(a) && answered;
            case verb::confirm:
                return answered && confirm(a);
            case verb::read:
                return answered && read(a);
        }
        return false;
    }

    bool refuse(const action& a) {
        const refusal_class* answer = class_of(c_.what);
        const bool kept = is_refusal_kept(a);
        if (a.what() == verb::remove && c_.what == op::refuse_not_found) {
            return false;  // not true of this world: its object is there
        }
        if (answer != nullptr && kept) {
            note_refusal(a, *answer, false);
            const bool for_good = (answer->code == 403 || answer->code == 422) &&
                                  c_.what != op::refuse_quota && !answer->terminating;
            w_.past.failures += for_good && a.kind == object_kind::pod ? 1 : 0;
        }
        return false;
    }

    void note_refusal(const action& a, const refusal_class& answer, bool foreign) {
        const auto same = std::ranges::find_if(w_.refusals, [&](const refusal& r) {
            return is_refusal_of(r, a);
        });
        const bool fresh = same == w_.refusals.end();
        refusal& r = fresh ? w_.refusals.emplace_back(refusal_of(a, w_.now)) : *same;
        r.count += fresh ? 0 : 1;
        r.last = w_.now;
        r.http_code = answer.code;
        r.reason = answer.reason;
        r.message = answer.message;
        r.foreign_owner = foreign;
        r.namespace_terminating = answer.terminating;
    }

    void forget_refusal(const action& a) {
        std::erase_if(w_.refusals, [&](const refusal& r) { return is_refusal_of(r, a); });
    }

    void show_present(object_kind kind) {
        if (kind == object_kind::pod) {
            w_.known_pods.reset();
        } else if (kind == object_kind::job) {
            w_.known_job = w_.job;
            w_.job_held = false;
        } else {
            w_.known_children.reset();
        }
    }

    std::string new_uid(const action& a) { return fmt::format("{}#{}", a.name, ++w_.made); }

    bool create(const action& a, bool answered) {
        if (w_.is_foreign(foreign_key(a.kind, a.name))) {
            if (answered) {
                note_refusal(
                    a, {op::take_name, 409, "AlreadyExists", "the name is taken", false}, true
                );
            }
            return false;
        }
        if (a.kind == object_kind::pod && w_.server != mood::good) {
            const bool quota = w_.server == mood::quota;
            if (answered) {
                note_refusal(a, *class_of(quota ? op::refuse_quota : op::refuse_invalid), false);
                w_.past.failures += quota ? 0 : 1;
            }
            return false;
        }
        const bool made = a.kind == object_kind::pod ? create_pod(a) : create_child(a);
        if (answered) {
            show_present(a.kind);
            if (made) {
                forget_refusal(a);
            }
        }
        return made && answered;
    }

    /// False if the name is held by an object of the job that is not the wanted one.
    bool create_pod(const action& a) {
        for (const pod_ptr& p : w_.pods) {
            if (p->name == a.name) {
                unhide_pod(w_, a.name);
                return !p->deletion && p->attempt == a.pod()->attempt && p->round == a.pod()->round;
            }
        }
        const search_context::rendered_pod& rendered = w_.context->pod_of(*decided_, *d_, a);
        check_creation(w_, *decided_, a, out_.violations);
        check_pod(w_, rendered, out_.violations);
        pod_record pod = rendered.record;
        pod.uid = new_uid(a);
        w_.rendezvous.emplace(pod.uid, rendered.rendezvous);
        pod.creation = now_in_seconds(w_);
        add_pod(w_, std::move(pod));
        w_.past.pod_created = true;
        ++out_.writes;
        return true;
    }

    bool create_child(const action& a) {
        child_record child = w_.context->child_of(*decided_, *d_, a);
        for (const child_ptr& c : w_.children) {
            if (c->kind == a.kind && c->name == a.name) {
                const bool same = c->attempt == 0 || c->attempt == a.object()->attempt;
                return !c->deleting && same && c->data_fingerprint == child.data_fingerprint;
            }
        }
        check_creation(w_, *decided_, a, out_.violations);
        child.uid = new_uid(a);
        if (a.kind->use == kind_use::gang) {
            child = gang_object_of(w_, w_.context->text_of(*decided_, *d_, a), child.uid);
            check_gang_object(w_, child, out_.violations);
        }
        w_.children.push_back(std::make_shared<const child_record>(std::move(child)));
        std::ranges::sort(w_.children, {}, [](const child_ptr& c) {
            return std::pair(c->kind, std::string_view(c->name));
        });
        ++out_.writes;
        return true;
    }

    bool patch(const action& a) {
        const bool done = a.kind == object_kind::job   ? patch_job(a)
                          : a.kind == object_kind::pod ? patch_pod(a)
                                                       : patch_child(a);
        show_present(a.kind);
        if (done) {
            forget_refusal(a);
            ++out_.writes;
        }
        return done;
    }

    static std::int32_t pods_of(const job_plan& plan) {
        std::int32_t sum = 0;
        for (const type_plan& type : plan.types) {
            sum += type.wanted;
        }
        return sum;
    }

    /// The size that is written into the job once (BEHAVIOUR.md 7.1).
    bool patch_job(const action& a) {
        if (w_.known_job != w_.job) {
            return false;  // the precondition of the patch
        }
        const std::string key = "\"expectedReplicas\":";
        const std::string body(a.body());
        const std::size_t at = body.find(key);
        const int size = at == body.npos ? -1 : std::stoi(body.substr(at + key.size()));
        const auto& sizes = w_.context->config().sizes;
        const auto known = std::ranges::find(sizes, size);
        const bool is_elastic = w_.plan().elastic.has_value();
        if (is_elastic ? known == sizes.end() : size != pods_of(w_.plan())) {
            out_.violations.push_back("7.1 an unknown patch of the job: " + body);
            return false;
        }
        edits e = w_.spec;
        (is_elastic ? e.size : e.noted) =
            static_cast<std::int8_t>(is_elastic ? known - sizes.begin() : size);
        edit_spec(w_, e);
        return true;
    }

    bool patch_pod(const action& a) {
        for (std::size_t i = 0; i < w_.pods.size(); ++i) {
            if (w_.pods[i]->uid == a.uid()) {
                check_gone_label(a, out_.violations);
                change_pod(w_, i, [](pod_record& p) { p.attempt = gone_attempt; });
                return true;
            }
        }
        return false;
    }

    bool patch_child(const action& a) {
        for (std::size_t i = 0; i < w_.children.size(); ++i) {
            if (w_.children[i]->uid == a.uid() && a.kind->use == kind_use::gang) {
                check_quota_write(w_, a, out_.violations);
                return patch_gang_object(w_, i, a);
            }
            if (w_.children[i]->uid == a.uid()) {
                const child_record wanted = w_.context->child_of(*decided_, *d_, a);
                change_child(w_, i, [&](child_record& c) {
                    c.fingerprint = wanted.fingerprint;
                    c.selected_attempt = wanted.selected_attempt;
                    c.foreign_selector_keys.clear();
                });
                return true;
            }
        }
        return false;
    }

    /// From then on no other is waited for (5.1).
    void note_failed_peer(const action& a) {
        const auto& shown = w_.known_pods ? *w_.known_pods : w_.pods;
        const auto pod =
            std::ranges::find_if(shown, [&](const pod_ptr& p) { return p->uid == a.uid(); });
        w_.past.failed_peer = w_.past.failed_peer ||
                              (decided_->status.phase == job_phase::succeeded &&
                               pod != shown.end() && is_failed_peer(w_, valid_plan(w_), **pod));
    }

    bool remove(const action& a) {
        if (a.kind == object_kind::job) {
            check_expiry(w_, out_.violations);
            w_.deleted = true;
            const job_ptr before = w_.job;
            set_job(w_, before->status);
            show_present(object_kind::job);
            ++out_.writes;
            return true;
        }
        const auto owned = [&](const auto& o) { return o->uid == a.uid(); };
        if (a.kind == object_kind::pod) {
            const auto it = std::ranges::find_if(w_.pods, owned);
            if (it != w_.pods.end()) {
                note_failed_peer(a);
                out_.writes += (*it)->deletion ? 0 : 1;
                ask_deletion(w_, static_cast<std::size_t>(it - w_.pods.begin()));
            }
        } else {
            check_quota_write(w_, a, out_.violations);
            out_.writes += static_cast<int>(std::erase_if(w_.children, owned));
        }
        show_present(a.kind);
        return true;
    }

    /// Only objects of the cluster are read: no world sets observed::reads_logs.
    bool read(const action& a) {
        std::erase_if(w_.readings, [&](const object_reading& r) {
            return r.kind == a.kind && r.name == a.name;
        });
        w_.readings.push_back({a.kind, a.name, R"({"spec":{"nodeLabels":{"pool":"a"}}})"});
        forget_refusal(a);
        return true;
    }

    bool confirm(const action& a) {
        const bool there = holds(a.kind, a.name, w_.pods, w_.children);
        if (there) {
            unhide_pod(w_, a.name);
            show_present(a.kind);
            return false;
        }
        const bool known = std::ranges::any_of(w_.absences, [&](const confirmed_absence& x) {
            return x.kind == a.kind && x.name == a.name;
        });
        if (!known) {
            w_.absences.push_back({a.kind, a.name});
        }
        return true;
    }

    void forget_unasked() {
        const bool reads = std::ranges::any_of(d_->stages, [](const stage& s) {
            return std::ranges::any_of(s, [](const action& a) { return a.what() == verb::read; });
        });
        if (!reads) {
            w_.readings.clear();
        }
        std::erase_if(w_.refusals, [&](const refusal& r) {
            return std::ranges::none_of(d_->stages, [&](const stage& s) {
                return std::ranges::any_of(s, [&](const action& a) {
                    return a.what() != verb::remove && is_refusal_of(r, a);
                });
            });
        });
    }

    void settle() {
        const bool asks = std::ranges::any_of(d_->stages, [](const stage& s) {
            return std::ranges::any_of(s, [](const action& a) {
                return a.what() == verb::confirm;
            });
        });
        if (!asks) {
            w_.absences.clear();
        }
    }

    world& w_;
    const choice& c_;
    outcome& out_;
    std::shared_ptr<const decision> d_;
    job_ptr decided_;
    int next_write_ = 0;
};

}  // namespace

sight::sight(const world& w) : of(&w) {
    const auto& shown_pods = w.known_pods ? *w.known_pods : w.pods;
    for (const pod_ptr& p : shown_pods) {
        if (std::ranges::find(w.harm.hidden, p->uid) == w.harm.hidden.end()) {
            pods.push_back(p.get());
        }
    }
    const auto& shown_children = w.known_children ? *w.known_children : w.children;
    for (const child_ptr& c : shown_children) {
        children.push_back(c.get());
    }
    for (const confirmed_absence& a : w.absences) {
        if (!holds(a.kind, a.name, pods, children)) {
            absences.push_back(a);
        }
    }
}

observed sight::observed() const {
    core::observed out{pods, children, of->refusals, absences, of->served};
    out.readings = of->readings;
    out.progress = of->reported.attempt > 0 ? &of->reported : nullptr;
    out.progress_since = of->heard_since;
    return out;
}

const decision& decision_of(const world& w) {
    if (!w.decided) {
        const sight shown(w);
        w.decided = std::make_shared<const decision>(
            decide(*w.known_job, shown.observed(), w.context->rules(), w.now)
        );
    }
    return *w.decided;
}

bool is_told(const decision& d, engine::reason what) {
    return std::ranges::find(d.events, to_string(what), &event::reason) != d.events.end();
}

std::vector<const action*> writes_of(const world& w) {
    const decision& d = decision_of(w);
    std::vector<const action*> out;
    if (d.status) {
        out.push_back(nullptr);
    }
    for (const stage& s : d.stages) {
        bool held = false;
        for (const action& a : s) {
            held = held || is_held(a, w.now);
            if (!is_held(a, w.now)) {
                out.push_back(&a);
            }
        }
        if (held) {
            break;
        }
    }
    return out;
}

bool is_refusal_kept(const action& a) {
    return a.what() == verb::create || a.what() == verb::patch || a.what() == verb::read;
}

void run_pass(world& w, const choice& c, outcome& out) {
    check_decision(w, decision_of(w), out.violations);
    check_repair(w, decision_of(w), out.violations);
    pass(w, c, out).run();
}

void restart(world& w) {
    w.known_job = w.job;
    w.job_held = false;
    w.known_pods.reset();
    w.known_children.reset();
    w.refusals.clear();
    w.absences.clear();
    w.readings.clear();
    w.reported = {};
    w.heard_since = w.context->config().reports ? std::optional(w.now) : std::nullopt;
}

}  // namespace signalbox::search
