// SPDX-License-Identifier: Apache-2.0
//
// Objects other than pods: what is missing or was changed, and what the server said to that
// (BEHAVIOUR.md 2).
#include "engine/facts/ledger.hpp"
#include "engine/facts/refused_words.hpp"
#include "engine/view/children.hpp"
#include "engine/work/parts.hpp"
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

/// The merge patch that sets every field of ours and removes selector keys that are not ours (2.6).
std::string repair_body(const wanted_object& w, const child_record& seen) {
    const std::string text = preview_object(w.plan, w.object, w.identity.attempt, w.options);
    json::document document;
    json::parse(document, text);
    auto& a = document.GetAllocator();
    document["metadata"].AddMember("uid", json::copy_string(seen.uid, a), a);
    for (const char* immutable : {"data", "type", "immutable"}) {
        document.RemoveMember(immutable);
    }
    if (document.HasMember("spec") && document["spec"].HasMember("selector")) {
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
std::optional<action> mend(const wanted_object& w, const child_record& seen) {
    if (seen.data_fingerprint != expected_data_fingerprint(w.plan, w.object, w.options)) {
        return remove_child(seen, "its data differ and cannot be changed", "behaviour 2.7");
    }
    const auto expected = expected_fingerprint(w.plan, w.object, w.identity.attempt, w.options);
    // Labels of an object with keys are nothing that anybody looks at (2.10).
    if (seen.fingerprint == expected || w.object.has_keys()) {
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
    if (seen != nullptr && seen->deleting) {
        need.being_deleted = true;
        return need;
    }
    need.act = seen == nullptr ? make(wanted, std::move(name)) : mend(wanted, *seen);
    if (!need.act || (fixed && need.act->what() != verb::patch)) {
        return {};
    }
    // What another version of the operator made: the attempt's pods began with it (2.7).
    const bool of_the_attempt = object.kind == object_kind::config_map && h.keys.in_use;
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
