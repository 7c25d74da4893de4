// SPDX-License-Identifier: Apache-2.0
#include "engine/view/quota.hpp"

#include "engine/facts/ledger.hpp"
#include "engine/view/children.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace signalbox::core::engine {
namespace {

/// By the specification, whatever was admitted of it.
const job_plan& asked_plan(const inputs& in) {
    return in.job.compiled && in.job.compiled->plan ? *in.job.compiled->plan : in.plan;
}

/// Of what was asked for, the specification wants no more than that.
template <class Record>
bool has_asked_for_all(const inputs& in, const Record& record) {
    return std::ranges::all_of(asked_plan(in).types, [&](const type_plan& type) {
        const auto* set = record.find(type.name);
        return type.wanted == 0 || (set != nullptr && set->asked >= type.wanted);
    });
}

/// Pods of a type that are there or to be made, as far as so many may run.
std::int32_t needed(const context& c, const type_plan& type, std::int32_t count) {
    const std::int32_t size = wanted_in_force(c.status, type);
    const bool in_part = c.in.plan.elastic.has_value();
    const std::int32_t wanted = in_part ? std::min({size, type.wanted, count}) : size;
    return std::max(wanted - replicas_ended(c.status, type.name), 0);
}

bool covers(const context& c, const quota_answer& says) {
    return std::ranges::all_of(c.in.plan.types, [&](const type_plan& type) {
        const quota_answer::pod_set* set = says.find(type.name);
        const std::int32_t count = set == nullptr ? 0 : set->count;
        const std::int32_t reclaimed = set == nullptr ? 0 : set->reclaimed;
        return needed(c, type, count) <= count - reclaimed;
    });
}

/// An elastic job may start with less than it wants, but not with less than its minimum.
bool has_minimum(const context& c, const quota_answer& says) {
    std::int64_t count = 0;
    for (const quota_answer::pod_set& set : says.sets) {
        count += set.count;
    }
    return !c.in.plan.elastic || count >= c.in.plan.elastic->min_replicas;
}

/// What is on record is what it says.
bool is_as_recorded(const admission_record& admission, const quota_answer& says) {
    return admission.types.size() == says.sets.size() &&
           std::ranges::all_of(says.sets, [&](const quota_answer::pod_set& set) {
               const admitted_type* type = admission.find(set.type);
               return type != nullptr && type->count == set.count && type->asked == set.asked;
           });
}

}  // namespace

std::optional<quota_view> find_quota(const inputs& in) {
    const auto& gang = in.plan.gang;
    if (!gang || gang->by->quota == nullptr || in.plan.objects.empty()) {
        return std::nullopt;
    }
    const planned_object& object = in.plan.objects.front();
    quota_view out{gang->by->quota, &object};
    out.served = served_of(in.seen.served_kinds, object.kind) == served::yes;
    out.child = find_child(in, object.kind, object.name);
    out.says =
        out.child == nullptr || out.child->gang == nullptr ? nullptr : out.child->gang->quota.get();
    return out;
}

bool asks_for_all(const inputs& in, const quota_answer& says) {
    return has_asked_for_all(in, says);
}

bool is_enough(const context& c, const quota_answer& says) {
    return asks_for_all(c.in, says) && has_minimum(c, says) && covers(c, says);
}

bool can_take(const context& c, const quota_view& q) {
    return q.says != nullptr && !q.child->deleting && q.says->admitted && !q.says->evicted &&
           !q.says->finished && is_enough(c, *q.says);
}

std::optional<std::string> why_lost(const context& c, const quota_view& q) {
    const auto name = [&] {
        return fmt::format("{} {}", to_string(q.object->kind), q.object->name);
    };
    if (!q.served) {
        return std::nullopt;
    }
    if (q.child == nullptr) {
        return is_confirmed_absent(c.in, q.object->kind, q.object->name)
                   ? std::optional(name() + " was deleted")
                   : std::nullopt;
    }
    const admission_record& admission = *c.status.admission;
    if (q.child->uid != admission.uid || q.child->deleting) {
        return name() + " was deleted";
    }
    if (q.says == nullptr || !q.says->reserved || q.says->since != admission.since ||
        !is_as_recorded(admission, *q.says)) {
        return name() + " has lost its quota";
    }
    if (q.says->evicted) {
        return q.child->gang->words;
    }
    if (q.says->finished) {
        return name() + " is Finished";
    }
    if (!has_asked_for_all(c.in, admission)) {
        return "the job wants more pods than it has asked quota for";
    }
    if (!covers(c, *q.says)) {
        return "the job needs pods again whose quota was given back";
    }
    return std::nullopt;
}

std::vector<gang::named_object> unread_flavors(const inputs& in, const quota_view& q) {
    auto out = q.scheme->flavors(*q.says);
    std::erase_if(out, [&](const auto& flavor) { return find_reading(in, flavor) != nullptr; });
    return out;
}

const object_reading* find_reading(const inputs& in, const gang::named_object& of) {
    const auto it = std::ranges::find_if(in.seen.readings, [&](const object_reading& r) {
        return r.kind == of.kind && r.name == of.name;
    });
    return it == in.seen.readings.end() ? nullptr : &*it;
}

std::optional<std::int32_t> priority_read(const inputs& in) {
    const auto& gang = in.plan.gang;
    if (!gang || gang->by->quota == nullptr) {
        return std::nullopt;
    }
    const auto of = gang->by->quota->priority_class(gang->asked);
    const object_reading* read = of ? find_reading(in, *of) : nullptr;
    if (read == nullptr) {
        return std::nullopt;
    }
    json::document document;
    json::parse(document, read->json);
    return document.HasParseError() ? std::nullopt : gang->by->quota->priority(document);
}

quota_holders find_quota_holders(const context& c) {
    const milliseconds bound = stuck_after(c.in.job.meta, c.in.policy);
    quota_holders out;
    for (const pod_record* pod : c.in.seen.pods) {
        const bool ended = pod->phase == pod_phase::succeeded || pod->phase == pod_phase::failed;
        if (!c.in.owns(*pod) || ended || pod->attempt == gone_attempt) {
            continue;
        }
        if (pod->deletion && bound.count() > 0) {
            const instant stuck = *pod->deletion + bound + milliseconds(1);
            if (stuck <= c.in.now) {
                continue;
            }
            out.until = std::min(out.until.value_or(stuck), stuck);
        }
        out.stopping = out.stopping || pod->deletion;
        out.any = true;
    }
    return out;
}

}  // namespace signalbox::core::engine
