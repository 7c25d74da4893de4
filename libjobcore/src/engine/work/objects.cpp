// SPDX-License-Identifier: Apache-2.0
//
// Objects other than pods: what is missing or was changed, and what the server said to that
// (BEHAVIOUR.md 2).
#include "engine/facts/ledger.hpp"
#include "engine/facts/refused_words.hpp"
#include "engine/view/children.hpp"
#include "engine/work/parts.hpp"
#include "gang/gang.hpp"
#include "json/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace signalbox::core::engine {
namespace {

/// An object that the job needs, in the attempt in force.
struct wanted_object {
    const job_plan& plan;
    const planned_object& object;
    object_identity identity;
    const render_options& options;
};

/// The merge patch that sets every field of ours and removes what is not to be there (2.6, 2.13):
/// of a Service selector keys that are not ours and addresses outside of the cluster that lead to
/// it, of a Deployment rights that a pod of ours does not have.
std::string repair_body(const wanted_object& w, const child_record& seen) {
    const std::string text = preview_object(w.plan, w.object, w.identity.attempt, w.options);
    json::document document;
    json::parse(document, text);
    auto& a = document.GetAllocator();
    document["metadata"].AddMember("uid", json::copy_string(seen.uid, a), a);
    for (const char* immutable : {"data", "type", "immutable"}) {
        document.RemoveMember(immutable);
    }
    if (w.object.kind == object_kind::deployment) {
        json::value& pod = document["spec"]["template"]["spec"];
        for (const char* right :
             {"serviceAccountName", "serviceAccount", "hostNetwork", "hostPID", "hostIPC"}) {
            pod.AddMember(rapidjson::StringRef(right), json::value(rapidjson::kNullType), a);
        }
    }
    if (w.object.kind == object_kind::service) {
        document["spec"].AddMember("externalIPs", json::value(rapidjson::kNullType), a);
        for (const std::string& key : seen.foreign_selector_keys) {
            document["spec"]["selector"].AddMember(
                json::copy_string(key, a), json::value(rapidjson::kNullType), a
            );
        }
    }
    return json::to_text(document);
}

action make(const wanted_object& w, std::string name) {
    std::string why = fmt::format("the job needs {} {}", to_string(w.object.kind), name);
    return {
        w.object.kind,
        std::move(name),
        create_object{w.identity},
        {},
        std::move(why),
        "behaviour 2.1"};
}

/// The action that makes an object that is there what it should be, or nothing.
std::optional<action> mend(
    const wanted_object& w, const key_object& keys, const child_record& seen
) {
    // No pod was made with it yet: perhaps somebody else made it, who knows its keys (2.13).
    if (w.object.has_keys() && seen.keys == key_standing::found && !keys.mounted) {
        return remove_child(seen, "who made its keys is not known", "behaviour 2.13");
    }
    if (seen.keys == key_standing::outdated ||
        seen.data_fingerprint != expected_data_fingerprint(w.plan, w.object, w.options)) {
        return remove_child(seen, "its data differ and cannot be changed", "behaviour 2.7");
    }
    if (seen.gang != nullptr && seen.gang->fixed) {
        return std::nullopt;  // the server would refuse it
    }
    const bool as_needed =
        seen.fingerprint == expected_fingerprint(w.plan, w.object, w.options, seen.fields) &&
        (seen.gang == nullptr || gang::is_current(w.plan, w.options, seen)) &&
        seen.selected_attempt == expected_selected_attempt(w.object, w.identity.attempt);
    // Labels of an object with keys are nothing that anybody looks at (2.10).
    if (as_needed || w.object.has_keys()) {
        return std::nullopt;
    }
    return action{
        w.object.kind,
        seen.name,
        patch_object{seen.uid, repair_body(w, seen), w.identity},
        {},
        fmt::format("{} {} differs from what the job needs", to_string(seen.kind), seen.name),
        "behaviour 2.6"};
}

/// What a scheduler goes on to place pods by, though somebody has deleted it: it goes with the last
/// pod (8.3).
bool is_in_use(const context& c, const planned_object& object) {
    return object.kind->use == kind_use::gang && c.in.plan.gang->by->outlives_deletion &&
           std::ranges::any_of(c.in.seen.pods, [&](const pod_record* pod) {
               return c.in.owns(*pod) && pod->attempt == c.status.attempt;
           });
}

/// Of the attempt's pods in view.
bool is_younger_than_pods(const pod_view& view, const child_record& seen) {
    bool younger = false;
    for_each_replica(view, [&](std::size_t, std::int32_t, const replica_view& s) {
        const bool both = s.current != nullptr && s.current->creation && seen.creation;
        younger = younger || (both && *seen.creation > *s.current->creation);
    });
    return younger;
}

}  // namespace

