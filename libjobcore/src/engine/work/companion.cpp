// SPDX-License-Identifier: Apache-2.0
//
// What follows the training of a job, its TensorBoard (BEHAVIOUR.md 9). Nothing here holds or fails
// the job.
#include "engine/view/children.hpp"
#include "engine/work/parts.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace signalbox::core::engine {
namespace {

/// How the companion is run.
enum class method {
    undecided,  ///< it is not known yet whether the server serves the kind
    object,     ///< an object of a kind that the cluster has for it
    own,        ///< a Deployment and a Service of ours
};

bool is_of_cluster(const planned_object& object) {
    return object.kind->extension;
}

/// Only gives a name to the others.
bool is_address(const planned_object& object) {
    return object.kind->use == kind_use::object;
}

/// One that is there stays as it is: a kind that appears later moves nothing.
method choose(const inputs& in) {
    for (const planned_object& object : in.plan.companions) {
        const bool there =
            !is_address(object) && find_child(in, object.kind, object.name) != nullptr;
        if (there) {
            return is_of_cluster(object) ? method::object : method::own;
        }
    }
    const auto of_cluster = std::ranges::find_if(in.plan.companions, is_of_cluster);
    if (of_cluster == in.plan.companions.end()) {
        return method::own;
    }
    switch (served_of(in.seen.served_kinds, of_cluster->kind)) {
        case served::yes:
            return method::object;
        case served::no:
            return method::own;
        case served::unknown:
            break;
    }
    return method::undecided;
}

bool belongs(const planned_object& object, method chosen) {
    return chosen != method::undecided && is_of_cluster(object) == (chosen == method::object);
}

/// Ours mounts claims, and waits until training has mounted them (9.2). Statuses of version 0.1 do
/// not say whether it has: that version did not wait.
bool waits_for_training(const context& c, method chosen) {
    return chosen == method::own &&
           (c.status.attempt == 0 || c.status.training == training_state::not_started);
}

/// The object whose state is shown.
const planned_object* shown_object(const inputs& in, method chosen) {
    const auto it = std::ranges::find_if(in.plan.companions, [&](const planned_object& o) {
        return belongs(o, chosen) && !is_address(o);
    });
    return it == in.plan.companions.end() ? nullptr : &*it;
}

/// `tensorboardSpec` was taken out of the specification.
void remove_unasked(const inputs& in, work& out) {
    stage actions;
    for (const child_record* child : in.seen.children) {
        const bool asked = std::ranges::any_of(in.plan.companions, [&](const planned_object& o) {
            return o.kind == child->kind && o.name == child->name;
        });
        if (is_companion(in.plan, child->kind, child->name) && !asked && !child->deleting &&
            in.owns(*child)) {
            actions.push_back(
                remove_child(*child, "the job asks for no TensorBoard any more", "behaviour 9.1")
            );
        }
    }
    std::ranges::sort(actions, {}, [](const action& a) { return std::pair(a.name, a.kind); });
    out.add(std::move(actions));
}

/// Its state, as the observed object has it.
void show_observed(const inputs& in, const child_record& seen, tensorboard_status& shown) {
    shown.dependent = dependent_reference{
        std::string(api_version_of(seen.kind)), shown.type, seen.name, in.plan.ns, seen.uid};
    shown.ready = seen.ready;
    if (!seen.ready) {
        shown.reason =
            seen.reason.empty() ? std::string(to_string(reason::not_ready)) : seen.reason;
    }
}

}  // namespace

void keep_companions(const context& c, const health& h, work& out) {
    remove_unasked(c.in, out);
    const method chosen = choose(c.in);
    stage actions;
    const auto& objects = c.in.plan.companions;
    if (objects.empty()) {
        return;
    }
    const render_options options = render_options_of(c.status, c.in.plan);
    for (std::size_t i = 0; i < objects.size(); ++i) {
        object_need need = belongs(objects[i], chosen)
                               ? need_of(c, h, c.in.plan.objects.size() + i, options)
                               : object_need{};
        if (!need.act || (need.act->what() == verb::create && waits_for_training(c, chosen))) {
            continue;
        }
        if (!is_address(objects[i])) {
            const bool creates = need.act->what() == verb::create;
            out.board = creates ? board_action::create : board_action::update;
        }
        need.act->rule = "behaviour 9.1";
        actions.push_back(std::move(*need.act));
    }
    out.add(std::move(actions));
}

std::optional<tensorboard_status> mirror_companion(const context& c, std::string done) {
    const inputs& in = c.in;
    if (in.plan.companions.empty()) {
        return std::nullopt;
    }
    tensorboard_status shown;
    shown.action = std::move(done);
    const method chosen = choose(in);
    const planned_object* object = shown_object(in, chosen);
    if (object == nullptr) {
        shown.reason = to_string(reason::waiting_for_discovery);
        shown.note = "whether the API server serves TensorBoard objects is not known yet";
        return shown;
    }
    shown.name = object->name;
    shown.type = to_string(object->kind);
    if (const child_record* seen = find_child(in, object->kind, object->name)) {
        show_observed(in, *seen, shown);
        return shown;
    }
    if (waits_for_training(c, chosen)) {
        shown.reason = to_string(reason::waiting_for_training);
        shown.note = "it is made once training has started, which so mounts its volumes first";
        return shown;
    }
    const refusal* r = find_refusal(in, object->kind, object->name);
    shown.reason = to_string(r == nullptr ? reason::not_created : reason::object_refused);
    shown.note = r == nullptr ? "" : cut_message(r->message, 512);
    return shown;
}

}  // namespace signalbox::core::engine
