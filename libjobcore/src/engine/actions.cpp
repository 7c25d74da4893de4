// SPDX-License-Identifier: Apache-2.0
//
// What can be asked of an action, and the object that it creates.
#include "jobcore/action.hpp"
#include "jobcore/decide.hpp"

#include <array>
#include <tuple>
#include <utility>

namespace signalbox::core {
namespace {

const job_plan* plan_of(const job_object& job) {
    return job.compiled && job.compiled->plan ? &*job.compiled->plan : nullptr;
}

/// The planned object that the action creates or repairs; null for any other action.
const planned_object* object_of(const job_object& job, const action& a) {
    const job_plan* plan = plan_of(job);
    return plan == nullptr || a.object() == nullptr ? nullptr
                                                    : find_object(*plan, a.object()->object);
}

/// In the version that the action has it in (BEHAVIOUR.md 8.4).
planned_object in_version_of(const action& a, planned_object object) {
    object.kind = a.kind;
    return object;
}

/// Attempt and round that a refusal of the action carries.
std::pair<std::int32_t, std::int32_t> place_of(const action& a) {
    if (const pod_identity* pod = a.pod()) {
        return {pod->attempt, pod->round};
    }
    const object_identity* object = a.object();
    return {object == nullptr ? 0 : object->attempt, 0};
}

}  // namespace

std::string_view to_string(verb v) {
    switch (v) {
        case verb::create:
            return "create";
        case verb::patch:
            return "patch";
        case verb::remove:
            return "delete";
        case verb::confirm:
            return "confirm";
        case verb::read:
            return "read";
    }
    return "";
}

verb action::what() const {
    constexpr std::array by_request{
        verb::create,
        verb::create,
        verb::patch,
        verb::remove,
        verb::confirm,
        verb::read,
        verb::read};
    static_assert(by_request.size() == std::variant_size_v<decltype(request)>);
    return by_request[request.index()];
}

const pod_identity* action::pod() const {
    const auto* r = std::get_if<create_pod>(&request);
    return r == nullptr ? nullptr : &r->pod;
}

const object_identity* action::object() const {
    if (const auto* r = std::get_if<create_object>(&request)) {
        return &r->object;
    }
    const auto* r = std::get_if<patch_object>(&request);
    return r == nullptr || !r->becomes ? nullptr : &*r->becomes;
}

std::string_view action::uid() const {
    if (const auto* r = std::get_if<patch_object>(&request)) {
        return r->uid;
    }
    const auto* r = std::get_if<delete_object>(&request);
    return r == nullptr ? std::string_view() : r->uid;
}

std::string_view action::body() const {
    const auto* r = std::get_if<patch_object>(&request);
    return r == nullptr ? std::string_view() : r->body;
}

std::string_view action::subresource() const {
    const auto* r = std::get_if<patch_object>(&request);
    return r == nullptr ? std::string_view() : r->subresource;
}

refusal refusal_of(const action& a, instant now) {
    refusal r;
    r.kind = a.kind;
    r.name = a.name;
    std::tie(r.attempt, r.round) = place_of(a);
    r.first = r.last = now;
    return r;
}

bool is_refusal_of(const refusal& r, const action& a) {
    return a.what() != verb::remove && r.kind == a.kind && r.name == a.name &&
           std::pair(r.attempt, r.round) == place_of(a);
}

result<std::string> render_action(
    const job_object& job, const decision& made, const action& a, const key_pairs& keys
) {
    if (a.what() == verb::create && a.pod() != nullptr && plan_of(job) != nullptr) {
        return render_pod(*plan_of(job), *a.pod(), made.rendering);
    }
    const planned_object* object = a.what() == verb::create ? object_of(job, a) : nullptr;
    if (object == nullptr) {
        return unexpected{"the action creates nothing"};
    }
    return render_object(
        *plan_of(job), in_version_of(a, *object), a.object()->attempt, made.rendering, keys
    );
}

std::span<const key_slot> key_slots_of(const job_object& job, const action& a) {
    const planned_object* object = a.what() == verb::create ? object_of(job, a) : nullptr;
    return object == nullptr ? std::span<const key_slot>() : object->key_slots;
}

std::string preview_action(const job_object& job, const decision& made, const action& a) {
    if (a.pod() != nullptr && plan_of(job) != nullptr) {
        return render_pod(*plan_of(job), *a.pod(), made.rendering);
    }
    const planned_object* object = object_of(job, a);
    return object == nullptr
               ? std::string()
               : preview_object(
                     *plan_of(job), in_version_of(a, *object), a.object()->attempt, made.rendering
                 );
}

}  // namespace signalbox::core
