// SPDX-License-Identifier: Apache-2.0
#include "cli/recording.hpp"

#include "controller/resource_table.hpp"
#include "manifests/json_edit.hpp"

#include <k8sio/resource.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

namespace signalbox::op::cli {

namespace {

using core::object_kind;

std::optional<object_kind> child_kind(const recorded_object& object) {
    return core::parse_child_kind(object.api_version, object.kind);
}

bool is_job(const recorded_object& object) {
    return object.api_version == core::api_version && core::parse_job_kind(object.kind);
}

bool is_newer(const recorded_object& a, const recorded_object& b) {
    constexpr const char* version = "/metadata/resourceVersion";
    return k8sio::compare_versions(
               manifests::string_at(a.json, version), manifests::string_at(b.json, version)
           ) == k8sio::version_order::newer;
}

/// The newest of each UID, so that neither order nor repetition matters.
std::map<std::string, const recorded_object*> newest_of(std::span<const recorded_object> objects) {
    std::map<std::string, const recorded_object*> out;
    for (const recorded_object& object : objects) {
        if (!is_job(object) && !child_kind(object)) {
            continue;
        }
        const auto [it, is_new] =
            out.try_emplace(manifests::string_at(object.json, "/metadata/uid"), &object);
        if (!is_new && is_newer(object, *it->second)) {
            it->second = &object;
        }
    }
    return out;
}

void add_child(recorded_job& to, const recorded_object& object, object_kind kind) {
    const core::job_meta& job = to.job.meta;
    if (kind == object_kind::pod) {
        if (auto pod = core::decode_pod(object.json);
            pod && core::is_child_of(*pod, job.uid, job.ns)) {
            to.pods.push_back(std::move(*pod));
        }
    } else if (auto child = core::decode_child(kind, object.json);
               child && core::is_child_of(*child, job.uid, job.ns)) {
        to.children.push_back(std::move(*child));
    }
}

/// What the server serves, as far as objects tell. A recording has one version of each.
core::capabilities conclude_served(const recorded_job& r) {
    const auto has = [&](object_kind kind) {
        return std::ranges::find(r.children, kind, &core::child_record::kind) != r.children.end();
    };
    const auto has_some_version = [&](object_kind kind) {
        return std::ranges::any_of(r.children, [&](const core::child_record& c) {
            return is_same_resource(type_of(c.kind, {}), type_of(kind, {}));
        });
    };
    core::capabilities out;
    const bool waits = r.job.status.reason == "WaitingForPodGroup";
    for (const object_kind kind : core::all_child_kinds()) {
        if (kind->use != core::kind_use::gang || !kind->extension) {
            continue;
        }
        if (waits || (!has(kind) && has_some_version(kind))) {
            out.set(kind, core::served::no);
        } else if (has(kind) || !r.pods.empty()) {
            out.set(kind, core::served::yes);  // no pod precedes it (BEHAVIOUR.md 8.4)
        }
    }
    const std::string board = r.job.status.tensorboard ? r.job.status.tensorboard->type : "";
    if (has(object_kind::tensorboard) || board == core::to_string(object_kind::tensorboard)) {
        out.set(object_kind::tensorboard, core::served::yes);
    } else if (has(object_kind::deployment) || !board.empty()) {
        out.set(object_kind::tensorboard, core::served::no);
    }
    return out;
}

void look(recorded_job& r) {
    r.pod_views.clear();
    r.child_views.clear();
    std::ranges::transform(r.pods, std::back_inserter(r.pod_views), [](auto& p) { return &p; });
    std::ranges::transform(r.children, std::back_inserter(r.child_views), [](auto& c) {
        return &c;
    });
}

/// Takes children of kinds that were not recorded as there and unchanged.
class gap_filler {
public:
    gap_filler(recorded_job& r, std::set<object_kind> known, core::instant now)
        : r_(r), known_(std::move(known)), now_(now) {}

    void run() {
        core::job_object job = r_.job;
        // Each pass may get one kind further (BEHAVIOUR.md 2.1).
        for (std::size_t pass = 0; pass < 2 * core::all_child_kinds().size(); ++pass) {
            look(r_);
            const core::decision d = core::decide(job, r_.seen(), core::policy(), now_);
            if (d.status) {
                job.status = *d.status;
            }
            if (!take(job, d) && !d.status) {
                break;
            }
        }
        if (!taken_.empty()) {
            r_.notes.push_back(fmt::format(
                "The recording has no {}: those of the job are taken as there and unchanged",
                fmt::join(taken_, ", ")
            ));
        }
    }

private:
    bool take(const core::job_object& job, const core::decision& d) {
        bool changed = false;
        for (const core::stage& actions : d.stages) {
            for (const core::action& a : actions) {
                const bool missing =
                    a.what() == core::verb::create || a.what() == core::verb::confirm;
                if (missing && a.kind != object_kind::pod && !known_.contains(a.kind)) {
                    changed = take(job, d, a) || changed;
                }
            }
        }
        return changed;
    }

