// SPDX-License-Identifier: Apache-2.0
#include "property/cluster.hpp"

#include "property/server_side.hpp"
#include "signalbox_test/jobcore_builders.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace signalbox::test {

using namespace core;

namespace {

bool is_ours(const cluster& c, const std::string& owner_uid) {
    return owner_uid == c.job.meta.uid;
}

std::string describe(const action& a) {
    return std::string(to_string(a.what())) + " " + std::string(to_string(a.kind)) + " " + a.name;
}

}  // namespace

cluster::cluster(draft job_draft) : wish(std::move(job_draft)), now(story_start) {
    served = all_served();
    reload();
}

void cluster::reload() {
    auto read = read_job(wish.json());
    if (!read) {
        throw std::runtime_error("the drawn job is not readable: " + read.error());
    }
    if (!read->compiled->plan && !wish.broken) {
        std::string text = "the drawn job is invalid:";
        for (const diagnostic& d : read->compiled->findings) {
            text += "\n" + d.pointer + ": " + d.message;
        }
        throw std::runtime_error(text + "\n" + wish.json());
    }
    read->status = std::move(job.status);
    job = std::move(*read);
    ++wish.generation;
}

sight cluster::look() const {
    sight shown;
    for (const pod_record& p : pods) {
        shown.pods.push_back(&p);
    }
    for (const child_record& c : children) {
        shown.children.push_back(&c);
    }
    for (const confirmed_absence& a : absences) {
        const bool back =
            a.kind == object_kind::pod ? holds(pods, a.name) : holds(children, a.name);
        if (!back) {
            shown.absences.push_back(a);
        }
    }
    shown.refusals = refusals;
    shown.served = served;
    return shown;
}

decision cluster::decide_on(const sight& shown) const {
    return core::decide(job, shown.observed(), rules, now);
}

decision cluster::decide_reversed() const {
    sight shown = look();
    std::ranges::reverse(shown.pods);
    std::ranges::reverse(shown.children);
    std::ranges::reverse(shown.absences);
    std::ranges::reverse(shown.refusals);
    return decide_on(shown);
}

bool cluster::carry_out(const decision& d, const gate& takes_effect, bool defers) {
    job_object decided = job;
    bool busy = false;
    if (d.status) {
        decided.status = *d.status;
        if (!(defers && d.deferrable())) {
            job.status = *d.status;
            busy = true;
        }
    }
    prune_refusals(d);
    bool confirms = false;
    bool stopped = false;
    for (const stage& actions : d.stages) {
        // A later stage waits for every action of this one to be acknowledged.
        bool acknowledged = true;
        for (const action& a : actions) {
            confirms = confirms || a.what() == verb::confirm;
            const bool held = a.not_before && *a.not_before > now;
            if (held || stopped) {
                acknowledged = false;
                continue;
            }
            busy = true;
            acknowledged = takes_effect() && carry_out(a, decided, d) && acknowledged;
        }
        stopped = stopped || !acknowledged;
    }
    if (!confirms) {
        absences.clear();
    }
    return busy;
}

bool cluster::carry_out(const action& a, const job_object& decided, const decision& made) {
    switch (a.what()) {
        case verb::create:
            return create(a, decided, made);
        case verb::patch:
            return patch(a, decided, made);
        case verb::remove:
            return remove(a);
        case verb::confirm:
            return confirm(a);
        case verb::read:
            break;  // no log is read here
    }
    return false;
}

template <class List>
bool cluster::holds(const List& list, const std::string& name) {
    return std::ranges::any_of(list, [&](const auto& o) { return o.name == name; });
}

bool cluster::is_stuck(const pod_record& pod) const {
    const auto note = wish.annotations.find("batch.tensorstack.dev/stuck-after");
    const milliseconds bound =
        note == wish.annotations.end() ? rules.stuck_after : seconds(std::stoi(note->second));
    return bound.count() > 0 && pod.deletion && now > *pod.deletion + bound;
}

bool cluster::is_older(const pod_record& pod, std::int32_t attempt) const {
    return pod.attempt != gone_attempt && pod.attempt < attempt;
}

void cluster::check_creation(const action& a) {
    if (a.kind != object_kind::pod) {
        return;
    }
    if (holds(pods, a.name)) {
        faults.push_back("I1 a pod is created while one of its name is there: " + a.name);
    }
    for (const pod_record& p : pods) {
        if (!is_ours(*this, p.owner_uid)) {
            continue;
        }
        if (is_older(p, a.pod()->attempt) && !is_stuck(p)) {
            faults.push_back(
                "I8 " + a.name + " is created beside " + p.name + " of an older attempt"
            );
        }
        const pod_identity id = identity_of(plan(), p);
        if (is_live(p) && p.attempt == a.pod()->attempt && id.type == a.pod()->type &&
            id.index == a.pod()->index) {
            faults.push_back("I1 " + a.name + " is created beside " + p.name);
        }
    }
}

std::string cluster::new_uid(const action& a) {
    const refusal place = refusal_of(a, now);
    const std::string key =
        fmt::format("uid-{}-{}-{}.{}", to_string(a.kind), a.name, place.attempt, place.round);
    return fmt::format("{}-{}", key, ++made_[key]);
}

