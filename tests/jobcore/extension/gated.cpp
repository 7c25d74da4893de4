// SPDX-License-Identifier: Apache-2.0
//
// Three schedulers that the library does not have: together they use every part of its seam.
#include "extension/process_job.hpp"

#include <array>

namespace signalbox::core::gang {
namespace {

constexpr std::array<std::string_view, 4> gang_fields{
    "policy.count", "policy.types", "queue", "rank"};
constexpr object_kind_row gang_v2{
    "gates.test/v2", "Gang", "gangs", kind_use::gang, true, readiness::unsaid, gang_fields};
constexpr object_kind_row gang_v1{
    "gates.test/v1", "Gang", "gangs", kind_use::gang, true, readiness::unsaid, gang_fields};
constexpr std::array gangs{object_kind(gang_v2), object_kind(gang_v1)};

std::string types_of(const gang_state& s) {
    std::string out;
    for (const member_type& r : s.types) {
        out += (out.empty() ? "[{\"name\":\"" : ",{\"name\":\"") + s.plan.types[r.type].name +
               "\",\"pods\":" + std::to_string(r.pods) + "}";
    }
    return out + "]";
}

std::vector<field_value> gang_values(const gang_state& s) {
    return {
        s.min_member,
        json_text{types_of(s)},
        std::string(s.asked().text("queue")),
        s.asked().has("rank") ? field_value(s.asked().number("rank")) : field_value()};
}

pod_marks gang_marks(const job_plan& plan, std::size_t type) {
    pod_marks out;
    out.scheduler_name = "gate-keeper";
    out.annotations = {{"gates.test/gang", plan.base_name}};
    out.labels = {{"gates.test/role", plan.types[type].name}};
    out.gates = {"gates.test/wait"};
    out.spec = {
        {"schedulingGroup", json_text{R"({"name":")" + plan.base_name + R"("})"}},
        {"priority", std::int64_t{7}},
        {"priorityClassName", std::string("gated")}};
    return out;
}

gang_answer gang_read(const json::value& object) {
    gang_answer out;
    const json::value* status = json::find(object, "status");
    if (status != nullptr) {
        const bool open = json::string_or_empty(*status, "gate") == "open";
        out.is = open ? gang_answer::state::admitted : gang_answer::state::waiting;
        out.words = json::string_or_empty(*status, "why");
    }
    return out;
}

std::vector<objection> gang_check(const job_plan&, std::span<const template_facts> templates) {
    std::vector<objection> out;
    for (const template_facts& t : templates) {
        if (!t.scheduler_name.empty()) {
            out.push_back({t.pointer + "/spec/schedulerName", "The gate keeper knows no other."});
        }
    }
    return out;
}

constexpr object_kind_row ticket_row{"tickets.test/v1", "Ticket", "tickets", kind_use::gang, true};
constexpr std::array tickets{object_kind(ticket_row)};

std::vector<field_value> no_values(const gang_state&) {
    return {};
}
pod_marks no_marks(const job_plan&, std::size_t) {
    return {};
}

constexpr std::array<std::string_view, 1> count_fields{"least"};
constexpr object_kind_row count_row{
    "counts.test/v1", "Count", "counts", kind_use::gang, true, readiness::unsaid, count_fields};
constexpr std::array counts{object_kind(count_row)};

std::vector<field_value> count_values(const gang_state& s) {
    return {s.min_active};
}

}  // namespace

constinit const scheduler gated{
    .name = "gatedScheduler",
    .objects = gangs,
    .tells = admits::at_gates,
    .values = gang_values,
    .member = {member_mark::place::annotation, "gates.test/gang"},
    .marks = gang_marks,
    .read = gang_read,
    .check = gang_check};

constinit const scheduler ticketed{
    .name = "ticketedScheduler",
    .objects = tickets,
    .tells = admits::before_pods,
    .holds = {.by_priority = true},
    .values = no_values,
    .marks = no_marks,
    .read = gang_read};

constinit const scheduler counted{
    .name = "countedScheduler",
    .objects = counts,
    .tells = admits::by_pods,
    .holds = {.by_number = true, .by_priority = true, .by_gate = true},
    .values = count_values,
    .marks = no_marks,
    .read = gang_read};

}  // namespace signalbox::core::gang