    bool take(const core::job_object& job, const core::decision& d, core::action a) {
        if (a.what() == core::verb::confirm) {
            const auto& objects = job.compiled->plan->objects;
            const std::int32_t attempt = job.status.attempt;
            const auto it = std::ranges::find_if(objects, [&](const core::planned_object& o) {
                return o.kind == a.kind && core::object_name(o, attempt) == a.name;
            });
            const auto number = static_cast<std::size_t>(it - objects.begin());
            a.request = core::create_object{{number, attempt}};
        }
        const std::string made = manifests::with_string(
            core::preview_action(job, d, a), "/metadata/uid", "taken-" + a.name
        );
        auto child = core::decode_child(a.kind, made);
        if (!child) {
            return false;
        }
        recall_tensorboard(*child);
        r_.children.push_back(std::move(*child));
        taken_.insert(std::string(core::to_string(a.kind)));
        return true;
    }

    /// How it was is on record (BEHAVIOUR.md 9.2).
    void recall_tensorboard(core::child_record& child) const {
        const auto& board = r_.job.status.tensorboard;
        if (board && board->dependent && board->dependent->name == child.name &&
            board->dependent->kind == core::to_string(child.kind)) {
            child.uid = board->dependent->uid;
            child.ready = board->ready;
            child.reason = board->reason;
        }
    }

    recorded_job& r_;
    std::set<object_kind> known_;
    core::instant now_;
    std::set<std::string> taken_;
};

/// Children exist before pods do (BEHAVIOUR.md 2.1); without pods nothing is known of them.
bool had_children(const recorded_job& r) {
    const core::job_status& status = r.job.status;
    return r.job.compiled->plan && !core::is_final(status.phase) &&
           status.phase != core::job_phase::paused &&
           (!r.pods.empty() || !status.restarts.seen.empty());
}

void note_missing_pods(recorded_job& r) {
    if (r.pods.empty() && !r.job.status.restarts.seen.empty() &&
        !core::is_final(r.job.status.phase)) {
        r.notes.emplace_back(
            "The recording has no pod, though the job had some: if pods were left out of it, what "
            "is said about them is wrong"
        );
    }
}

recorded_job assemble(
    const std::map<std::string, const recorded_object*>& objects,
    core::job_object job,
    const recorded_object& source,
    const recording_facts& facts
) {
    recorded_job r;
    r.job = std::move(job);
    r.json = source.json;
    std::set<object_kind> known = facts.complete;
    for (const auto& [uid, object] : objects) {
        if (const auto kind = child_kind(*object)) {
            known.insert(*kind);
            add_child(r, *object, *kind);
        }
    }
    r.served = facts.served ? *facts.served : conclude_served(r);
    if (!known.contains(object_kind::pod)) {
        note_missing_pods(r);
    }
    if (had_children(r)) {
        gap_filler(r, std::move(known), facts.now).run();
    }
    look(r);
    return r;
}

}  // namespace

core::observed recorded_job::seen() const {
    core::observed out;
    out.pods = pod_views;
    out.children = child_views;
    out.served_kinds = served;
    out.no_room = job.status.reason == "WaitingForRoom";  // what others take was not recorded
    return out;
}

recording read_recording(std::span<const recorded_object> objects, const recording_facts& facts) {
    recording out;
    const auto by_uid = newest_of(objects);
    for (const recorded_object& object : objects) {
        if (!is_job(object)) {
            continue;
        }
        const std::string uid = manifests::string_at(object.json, "/metadata/uid");
        if (uid.empty()) {
            out.errors.push_back(fmt::format(
                "{}: /metadata/uid: missing: this is a manifest, not what a cluster has of it; "
                "`kubectl get -o yaml` prints that, and `signalbox plan` takes manifests",
                object.place
            ));
            continue;
        }
        if (by_uid.at(uid) != &object) {
            continue;
        }
        auto job = core::read_job(object.json);
        if (!job) {
            out.errors.push_back(fmt::format("{}: {}", object.place, job.error()));
            continue;
        }
        out.jobs.push_back(assemble(by_uid, std::move(*job), object, facts));
    }
    std::ranges::sort(out.jobs, {}, [](const recorded_job& r) {
        const core::job_meta& m = r.job.meta;
        return std::tie(m.kind, m.ns, m.name, m.uid);
    });
    return out;
}

}  // namespace signalbox::op::cli
