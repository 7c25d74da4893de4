// SPDX-License-Identifier: Apache-2.0
#include "engine/repair/sizes.hpp"

#include "engine/facts/ledger.hpp"
#include "engine/view/view.hpp"
#include "jobcore/strings.hpp"
#include "status/bounds.hpp"

#include <algorithm>
#include <numeric>

namespace signalbox::core::engine {
namespace {

using tasks = std::vector<task_status>;

const task_status* find_type(const tasks& all, std::string_view type) {
    const auto it = std::ranges::find(all, type, &task_status::type);
    return it == all.end() ? nullptr : &*it;
}

std::int64_t total(const tasks& all) {
    return std::accumulate(
        all.begin(),
        all.end(),
        std::int64_t{0},
        [](std::int64_t n, const task_status& t) { return n + t.wanted; }
    );
}

std::optional<std::int64_t> counted(const job_status& s) {
    if (!s.aggregate) {
        return std::nullopt;
    }
    const aggregate_counts& a = *s.aggregate;
    return std::int64_t{a.creating} + a.pending + a.running + a.succeeded + a.failed + a.unknown +
           a.deleted;
}

std::optional<std::int64_t> of_ready(const job_status& s) {
    const std::size_t slash = s.ready.find('/');
    const auto n = slash == s.ready.npos
                       ? std::nullopt
                       : read_whole_number(std::string_view(s.ready).substr(slash + 1));
    return n ? std::optional<std::int64_t>(*n) : std::nullopt;
}

/// `aggregate` or `ready` agrees, or neither is there.
bool adds_up(const job_status& s, const tasks& all) {
    const auto count = counted(s);
    const auto ready = of_ready(s);
    return (!count && !ready) || total(all) == count || total(all) == ready;
}

/// By both of them: there were more replicas, and perhaps types.
bool is_too_little(const job_status& s, const tasks& all) {
    return total(all) < counted(s).value_or(0) && total(all) < of_ready(s).value_or(0);
}

/// The type as the name of the first replica tells it, where that is none of another task; else as
/// it is.
std::string_view true_type(const job_plan& plan, const tasks& all, const task_status& task) {
    const std::string_view named =
        task.replicas.empty() ? "" : type_from_name(plan, task.replicas.front().name);
    return named.empty() || find_type(all, named) != nullptr ? std::string_view(task.type) : named;
}

bool have_true_types(const job_plan& plan, const tasks& all) {
    return std::ranges::all_of(all, [&](const task_status& task) {
        return true_type(plan, all, task) == task.type;
    });
}

tasks with_true_types(const job_plan& plan, const tasks& all) {
    tasks out = all;
    for (std::size_t i = 0; i < all.size(); ++i) {
        out[i].type = true_type(plan, all, all[i]);
    }
    return out;
}

tasks sizes_by_list(tasks all) {
    for (task_status& task : all) {
        task.wanted = static_cast<std::int32_t>(task.replicas.size());
    }
    return all;
}

/// As many replicas of the type as the record and the pods of the attempt tell.
std::int32_t known_replicas(const inputs& in, const job_status& s, std::string_view type) {
    const index_set* seen = find_indexes(s.restarts.seen, type);
    const std::int64_t noted = seen == nullptr ? 0 : seen->size();
    auto n = static_cast<std::int32_t>(std::min<std::int64_t>(noted, most_replicas));
    for (const pod_record* p : in.seen.pods) {
        if (p->attempt == s.attempt && p->type == type && is_sound(in, *p)) {
            n = std::max(n, std::min(p->index, most_replicas - 1) + 1);
        }
    }
    return n;
}

task_status with_size(const tasks& known, std::string_view type, std::int32_t wanted) {
    const task_status* old = find_type(known, type);
    task_status out = old == nullptr ? task_status{std::string(type), 0, 0, {}} : *old;
    out.wanted = wanted;
    return out;
}

/// The deciding pod's type first (api 5.2).
void put_deciding_first(const job_plan& plan, tasks& all) {
    const auto deciding =
        std::ranges::find(all, plan.types[plan.deciding_type].name, &task_status::type);
    if (deciding != all.end()) {
        std::rotate(all.begin(), deciding, deciding + 1);
    }
}

tasks sizes_of_plan(const job_plan& plan, const tasks& known) {
    tasks out;
    for (const type_plan& type : plan.types) {
        out.push_back(with_size(known, type.name, type.wanted));
    }
    put_deciding_first(plan, out);
    return out;
}

/// The types that the attempt has, with what is known of their sizes: those on record, then those
/// that seen pods tell.
tasks known_sizes(const inputs& in, const job_status& s, const tasks& known) {
    tasks out;
    for (const task_status& task : known) {
        if (task.wanted > 0 || !task.replicas.empty()) {
            const auto listed = static_cast<std::int32_t>(task.replicas.size());
            const std::int32_t told = known_replicas(in, s, task.type);
            out.push_back(with_size(known, task.type, std::max(listed, told)));
        }
    }
    bool deciding_was_missing = false;
    const auto add_missing = [&](std::string_view type) {
        const std::int32_t size = known_replicas(in, s, type);
        if (size > 0 && find_type(out, type) == nullptr) {
            out.push_back(with_size(known, type, size));
            deciding_was_missing |= type == in.plan.types[in.plan.deciding_type].name;
        }
    };
    for (const type_plan& type : in.plan.types) {
        add_missing(type.name);
    }
    for (const typed_indexes& seen : s.restarts.seen) {
        add_missing(seen.type);
    }
    if (deciding_was_missing) {
        put_deciding_first(in.plan, out);
    }
    return out;
}

/// The same types with the sizes of the specification, where it has them.
tasks planned_sizes(const job_plan& plan, tasks all) {
    for (task_status& task : all) {
        const auto type = std::ranges::find(plan.types, task.type, &type_plan::name);
        if (type != plan.types.end() && type->wanted > 0) {
            task.wanted = type->wanted;
        }
    }
    return all;
}

tasks true_sizes(const inputs& in, const job_status& s, tasks known) {
    if (adds_up(s, known)) {
        return known;
    }
    tasks listed = sizes_by_list(known);
    if (adds_up(s, listed)) {
        return listed;
    }
    if (in.invalid) {
        return known;
    }
    tasks told = known_sizes(in, s, known);
    if (adds_up(s, told)) {
        return told;
    }
    tasks of_attempt = planned_sizes(in.plan, std::move(told));
    tasks of_plan = sizes_of_plan(in.plan, known);
    const bool has_types =
        adds_up(s, of_attempt) || (!adds_up(s, of_plan) && !is_too_little(s, of_attempt));
    return has_types ? of_attempt : of_plan;
}

}  // namespace

std::optional<tasks> find_true_tasks(const inputs& in, const job_status& s) {
    if (have_true_types(in.plan, s.tasks) && adds_up(s, s.tasks)) {
        return std::nullopt;  // before anything is copied
    }
    tasks found = true_sizes(in, s, with_true_types(in.plan, s.tasks));
    const bool same = std::ranges::equal(found, s.tasks, [](const auto& x, const auto& y) {
        return x.type == y.type && x.wanted == y.wanted;
    });
    return same ? std::nullopt : std::optional(std::move(found));
}

}  // namespace signalbox::core::engine
