// SPDX-License-Identifier: Apache-2.0
//
// What status shows of the replicas: tasks, aggregate, ready, replicas (BEHAVIOUR.md 4.15,
// api 5.2, api 5.3).
#include "engine/facts/ledger.hpp"
#include "engine/shown/shown.hpp"
#include "jobcore/labels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace signalbox::core::engine {
namespace {

using counter = std::int32_t aggregate_counts::*;

/// Under what a replica without a pod counts.
counter missing_counter(const context& c, const replica_view& s) {
    if (s.completed && !is_final(c.status.phase)) {
        return &aggregate_counts::succeeded;
    }
    const bool over =
        is_final(c.status.phase) || (c.status.phase == job_phase::paused && c.status.attempt > 0);
    return over ? &aggregate_counts::deleted : &aggregate_counts::creating;
}

counter pod_counter(const pod_record& pod, const container_record* training, instant now) {
    if (const auto end = end_of(pod, training, now)) {
        return end->success() ? &aggregate_counts::succeeded : &aggregate_counts::failed;
    }
    if (pod.deletion) {
        return &aggregate_counts::deleted;
    }
    switch (pod.phase) {
        case pod_phase::pending:
            return pod.scheduled ? &aggregate_counts::pending : &aggregate_counts::creating;
        case pod_phase::running:
            return &aggregate_counts::running;
        case pod_phase::succeeded:
            return &aggregate_counts::succeeded;
        case pod_phase::failed:
            return &aggregate_counts::failed;
        case pod_phase::unknown:
            break;
    }
    return &aggregate_counts::unknown;
}

std::string_view missing_phase(counter c) {
    if (c == &aggregate_counts::succeeded) {
        return "Succeeded";
    }
    return c == &aggregate_counts::deleted ? "Deleted" : "Creating";
}

/// What status says of one replica, in its parts: built or compared without a copy.
struct replica_shown {
    std::string made_up_name;  ///< of a replica without a pod
    std::string_view name;
    std::string_view uid;
    std::string_view phase;
    const pod_record* pod = nullptr;
};

replica_shown show(const context& c, std::size_t type, std::int32_t index, const replica_view& s) {
    replica_shown out;
    out.pod = s.newest;
    if (s.newest == nullptr) {
        out.made_up_name = c.name_of(type, index);
        out.phase = missing_phase(missing_counter(c, s));
        return out;
    }
    out.name = s.newest->name;
    out.uid = s.newest->uid;
    out.phase = to_string(s.newest->phase);
    return out;
}

std::string_view name_in(const replica_shown& v) {
    return v.pod == nullptr ? std::string_view(v.made_up_name) : v.name;
}

container_status describe(const container_record& c) {
    container_status out{c.name, std::string(to_string(c.state)), {}};
    if (c.state == container_state::terminated) {
        out.exit_code = c.exit_code;
    }
    return out;
}

replica_status describe(const replica_shown& v) {
    replica_status out;
    out.name = name_in(v);
    out.uid = v.uid;
    out.phase = v.phase;
    if (v.pod != nullptr) {
        for (const container_record& c : v.pod->containers) {
            if (!c.init) {
                out.containers.push_back(describe(c));
            }
        }
    }
    return out;
}

bool says_the_same(const container_status& old, const container_record& c) {
    const bool ended = c.state == container_state::terminated;
    return old.name == c.name && old.state == to_string(c.state) &&
           old.exit_code.has_value() == ended && (!ended || *old.exit_code == c.exit_code);
}

bool says_the_same(const replica_status& old, const replica_shown& v) {
    if (old.name != name_in(v) || old.uid != v.uid || old.phase != v.phase) {
        return false;
    }
    std::size_t n = 0;
    if (v.pod != nullptr) {
        for (const container_record& c : v.pod->containers) {
            if (c.init) {
                continue;
            }
            if (n == old.containers.size() || !says_the_same(old.containers[n], c)) {
                return false;
            }
            ++n;
        }
    }
    return n == old.containers.size();
}

/// Upper bound of the bytes of one replica in the status: keys and quotes, the longest phase, state
/// and exit code.
std::size_t size_in_text(const replica_view& s) {
    constexpr std::size_t pod_frame = 70;
    constexpr std::size_t longest_name = 80;
    constexpr std::size_t container_frame = 70;
    if (s.newest == nullptr) {
        return pod_frame + longest_name;
    }
    std::size_t size = pod_frame + s.newest->name.size() + s.newest->uid.size();
    for (const container_record& c : s.newest->containers) {
        size += c.init ? 0 : container_frame + c.name.size();
    }
    return size;
}

/// The deciding pod's type first, the others in spec order (BEHAVIOUR.md api 5.2).
std::vector<std::size_t> task_order(const context& c) {
    std::vector<std::size_t> order(c.view.types.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    if (order.empty()) {
        return order;
    }
    std::rotate(
        order.begin(),
        order.begin() + static_cast<std::ptrdiff_t>(c.in.plan.deciding_type),
        order.begin() + static_cast<std::ptrdiff_t>(c.in.plan.deciding_type) + 1
    );
    return order;
}

/// Upper bound of the bytes of the lists that grow with a job, tasks apart.
std::size_t size_of_ledger(const restart_ledger& r) {
    constexpr std::size_t entry = 80;
    std::size_t size = (r.replaced.size() + r.renamed.size()) * entry;
    for (const auto* list : {&r.seen, &r.given_up, &r.completed}) {
        for (const typed_indexes& t : *list) {
            size += entry + t.indexes.text().size();
        }
    }
    return size;
}

/// How many replicas are shown of each type: index 0 always, the others while there is
/// room (BEHAVIOUR.md 4.16).
std::vector<std::int32_t> choose_shown(const context& c, const std::vector<std::size_t>& order) {
    constexpr std::size_t all = 128U * 1024U;
    constexpr std::size_t rest = 16U * 1024U;  // conditions, the last incident, what has one value
    std::vector<std::int32_t> shown(c.view.types.size(), 0);
    std::size_t used = rest + size_of_ledger(c.status.restarts);
    for (const std::size_t r : order) {
        const auto& replicas = c.view.types[r].replicas;
        shown[r] = replicas.empty() ? 0 : 1;
        used += replicas.empty() ? 0 : size_in_text(replicas.front());
    }
    std::int32_t spare =
        std::max(c.in.policy.replicas_in_status - static_cast<std::int32_t>(order.size()), 0);
    for (const std::size_t r : order) {
        const type_view& type = c.view.types[r];
        while (spare > 0 && shown[r] < type.wanted()) {
            used += size_in_text(type.replicas[static_cast<std::size_t>(shown[r])]);
            if (used > all) {
                return shown;
            }
            ++shown[r];
            --spare;
        }
    }
    return shown;
}

bool says_the_same(
    const context& c,
    const std::vector<task_status>& old,
    const std::vector<std::size_t>& order,
    const std::vector<std::int32_t>& shown
) {
    if (old.size() != order.size()) {
        return false;
    }
    for (std::size_t t = 0; t < order.size(); ++t) {
        const std::size_t r = order[t];
        const type_view& type = c.view.types[r];
        const task_status* counts = find_task(c.status, type.plan->name);
        if (old[t].type != type.plan->name || old[t].wanted != type.wanted() ||
            old[t].restart_count != (counts == nullptr ? 0 : counts->restart_count) ||
            old[t].replicas.size() != static_cast<std::size_t>(shown[r])) {
            return false;
        }
        for (std::int32_t i = 0; i < shown[r]; ++i) {
            const auto n = static_cast<std::size_t>(i);
            if (!says_the_same(old[t].replicas[n], show(c, r, i, type.replicas[n]))) {
                return false;
            }
        }
    }
    return true;
}

/// Nothing if the tasks of the status in hand say it already.
std::optional<std::vector<task_status>> show_tasks(const context& c) {
    const std::vector<std::size_t> order = task_order(c);
    const std::vector<std::int32_t> shown = choose_shown(c, order);
    if (says_the_same(c, c.in.job.status.tasks, order, shown)) {
        return std::nullopt;
    }
    std::vector<task_status> tasks;
    tasks.reserve(order.size());
    for (const std::size_t r : order) {
        const type_view& type = c.view.types[r];
        const task_status* old = find_task(c.status, type.plan->name);
        task_status task{
            type.plan->name, old == nullptr ? 0 : old->restart_count, type.wanted(), {}};
        task.replicas.reserve(static_cast<std::size_t>(shown[r]));
        for (std::int32_t i = 0; i < shown[r]; ++i) {
            task.replicas.push_back(
                describe(show(c, r, i, type.replicas[static_cast<std::size_t>(i)]))
            );
        }
        tasks.push_back(std::move(task));
    }
    return tasks;
}

/// A pod that counts so has neither ended nor is it being deleted.
bool is_live(counter n) {
    return n != &aggregate_counts::succeeded && n != &aggregate_counts::failed &&
           n != &aggregate_counts::deleted;
}

/// It runs or has completed. Of a job that has ended: it ended well, as the deciding pod of one
/// that succeeded did, and the pods that served it by sshd.
bool counts_as_ready(const context& c, const type_view& type, const replica_view& s) {
    if (s.completed) {
        return true;
    }
    if (!is_final(c.status.phase)) {
        return s.is_up();
    }
    const auto index = static_cast<std::int32_t>(&s - type.replicas.data());
    return c.status.phase == job_phase::succeeded &&
           (&s == c.deciding() || type.plan->serves(index));
}

}  // namespace

counts_shown show_counts(const context& c) {
    counts_shown out;
    std::int32_t up = 0;
    std::int32_t wanted = 0;
    for (const type_view& type : c.view.types) {
        wanted += type.wanted();
        for (const replica_view& s : type.replicas) {
            const auto count = [&](const pod_record* pod) {
                if (pod == nullptr) {
                    return missing_counter(c, s);
                }
                const container_record* training =
                    pod == s.current ? s.training
                                     : training_container(*pod, type.plan->training_container);
                return pod_counter(*pod, training, c.in.now);
            };
            const counter n = count(s.newest);
            ++(out.aggregate.*n);
            const bool live = is_live(s.current == s.newest ? n : count(s.current));
            out.replicas += s.current != nullptr && live ? 1 : 0;
            up += counts_as_ready(c, type, s) ? 1 : 0;
        }
    }
    out.ready = fmt::to_string(up) + '/' + fmt::to_string(wanted);
    out.selector = fmt::format(
        "{}={},{}={}", label::owner_name, c.in.plan.job_name, label::job_uid, c.in.plan.job_uid
    );
    out.tasks = show_tasks(c);
    return out;
}

}  // namespace signalbox::core::engine
