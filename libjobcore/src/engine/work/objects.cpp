// SPDX-License-Identifier: Apache-2.0
//
// Objects other than pods: what is missing or was changed, and what the server said to that
// (BEHAVIOUR.md 2).
#include "engine/facts/ledger.hpp"
#include "engine/view/children.hpp"
#include "engine/work/parts.hpp"
#include "json/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace signalbox::core::engine {
namespace {

/// The merge patch that sets every field of ours and removes selector keys that are not ours (2.6).
std::string repair_body(const context& c, const planned_object& object, const child_record& seen) {
    const auto wanted = wanted_in_force(c.status, c.in.plan);
    const std::string text =
        render_object(c.in.plan, object, c.status.attempt, {c.in.resumed(), wanted});
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

action create_object(const context& c, const planned_object& object, std::string name) {
    action a;
    a.what = verb::create;
    a.kind = object.kind;
    a.why = fmt::format("the job needs {} {}", to_string(object.kind), name);
    a.rule = "behaviour 2.1";
    a.name = std::move(name);
    a.pod.attempt = c.status.attempt;
    return a;
}

/// The action that makes an object that is there what it should be, or nothing.
std::optional<action> mend(
    const context& c, const planned_object& object, const child_record& seen
) {
    const auto wanted = wanted_in_force(c.status, c.in.plan);
    const render_options options{c.in.resumed(), wanted};
    if (seen.data_fingerprint != expected_data_fingerprint(c.in.plan, object, options)) {
        return remove_child(seen, "its data differ and cannot be changed", "behaviour 2.7");
    }
    if (seen.fingerprint == expected_fingerprint(c.in.plan, object, c.status.attempt, options)) {
        return std::nullopt;
    }
    action a;
    a.what = verb::patch;
    a.kind = object.kind;
    a.name = seen.name;
    a.uid = seen.uid;
    a.pod.attempt = c.status.attempt;
    a.body = repair_body(c, object, seen);
    a.why = fmt::format("{} {} differs from what the job needs", to_string(seen.kind), seen.name);
    a.rule = "behaviour 2.6";
    return a;
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
    const bool taken = r.foreign_owner;
    out.wait_for(
        r.kind == object_kind::pod ? wait_rank::pod_refused : wait_rank::object,
        taken ? reason::name_conflict : reason::object_refused,
        taken ? fmt::format("{} {} belongs to another owner", to_string(r.kind), r.name)
              : fmt::format("{} {} was refused: {}", to_string(r.kind), r.name, r.message)
    );
}

object_need need_of(const context& c, const health& h, std::size_t number) {
    const planned_object& object = *find_object(c.in.plan, number);
    std::string name = object_name(object, c.status.attempt);
    const child_record* seen = find_child(c.in, object.kind, name);
    // Pods that have started hold the keys of this attempt: other ones would keep later pods from
    // them (2.6).
    const bool fixed = object.kind == object_kind::secret && h.keys.in_use;
    if (fixed && (seen == nullptr || seen->deleting)) {
        return {};
    }
    object_need need;
    if (seen != nullptr && seen->deleting) {
        need.being_deleted = true;
        return need;
    }
    need.act = seen == nullptr ? create_object(c, object, std::move(name)) : mend(c, object, *seen);
    if (!need.act || (fixed && need.act->what != verb::patch)) {
        return {};
    }
    need.act->object = number;
    const auto held = creations_held(c.in);
    if (held && need.act->what == verb::create) {
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
    for (std::size_t i = 0; i < objects.size(); ++i) {
        if (i > 0 && objects[i].kind != objects[i - 1].kind) {
            out.add(std::exchange(actions, {}));
        }
        object_need need = need_of(c, h, i);
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
