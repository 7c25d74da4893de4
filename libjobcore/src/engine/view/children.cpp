// SPDX-License-Identifier: Apache-2.0
#include "engine/view/children.hpp"

#include "engine/facts/backoff.hpp"

#include <algorithm>

namespace signalbox::core::engine {

const child_record* find_child(const inputs& in, object_kind kind, std::string_view name) {
    const child_record* found = nullptr;
    for (const child_record* c : in.seen.children) {
        if (c->kind == kind && c->name == name && in.owns(*c)) {
            found = c;
        }
    }
    return found;
}

const refusal* find_refusal(const inputs& in, object_kind kind, std::string_view name) {
    const auto it = std::ranges::find_if(in.seen.refusals, [&](const refusal& r) {
        return r.kind == kind && r.name == name;
    });
    return it == in.seen.refusals.end() ? nullptr : &*it;
}

bool is_confirmed_absent(const inputs& in, object_kind kind, std::string_view name) {
    return std::ranges::any_of(in.seen.absences, [&](const confirmed_absence& a) {
        return a.kind == kind && a.name == name;
    });
}

bool is_of_tensorboard(const job_plan& plan, const child_record& child) {
    return child.kind == object_kind::tensorboard || child.kind == object_kind::deployment ||
           child.name == plan.base_name + "-tensorboard";
}

bool is_quota(const refusal& r) {
    return r.http_code == 403 && r.message.find("exceeded quota") != r.message.npos;
}

instant next_try(const policy& policy, const refusal& r) {
    return r.last + doubled(policy.name_retry, r.count - 1, policy.name_retry_max);
}

}  // namespace signalbox::core::engine
