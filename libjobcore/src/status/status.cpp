// SPDX-License-Identifier: Apache-2.0
#include "jobcore/status.hpp"

#include <algorithm>
#include <array>

namespace signalbox::core {
namespace {

struct phase_name {
    job_phase phase;
    std::string_view name;
};

constexpr std::array<phase_name, 8> phase_names{{
    {job_phase::none, ""},
    {job_phase::pending, "Pending"},
    {job_phase::running, "Running"},
    {job_phase::paused, "Paused"},
    {job_phase::resuming, "Resuming"},
    {job_phase::succeeded, "Succeeded"},
    {job_phase::failed, "Failed"},
    {job_phase::unknown, "Unknown"},
}};

struct training_name {
    training_state state;
    std::string_view name;
};

constexpr std::array<training_name, 4> training_names{{
    {training_state::unknown, ""},
    {training_state::not_started, "NotStarted"},
    {training_state::started, "Started"},
    {training_state::resumed, "Resumed"},
}};

}  // namespace

std::string_view to_string(job_phase phase) {
    const auto it = std::ranges::find(phase_names, phase, &phase_name::phase);
    return it == phase_names.end() ? std::string_view{} : it->name;
}

job_phase parse_job_phase(std::string_view text) {
    const auto it = std::ranges::find(phase_names, text, &phase_name::name);
    return it == phase_names.end() ? job_phase::none : it->phase;
}

std::string_view to_string(training_state state) {
    const auto it = std::ranges::find(training_names, state, &training_name::state);
    return it == training_names.end() ? std::string_view{} : it->name;
}

training_state parse_training_state(std::string_view text) {
    const auto it = std::ranges::find(training_names, text, &training_name::name);
    return it == training_names.end() ? training_state::unknown : it->state;
}

const condition* find_condition(const job_status& status, std::string_view type) {
    const auto it = std::ranges::find(status.conditions, type, &condition::type);
    return it == status.conditions.end() ? nullptr : &*it;
}

}  // namespace signalbox::core
