// SPDX-License-Identifier: Apache-2.0
#include "engine/objects.hpp"

#include "engine/backoff.hpp"
#include "engine/ledger.hpp"
#include "json/json.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace signalbox::core::engine {
namespace {

/// The merge patch that sets every field of ours and removes selector keys that are not ours (2.6).
std::string repair_body(const pass& p, const planned_object& object, const child_record& seen) {
    const auto wanted = wanted_in_force(p.next, p.plan);
    const std::string text =
        render_object(p.plan, object, p.next.attempt, {is_resumed(p.next), wanted});
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

action create_object(const pass& p, const planned_object& object, std::string name) {
    action a;
    a.what = verb::create;
    a.kind = object.kind;
    a.why = fmt::format("the job needs {} {}", to_string(object.kind), name);
    a.rule = "behaviour 2.1";
    a.name = std::move(name);
    a.pod.attempt = p.next.attempt;
    return a;
}

/// The action that makes an object that is there what it should be, or nothing.
std::optional<action> mend(pass& p, const planned_object& object, const child_record& seen) {
    const auto wanted = wanted_in_force(p.next, p.plan);
    const render_options options{is_resumed(p.next), wanted};
    if (seen.data_fingerprint != expected_data_fingerprint(p.plan, object, options)) {
        return remove_child(seen, "its data differ and cannot be changed", "behaviour 2.7");
    }
    if (seen.fingerprint == expected_fingerprint(p.plan, object, p.next.attempt, options)) {
        return std::nullopt;
    }
    action a;
    a.what = verb::patch;
    a.kind = object.kind;
    a.name = seen.name;
    a.uid = seen.uid;
    a.pod.attempt = p.next.attempt;
    a.body = repair_body(p, object, seen);
    a.why = fmt::format("{} {} differs from what the job needs", to_string(seen.kind), seen.name);
    a.rule = "behaviour 2.6";
    return a;
}

}  // namespace

const child_record* find_child(const pass& p, object_kind kind, std::string_view name) {
    const child_record* found = nullptr;
    for (const child_record* c : p.seen.children) {
        if (c->kind == kind && c->name == name && c->owner_uid == p.plan.job_uid) {
            found = c;
        }
    }
    return found;
}

const refusal* find_refusal(const pass& p, object_kind kind, std::string_view name) {
    const auto it = std::ranges::find_if(p.seen.refusals, [&](const refusal& r) {
        return r.kind == kind && r.name == name;
    });
    return it == p.seen.refusals.end() ? nullptr : &*it;
}

bool is_confirmed_absent(const pass& p, object_kind kind, std::string_view name) {
    return std::ranges::any_of(p.seen.absences, [&](const confirmed_absence& a) {
        return a.kind == kind && a.name == name;
    });
}

action remove_child(const child_record& child, std::string why, std::string_view rule) {
    action a;
    a.what = verb::remove;
    a.kind = child.kind;
    a.name = child.name;
    a.uid = child.uid;
    a.why = std::move(why);
    a.rule = rule;
    return a;
}

bool is_quota(const refusal& r) {
    return r.http_code == 403 && r.message.find("exceeded quota") != r.message.npos;
}

instant next_try(const pass& p, const refusal& r) {
    return r.last + doubled(p.rules.name_retry, r.count - 1, p.rules.name_retry_max);
}

void hold(pass& p, action& a, const refusal& r) {
    p.put_off(a, next_try(p, r));
}

void tell_refusal(pass& p, const refusal& r) {
    const bool conflict = r.foreign_owner;
    p.wait_for(
        conflict ? reason::name_conflict : reason::object_refused,
        conflict ? fmt::format("{} {} belongs to another owner", to_string(r.kind), r.name)
                 : fmt::format("{} {} was refused: {}", to_string(r.kind), r.name, r.message)
    );
}

object_need need_of(pass& p, std::size_t number) {
    const planned_object& object = *find_object(p.plan, number);
    std::string name = object_name(object, p.next.attempt);
    const child_record* seen = find_child(p, object.kind, name);
    // Pods that have started hold the keys of this attempt: other ones would keep later pods from
    // them (2.6; see check_secret).
    const bool fixed = object.kind == object_kind::secret && p.keys_in_use;
    if (fixed && (seen == nullptr || seen->deleting)) {
        return {};
    }
    object_need need;
    if (seen != nullptr && seen->deleting) {
        need.being_deleted = true;
        return need;
    }
    need.act = seen == nullptr ? create_object(p, object, std::move(name)) : mend(p, object, *seen);
    if (!need.act || (fixed && need.act->what != verb::patch)) {
        return {};
    }
    need.act->object = number;
    if (p.creations_held && need.act->what == verb::create) {
        p.put_off(*need.act, *p.creations_held);
    }
    need.refused = find_refusal(p, object.kind, need.act->name);
    if (need.refused != nullptr) {
        hold(p, *need.act, *need.refused);
    }
    return need;
}

bool ensure_objects(pass& p) {
    bool ready = true;
    stage actions;
    for (std::size_t i = 0; i < p.plan.objects.size(); ++i) {
        const planned_object& object = p.plan.objects[i];
        if (i > 0 && object.kind != p.plan.objects[i - 1].kind) {
            p.add_stage(std::exchange(actions, {}));
        }
        object_need need = need_of(p, i);
        ready = ready && !need.act && !need.being_deleted;
        if (need.being_deleted) {
            p.wait_for(
                reason::waiting_for_names,
                fmt::format(
                    "{} {} is being deleted",
                    to_string(object.kind),
                    object_name(object, p.next.attempt)
                )
            );
        }
        if (need.refused != nullptr) {
            tell_refusal(p, *need.refused);
        }
        if (need.act) {
            actions.push_back(std::move(*need.act));
        }
    }
    p.add_stage(std::move(actions));
    return ready;
}

void remove_old_config_maps(pass& p) {
    stage actions;
    for (const child_record* c : p.seen.children) {
        const bool older = c->kind == object_kind::config_map && c->attempt != p.next.attempt &&
                           c->owner_uid == p.plan.job_uid && !c->deleting;
        const bool in_use =
            older && std::ranges::any_of(p.seen.pods, [&](const pod_record* pod) {
                return pod->owner_uid == p.plan.job_uid && pod->attempt == c->attempt;
            });
        if (older && !in_use) {
            actions.push_back(remove_child(*c, "no pod of its attempt is left", "behaviour 5.7"));
        }
    }
    std::ranges::sort(actions, {}, &action::name);
    p.add_stage(std::move(actions));
}

}  // namespace signalbox::core::engine
