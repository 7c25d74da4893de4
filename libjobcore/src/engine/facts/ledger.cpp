// SPDX-License-Identifier: Apache-2.0
#include "engine/facts/ledger.hpp"

#include "status/bounds.hpp"

#include <algorithm>

namespace signalbox::core::engine {

const index_set* find_indexes(const std::vector<typed_indexes>& list, std::string_view type) {
    const auto it = std::ranges::find(list, type, &typed_indexes::type);
    return it == list.end() ? nullptr : &it->indexes;
}

void insert_index(std::vector<typed_indexes>& list, std::string_view type, std::int32_t index) {
    auto it = std::ranges::find(list, type, &typed_indexes::type);
    if (it == list.end()) {
        it = list.insert(list.end(), {std::string(type), {}});
    }
    it->indexes.insert(index);
}

void erase_index(std::vector<typed_indexes>& list, std::string_view type, std::int32_t index) {
    const auto it = std::ranges::find(list, type, &typed_indexes::type);
    if (it == list.end()) {
        return;
    }
    it->indexes.erase(index);
    if (it->indexes.empty()) {
        list.erase(it);
    }
}

void set_indexes(std::vector<typed_indexes>& list, std::string_view type, index_set indexes) {
    const auto it = std::ranges::find(list, type, &typed_indexes::type);
    if (indexes.empty()) {
        list.erase(it);
    } else {
        it->indexes = std::move(indexes);
    }
}

const task_status* find_task(const job_status& status, std::string_view type) {
    const auto it = std::ranges::find(status.tasks, type, &task_status::type);
    return it == status.tasks.end() ? nullptr : &*it;
}

std::int32_t wanted_in_force(const job_status& status, const type_plan& type) {
    if (status.attempt == 0 || status.tasks.empty()) {
        return type.wanted;
    }
    // What the attempt did not begin with is not of it (10.4).
    const task_status* task = find_task(status, type.name);
    return task == nullptr ? 0 : task->wanted;
}

std::vector<std::int32_t> wanted_in_force(const job_status& status, const job_plan& plan) {
    std::vector<std::int32_t> out;
    out.reserve(plan.types.size());
    for (const type_plan& type : plan.types) {
        out.push_back(wanted_in_force(status, type));
    }
    return out;
}

std::int32_t replicas_ended(const job_status& status, std::string_view type) {
    std::int64_t out = 0;
    for (const auto* list : {&status.restarts.completed, &status.restarts.given_up}) {
        const index_set* indexes = find_indexes(*list, type);
        out += indexes == nullptr ? 0 : indexes->size();
    }
    return static_cast<std::int32_t>(std::min<std::int64_t>(out, most_counted));
}

std::int32_t next_number(std::int32_t n) {
    return n + 1 < most_counted ? n + 1 : 1;
}

void raise_count(std::int32_t& count) {
    count = std::min(count, most_counted - 1) + 1;
}

void leave_attempt(job_status& status) {
    status.attempt = next_number(status.attempt);
    status.restarts.seen.clear();
    status.restarts.replaced.clear();
    status.restarts.renamed.clear();
    status.restarts.completed.clear();
    status.restarts.given_up.clear();
    status.restarts.settling.reset();
}

void raise_attempt(job_status& status, const job_plan& plan) {
    leave_attempt(status);
    std::vector<task_status> tasks;
    for (const type_plan& type : plan.types) {
        const task_status* old = find_task(status, type.name);
        task_status task = old == nullptr ? task_status{type.name, 0, 0, {}} : *old;
        task.wanted = type.wanted;
        tasks.push_back(std::move(task));
    }
    status.tasks = std::move(tasks);
}

void raise_round(job_status& status, std::string_view type, std::int32_t index) {
    auto& replaced = status.restarts.replaced;
    const auto it = std::ranges::find_if(replaced, [&](const replaced_index& r) {
        return r.type == type && r.index == index;
    });
    if (it == replaced.end()) {
        replaced.push_back({std::string(type), index, 1});
    } else {
        it->round = next_number(it->round);
    }
    erase_index(status.restarts.seen, type, index);
    std::erase_if(status.restarts.renamed, [&](const renamed_index& r) {
        return r.type == type && r.index == index;
    });
}

bool is_replaced(const job_status& status, std::string_view type, std::int32_t index) {
    return std::ranges::any_of(status.restarts.replaced, [&](const replaced_index& r) {
        return r.type == type && r.index == index;
    });
}

bool is_told(const job_status& status, reason what) {
    return std::ranges::find(status.told, to_string(what)) != status.told.end();
}

const condition* find_condition(const job_status& status, condition_type type) {
    return core::find_condition(status, to_string(type));
}

}  // namespace signalbox::core::engine
