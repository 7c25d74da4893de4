// SPDX-License-Identifier: Apache-2.0
#include "gang.hpp"

#include "configurations.hpp"
#include "engine/facts/inputs.hpp"
#include "gang/gang.hpp"
#include "gang/scheduler.hpp"
#include "kueue/workload.hpp"
#include "property/server_side.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <utility>

namespace signalbox::search {

using namespace core;

namespace {

namespace workload = test::workload;

constexpr std::string_view no_quota = "insufficient unused quota";

/// The last one with a gang, while the specification is broken.
const job_plan& plan_in(const world& w) {
    return w.has_plan() && w.plan().gang ? w.plan() : valid_plan(w);
}

const gang::scheduler* scheduler_in(const world& w) {
    const bool asks = w.context->config().job.gang && plan_in(w).gang;
    return asks ? plan_in(w).gang->by : nullptr;
}

/// Another version of the object.
std::string next_version(world& w, const std::string& text) {
    return test::merged(
        text, fmt::format(R"({{"metadata":{{"resourceVersion":"v{}"}}}})", ++w.made)
    );
}

void keep_text(world& w, std::size_t child, const std::string& text) {
    auto next = std::make_shared<const std::string>(next_version(w, text));
    change_child(w, child, [&](child_record& c) {
        const bool deleting = c.deleting;
        c = decode_child(c.kind, *next).value();
        c.deleting = deleting;
    });
    w.gang_text = std::move(next);
}

/// Each reservation has a time of its own.
instant reserve_now(world& w) {
    const instant now = now_in_seconds(w);
    w.reserved = w.reserved ? std::max(now, *w.reserved + seconds(1)) : now;
    return *w.reserved;
}

/// For so many pods; of a job of several types for all.
std::string with_quota(world& w, std::int32_t pods, bool admitted) {
    const std::string& text = *w.gang_text;
    workload::counts given;
    if (pods < workload::asked(text).all) {
        given[valid_plan(w).types.front().name] = pods;
    }
    return workload::with_quota(text, given, "only", admitted, reserve_now(w));
}

std::string taken(const world& w, const char* reason) {
    return workload::evicted(*w.gang_text, reason, "by Kueue", now_in_seconds(w));
}

/// The next thing that Kueue says by itself.
std::string answered(world& w) {
    if (quota_of(w)->reserved) {  // the checks are done
        return workload::with_quota(*w.gang_text, {}, "only", /*admitted=*/true, *w.reserved);
    }
    const workload::wish wish = workload::asked(*w.gang_text);
    if (w.quota_left < wish.least) {
        return workload::waiting(*w.gang_text, std::string(no_quota), now_in_seconds(w));
    }
    return with_quota(w, std::min(wish.all, w.quota_left), /*admitted=*/true);
}

bool has_answer(const world& w, const child_record& child, const quota_answer& says) {
    if (says.finished || says.evicted || says.admitted || !workload::is_active(*w.gang_text)) {
        return false;
    }
    return says.reserved || w.quota_left >= workload::asked(*w.gang_text).least ||
           child.gang->words.find(no_quota) == std::string::npos;
}

/// Of the group that the server has: Kubernetes' `minCount`, the others' `minMember`; without one
/// more than there are pods.
std::int64_t minimum_of(const world& w) {
    for (const std::string_view key : {R"("minCount":)", R"("minMember":)"}) {
        if (const auto at = w.gang_text->find(key); at != std::string::npos) {
            std::int64_t least = 0;
            std::from_chars(
                w.gang_text->data() + at + key.size(),
                w.gang_text->data() + w.gang_text->size(),
                least
            );
            return least;
        }
    }
    return plenty;
}

/// Pods that have ended, or go, are no members.
bool counts(const pod_record& pod) {
    return !pod.deletion && !test::has_ended(pod);
}

/// How many have to start together. A gang that only its pods' annotations tell of is known as long
/// as there is one of them, and once it was placed it is not held any more.
std::int64_t least_of(const world& w, const gang::scheduler& by) {
    if (!by.objects.empty()) {
        return find_gang_object(w) ? minimum_of(w) : plenty;
    }
    const bool was_placed =
        std::ranges::any_of(w.pods, [](const pod_ptr& p) { return p->scheduled; });
    if (was_placed) {
        return 0;
    }
    const job_plan& plan = plan_in(w);
    // As the pods were made: while they are held nothing of them can end.
    return gang::state_of(plan, engine::render_options_of(w.job->status, plan)).min_active;
}

bool is_enqueued(const world& w) {
    const auto group = find_gang_object(w);
    return group && w.children[*group]->gang->is == gang_answer::state::admitted;
}

std::string deactivated(world& w) {
    const bool reserved = quota_of(w)->reserved;
    return workload::activated(reserved ? taken(w, "Deactivated") : *w.gang_text, false);
}

}  // namespace

object_kind gang_kind(const world& w) {
    const gang::scheduler* by = scheduler_in(w);
    return by == nullptr || by->objects.empty() ? object_kind::pod_group : by->objects.front();
}

bool gives_quota(const world& w) {
    const gang::scheduler* by = scheduler_in(w);
    return by != nullptr && by->quota != nullptr;
}

bool tells_by_phase(const world& w) {
    const gang::scheduler* by = scheduler_in(w);
    return by != nullptr && by->tells == gang::admits::before_pods && by->quota == nullptr;
}

bool is_of_quota(const child_record& child) {
    return child.gang != nullptr && child.gang->quota != nullptr;
}

std::optional<std::size_t> find_gang_object(const world& w) {
    const auto it = std::ranges::find_if(w.children, [](const child_ptr& c) {
        return c->kind->use == kind_use::gang;
    });
    return it == w.children.end()
               ? std::nullopt
               : std::optional(static_cast<std::size_t>(it - w.children.begin()));
}

const quota_answer* quota_of(const world& w) {
    const auto i = find_gang_object(w);
    return i && is_of_quota(*w.children[*i]) ? w.children[*i]->gang->quota.get() : nullptr;
}

child_record gang_object_of(world& w, const std::string& text, std::string_view uid) {
    w.gang_text = std::make_shared<const std::string>(
        next_version(w, test::merged(text, fmt::format(R"({{"metadata":{{"uid":"{}"}}}})", uid)))
    );
    return decode_child(gang_kind(w), *w.gang_text).value();
}

bool patch_gang_object(world& w, std::size_t child, const action& a) {
    const auto text = test::patched(*w.gang_text, a.body(), a.subresource());
    if (text) {
        keep_text(w, child, *text);
    }
    return text.has_value();
}

bool is_held(const world& w, const pod_record& pod) {
    const gang::scheduler* by = scheduler_in(w);
    if (by == nullptr || !by->holds.by_number || pod.scheduled) {
        return false;
    }
    const std::int64_t least = least_of(w, *by);
    const auto how_many = [&](auto is) {
        return std::ranges::count_if(w.pods, [&](const pod_ptr& p) {
            return counts(*p) && is(*p);
        });
    };
    const auto counted = how_many([](const pod_record&) { return true; });
    const auto placed = how_many([](const pod_record& p) { return p.scheduled; });
    const auto before_it =
        how_many([&](const pod_record& p) { return !p.scheduled && p.name < pod.name; });
    return counted < least || least - placed > w.places_left || before_it >= w.places_left;
}

bool outlives_deletion(const world& w, const child_record& child) {
    const gang::scheduler* by = scheduler_in(w);
    return by != nullptr && by->outlives_deletion && child.kind == gang_kind(w) &&
           std::ranges::any_of(w.pods, [](const pod_ptr& p) { return !test::has_ended(*p); });
}

bool can_go(const world& w, const child_record& child) {
    return child.deleting && !outlives_deletion(w, child);
}

bool can_befall_quota(const world& w, op what) {
    if (what == op::close_queue || what == op::open_queue) {
        return gives_quota(w) && (w.quota_left > 0) == (what == op::close_queue);
    }
    if (tells_by_phase(w)) {
        const op wanted = is_enqueued(w) ? op::take_quota : op::queue_answers;
        return what == wanted && find_gang_object(w);
    }
    const quota_answer* says = gives_quota(w) ? quota_of(w) : nullptr;
    if (says == nullptr) {
        return false;
    }
    const child_record& child = *w.children[*find_gang_object(w)];
    const bool waits = has_answer(w, child, *says);
    const bool holds = says->reserved && !says->evicted && !says->finished;
    switch (what) {
        case op::queue_answers:
            return waits;
        case op::admit_in_part: {
            const workload::wish wish = workload::asked(*w.gang_text);
            return waits && !says->reserved && wish.least < wish.all;
        }
        case op::reserve:
            return waits && !says->reserved && w.quota_left > 0;
        case op::take_quota:
            return holds;
        case op::reserve_anew:
            return holds && says->admitted;
        case op::deactivate:
            return workload::is_active(*w.gang_text) && !says->finished;
        case op::activate:
            return !workload::is_active(*w.gang_text);
        case op::finish_workload:
            return !says->finished;
        default:
            return false;
    }
}

void change_quota(world& w, op what) {
    if (what == op::close_queue || what == op::open_queue) {
        w.quota_left = what == op::open_queue ? plenty : 0;
        return;
    }
    if (tells_by_phase(w)) {
        const char* phase = what == op::take_quota ? "Pending" : "Inqueue";
        const std::string status = fmt::format(R"({{"status":{{"phase":"{}"}}}})", phase);
        keep_text(w, *find_gang_object(w), test::merged(*w.gang_text, status));
        return;
    }
    std::string next;
    switch (what) {
        case op::queue_answers:
            next = answered(w);
            break;
        case op::admit_in_part:
            next = with_quota(w, workload::asked(*w.gang_text).least, /*admitted=*/true);
            break;
        case op::reserve:
            next = with_quota(w, workload::asked(*w.gang_text).all, /*admitted=*/false);
            break;
        case op::take_quota:
            next = taken(w, "Preempted");
            break;
        case op::reserve_anew:
            next = with_quota(w, workload::asked(*w.gang_text).all, /*admitted=*/true);
            break;
        case op::deactivate:
            next = deactivated(w);
            break;
        case op::activate:
            next = workload::activated(*w.gang_text, true);
            break;
        default:
            next = workload::finished(*w.gang_text, now_in_seconds(w));
            break;
    }
    w.past.lost_quota = w.past.lost_quota ||
                        (what != op::queue_answers && what != op::reserve && what != op::activate);
    keep_text(w, *find_gang_object(w), next);
}

}  // namespace signalbox::search