std::optional<instant> creations_held(const inputs& in) {
    std::optional<instant> held;
    for (const refusal& r : in.seen.refusals) {
        if (r.namespace_terminating) {
            const instant next = next_try(in.policy, r);
            held = std::max(held.value_or(next), next);
        }
    }
    return held;
}

void wait_for_refused(const refusal& r, work& out) {
    out.wait_for(
        r.kind == object_kind::pod ? wait_rank::pod_refused : wait_rank::object,
        r.foreign_owner ? reason::name_conflict : reason::object_refused,
        words_of(r)
    );
}

object_need need_of(
    const context& c, const health& h, std::size_t number, const render_options& options
) {
    const planned_object& object = *find_object(c.in.plan, number);
    const wanted_object wanted{c.in.plan, object, {number, c.status.attempt}, options};
    std::string name = object_name(object, c.status.attempt);
    const child_record* seen = find_child(c.in, object.kind, name);
    // Pods that have started hold the keys of this attempt: other ones would keep later pods from
    // them (2.6).
    const bool fixed = object.has_keys() && h.keys.in_use;
    if (fixed && (seen == nullptr || seen->deleting)) {
        return {};
    }
    object_need need;
    if (seen != nullptr && seen->deleting && !is_in_use(c, object)) {
        need.being_deleted = true;
        return need;
    }
    need.act = seen == nullptr ? make(wanted, std::move(name)) : mend(wanted, h.keys, *seen);
    if (!need.act || (fixed && need.act->what() != verb::patch)) {
        return {};
    }
    // What another version of the operator made: the attempt's pods began with it (2.7). One that
    // is younger than they are was put in its place (2.13).
    const bool of_the_attempt = object.kind == object_kind::config_map && h.keys.in_use &&
                                seen != nullptr && !is_younger_than_pods(c.view, *seen);
    if (of_the_attempt && need.act->what() == verb::remove) {
        return {};
    }
    const auto held = creations_held(c.in);
    if (held && need.act->what() == verb::create) {
        hold(*need.act, *held, c.in.now);
    }
    need.refused = find_refusal(c.in, object.kind, need.act->name);
    if (need.refused != nullptr) {
        hold(*need.act, next_try(c.in.policy, *need.refused), c.in.now);
    }
    return need;
}

bool ensure_objects(const context& c, const health& h, work& out) {
    bool ready = true;
    stage actions;
    const auto& objects = c.in.plan.objects;
    const render_options options = render_options_of(c.status, c.in.plan);
    for (std::size_t i = 0; i < objects.size(); ++i) {
        if (i > 0 && objects[i].kind != objects[i - 1].kind) {
            out.add(std::exchange(actions, {}));
        }
        object_need need = need_of(c, h, i, options);
        ready = ready && !need.act && !need.being_deleted;
        if (need.being_deleted) {
            out.wait_for(
                wait_rank::object,
                reason::waiting_for_names,
                fmt::format(
                    "{} {} is being deleted",
                    to_string(objects[i].kind),
                    object_name(objects[i], c.status.attempt)
                )
            );
        }
        if (need.refused != nullptr) {
            wait_for_refused(*need.refused, out);
        }
        if (need.act) {
            actions.push_back(std::move(*need.act));
        }
    }
    out.add(std::move(actions));
    return ready;
}

void remove_old_config_maps(const context& c, work& out) {
    stage actions;
    for (const child_record* child : c.in.seen.children) {
        const bool older = child->kind == object_kind::config_map && c.in.owns(*child) &&
                           child->attempt != c.status.attempt && !child->deleting;
        const bool in_use = older && std::ranges::any_of(c.in.seen.pods, [&](const auto* pod) {
                                return c.in.owns(*pod) && pod->attempt == child->attempt;
                            });
        if (older && !in_use) {
            actions.push_back(remove_child(*child, "no pod of its attempt is left", "behaviour 5.7")
            );
        }
    }
    std::ranges::sort(actions, {}, &action::name);
    out.add(std::move(actions));
}

}  // namespace signalbox::core::engine
