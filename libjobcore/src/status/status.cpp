// SPDX-License-Identifier: Apache-2.0
#include "jobcore/status.hpp"

#include <algorithm>
#include <array>

namespace signalbox::core {
namespace {

template <class Value>
struct named {
    Value value;
    std::string_view name;
};

// The first row of each table is what any other text is read as.

constexpr std::array<named<job_phase>, 8> phase_names{{
    {job_phase::none, ""},
    {job_phase::pending, "Pending"},
    {job_phase::running, "Running"},
    {job_phase::paused, "Paused"},
    {job_phase::resuming, "Resuming"},
    {job_phase::succeeded, "Succeeded"},
    {job_phase::failed, "Failed"},
    {job_phase::unknown, "Unknown"},
}};

constexpr std::array<named<training_state>, 4> training_names{{
    {training_state::unknown, ""},
    {training_state::not_started, "NotStarted"},
    {training_state::started, "Started"},
    {training_state::resumed, "Resumed"},
}};

constexpr std::array<named<time_kind>, 7> time_names{{
    {time_kind::none, ""},
    {time_kind::queued, "Queued"},
    {time_kind::starting, "Starting"},
    {time_kind::running, "Running"},
    {time_kind::restarting, "Restarting"},
    {time_kind::stalled, "Stalled"},
    {time_kind::paused, "Paused"},
}};

template <class Value, std::size_t N>
std::string_view name_of(const std::array<named<Value>, N>& names, Value value) {
    const auto it = std::ranges::find(names, value, &named<Value>::value);
    return it == names.end() ? std::string_view{} : it->name;
}

template <class Value, std::size_t N>
Value parse_name(const std::array<named<Value>, N>& names, std::string_view text) {
    const auto it = std::ranges::find(names, text, &named<Value>::name);
    return it == names.end() ? names.front().value : it->value;
}

}  // namespace

std::string_view to_string(job_phase phase) {
    return name_of(phase_names, phase);
}

job_phase parse_job_phase(std::string_view text) {
    return parse_name(phase_names, text);
}

std::string_view to_string(training_state state) {
    return name_of(training_names, state);
}

training_state parse_training_state(std::string_view text) {
    return parse_name(training_names, text);
}

std::string_view to_string(time_kind kind) {
    return name_of(time_names, kind);
}

time_kind parse_time_kind(std::string_view text) {
    return parse_name(time_names, text);
}

std::string_view loss_of(const progress_status& progress) {
    const auto it = std::ranges::find(progress.metrics, "loss", &progress_metric::name);
    return it == progress.metrics.end() ? std::string_view() : it->value;
}

const condition* find_condition(const job_status& status, std::string_view type) {
    const auto it = std::ranges::find(status.conditions, type, &condition::type);
    return it == status.conditions.end() ? nullptr : &*it;
}

bool may_save_work(const job_status& status, std::int32_t attempt) {
    const bool lost_it = attempt == status.attempt || attempt == status.attempt - 1;
    return lost_it && status.time.recoverable > 0 && status.time.since && !is_final(status.phase);
}

}  // namespace signalbox::core
