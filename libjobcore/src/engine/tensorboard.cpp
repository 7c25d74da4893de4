// SPDX-License-Identifier: Apache-2.0
//
// The TensorBoard beside a job (BEHAVIOUR.md 9). Nothing here holds or fails the job.
#include "engine/objects.hpp"
#include "engine/pass.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace signalbox::core::engine {
namespace {

/// How a TensorBoard is run.
enum class way {
    undecided,  ///< it is not known yet whether the server serves the kind
    object,     ///< the cluster's own TensorBoard object
    own,        ///< a Deployment and a Service of ours
};

/// One that is there stays as it is: a kind that appears later moves nothing.
way choose(const pass& p) {
    for (const planned_object& object : p.plan.tensorboard_objects) {
        const bool there = object.kind != object_kind::service &&
                           find_child(p, object.kind, object.name) != nullptr;
        if (there) {
            return object.kind == object_kind::tensorboard ? way::object : way::own;
        }
    }
    switch (p.seen.served_kinds.tensorboard) {
        case served::yes:
            return way::object;
        case served::no:
            return way::own;
        case served::unknown:
            break;
    }
    return way::undecided;
}

bool belongs(const planned_object& object, way chosen) {
    return chosen != way::undecided &&
           (object.kind == object_kind::tensorboard) == (chosen == way::object);
}

/// The object whose state is shown.
const planned_object* shown_object(const pass& p, way chosen) {
    const auto it = std::ranges::find_if(p.plan.tensorboard_objects, [&](const planned_object& o) {
        return belongs(o, chosen) && o.kind != object_kind::service;
    });
    return it == p.plan.tensorboard_objects.end() ? nullptr : &*it;
}

/// `tensorboardSpec` was taken out of the specification.
void remove_unasked(pass& p) {
    stage actions;
    for (const child_record* c : p.seen.children) {
        const bool asked =
            std::ranges::any_of(p.plan.tensorboard_objects, [&](const planned_object& o) {
                return o.kind == c->kind && o.name == c->name;
            });
        if (is_of_tensorboard(p.plan, *c) && !asked && !c->deleting &&
            c->owner_uid == p.plan.job_uid) {
            actions.push_back(
                remove_child(*c, "the job asks for no TensorBoard any more", "behaviour 9.1")
            );
        }
    }
    std::ranges::sort(actions, {}, &action::name);
    p.add_stage(std::move(actions));
}

void note_action(pass& p, std::string_view what) {
    if (!p.next.tensorboard) {
        p.next.tensorboard.emplace();
    }
    p.next.tensorboard->action = what;
}

}  // namespace

bool is_of_tensorboard(const job_plan& plan, const child_record& child) {
    return child.kind == object_kind::tensorboard || child.kind == object_kind::deployment ||
           child.name == plan.base_name + "-tensorboard";
}

void keep_tensorboard(pass& p) {
    remove_unasked(p);
    const way chosen = choose(p);
    stage actions;
    for (std::size_t i = 0; i < p.plan.tensorboard_objects.size(); ++i) {
        const planned_object& object = p.plan.tensorboard_objects[i];
        object_need need =
            belongs(object, chosen) ? need_of(p, p.plan.objects.size() + i) : object_need{};
        if (!need.act) {
            continue;
        }
        if (object.kind != object_kind::service) {
            note_action(p, need.act->what == verb::create ? "Create" : "Update");
        }
        need.act->rule = "behaviour 9.1";
        actions.push_back(std::move(*need.act));
    }
    p.add_stage(std::move(actions));
}

void mirror_tensorboard(pass& p) {
    if (p.frozen) {
        return;
    }
    if (p.plan.tensorboard_objects.empty()) {
        p.next.tensorboard.reset();
        return;
    }
    tensorboard_status shown;
    shown.action = p.next.tensorboard ? p.next.tensorboard->action : "";
    const planned_object* object = shown_object(p, choose(p));
    if (object == nullptr) {
        shown.reason = reason::waiting_for_discovery;
        shown.note = "whether the API server serves TensorBoard objects is not known yet";
        p.next.tensorboard = std::move(shown);
        return;
    }
    shown.name = object->name;
    shown.type = to_string(object->kind);
    const child_record* seen = find_child(p, object->kind, object->name);
    if (seen == nullptr) {
        const refusal* r = find_refusal(p, object->kind, object->name);
        shown.reason = r == nullptr ? reason::not_created : reason::object_refused;
        shown.note = r == nullptr ? "" : cut_message(r->message, 512);
    } else {
        shown.dependent = dependent_reference{
            std::string(api_version_of(object->kind)),
            shown.type,
            seen->name,
            p.plan.ns,
            seen->uid};
        shown.ready = seen->ready;
        shown.reason = seen->ready            ? ""
                       : seen->reason.empty() ? std::string(reason::not_ready)
                                              : seen->reason;
    }
    p.next.tensorboard = std::move(shown);
}

}  // namespace signalbox::core::engine