void cluster::note_refusal(const action& a, int code, const std::string& message, bool is_foreign) {
    const auto same =
        std::ranges::find_if(refusals, [&](const refusal& r) { return is_refusal_of(r, a); });
    const bool fresh = same == refusals.end();
    refusal& r = fresh ? refusals.emplace_back(refusal_of(a, now)) : *same;
    r.count += fresh ? 0 : 1;
    r.http_code = code;
    r.reason = code == 422 ? "Invalid" : code == 409 ? "AlreadyExists" : "Forbidden";
    r.message = message;
    r.foreign_owner = is_foreign;
    r.namespace_terminating = server == mood::namespace_terminating;
    r.last = now;
}

bool cluster::refused(const action& a) {
    if (foreign.contains({a.kind, a.name})) {
        note_refusal(a, 409, "the name is taken", true);
        return true;
    }
    const bool pod = a.kind == object_kind::pod;
    switch (server) {
        case mood::good:
            return false;
        case mood::quota:
            if (pod) {
                note_refusal(a, 403, "exceeded quota: pods", false);
            }
            return pod;
        case mood::forbidden:
        case mood::invalid:
            if (pod) {
                note_refusal(a, server == mood::invalid ? 422 : 403, "no such pods here", false);
            }
            return pod;
        case mood::refuses_objects:
            if (!pod) {
                note_refusal(a, 403, "no such objects here", false);
            }
            return !pod;
        case mood::namespace_terminating:
            note_refusal(a, 403, "namespace default is being terminated", false);
            return true;
    }
    return false;
}

bool cluster::create(const action& a, const job_object& decided, const decision& made) {
    check_creation(a);
    const bool taken = a.kind == object_kind::pod
                           ? holds(pods, a.name)
                           : std::ranges::any_of(children, [&](const auto& c) {
                                 return c.kind == a.kind && c.name == a.name;
                             });
    if (taken) {
        if (a.kind != object_kind::pod) {
            faults.push_back("I21 an object that is in view is created: " + describe(a));
        }
        return false;
    }
    if (refused(a)) {
        return false;
    }
    const std::string json = accepted(preview_action(decided, made, a), new_uid(a), now, a.kind);
    std::erase_if(refusals, [&](const refusal& r) { return r.kind == a.kind && r.name == a.name; });
    if (a.kind == object_kind::pod) {
        pods.push_back(decode_pod(json).value());
        std::erase_if(absences, [&](const auto& x) {
            return x.kind == object_kind::pod && x.name == a.name;
        });
    } else {
        children.push_back(decode_child(a.kind, json).value());
    }
    return true;
}

bool cluster::patch(const action& a, const job_object& decided, const decision& made) {
    if (a.kind == object_kind::job) {
        const std::string key = "\"expectedReplicas\":";
        const std::string body(a.body());
        const std::size_t at = body.find(key);
        if (at == body.npos) {
            faults.push_back("7.1 an unknown patch of the job: " + body);
            return false;
        }
        (wish.elastic ? wish.elastic->expected : wish.noted) =
            std::stoi(body.substr(at + key.size()));
        reload();
        return true;
    }
    if (a.kind == object_kind::pod) {
        for (pod_record& p : pods) {
            if (p.uid == a.uid() && a.body().find("\"gone\"") != std::string_view::npos) {
                p.attempt = gone_attempt;
            }
        }
        return true;
    }
    for (child_record& c : children) {
        if (c.uid == a.uid()) {
            auto repaired = decode_child(
                a.kind, accepted(preview_action(decided, made, a), c.uid, now, a.kind)
            );
            repaired->ready = c.ready;
            repaired->data_fingerprint = c.data_fingerprint;  // no one can change that part
            repaired->creation = c.creation;
            c = std::move(*repaired);
        }
    }
    return true;
}

bool cluster::remove(const action& a) {
    if (a.kind == object_kind::job) {
        job_deleted = true;
        return true;
    }
    if (a.kind != object_kind::pod) {
        children.remove_if([&](const child_record& c) { return c.uid == a.uid(); });
        return true;
    }
    for (pod_record& p : pods) {
        if (p.uid == a.uid() && !p.deletion) {
            p.deletion = now + seconds(30);
            p.grace_seconds = 30;
        }
    }
    if (!slow_deletes) {
        pods.remove_if([&](const pod_record& p) { return p.uid == a.uid(); });
    }
    return true;
}

bool cluster::confirm(const action& a) {
    const bool there = a.kind == object_kind::pod ? holds(pods, a.name) : holds(children, a.name);
    if (!there) {
        absences.push_back({a.kind, a.name});
    }
    return true;
}

void cluster::prune_refusals(const decision& d) {
    std::erase_if(refusals, [&](const refusal& r) {
        return std::ranges::none_of(d.stages, [&](const stage& s) {
            return std::ranges::any_of(s, [&](const action& a) { return is_refusal_of(r, a); });
        });
    });
}

}  // namespace signalbox::test
