// SPDX-License-Identifier: Apache-2.0
#include "engine/view/children.hpp"

#include "engine/facts/backoff.hpp"

#include <algorithm>
#include <array>

namespace signalbox::core::engine {
namespace {

/// Answers to what is wrong with the object itself: it does not decode, is too large, is invalid.
constexpr std::array final_codes{400, 405, 413, 422};

/// What a server says in a 403 that may be another answer later. All others are policies that the
/// pod itself breaks: Pod Security, limit ranges, webhooks.
struct forbidden {
    std::string_view text;
    refusal_class means;
};
constexpr std::array forbidden_for_now{
    forbidden{"exceeded quota", refusal_class::quota},
    // A quota that is new: its usage is not counted yet.
    forbidden{"status unknown for quota", refusal_class::quota},
    forbidden{"cannot create resource", refusal_class::passing},
    forbidden{"cannot patch resource", refusal_class::passing},          // labels of what is there
    forbidden{"cannot set blockOwnerDeletion", refusal_class::passing},  // a right too
    forbidden{"error looking up service account", refusal_class::passing},
    forbidden{"no PriorityClass with name", refusal_class::passing},
    forbidden{"pod rejected: RuntimeClass", refusal_class::passing},
};

}  // namespace

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

refusal_class classify(const refusal& r) {
    if (r.foreign_owner || r.namespace_terminating) {
        return refusal_class::passing;
    }
    if (std::ranges::find(final_codes, r.http_code) != final_codes.end()) {
        return refusal_class::final;
    }
    if (r.http_code != 403) {
        return refusal_class::passing;
    }
    const auto said = std::ranges::find_if(forbidden_for_now, [&](const forbidden& f) {
        return r.message.find(f.text) != r.message.npos;
    });
    return said == forbidden_for_now.end() ? refusal_class::final : said->means;
}

instant next_try(const policy& policy, const refusal& r) {
    return r.last + doubled(policy.name_retry, r.count - 1, policy.name_retry_max);
}

}  // namespace signalbox::core::engine
