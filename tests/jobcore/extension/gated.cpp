// SPDX-License-Identifier: Apache-2.0
#include "extension/process_job.hpp"

#include <array>

namespace signalbox::core {
namespace {

constexpr std::array<std::string_view, 2> fields{"count", "queue"};

constexpr object_kind_row gang_row{
    "gates.test/v1", "Gang", "gangs", kind_use::gang, true, readiness::conditions, fields};

std::vector<gang::field_value> values(const gang_plan& gang, std::int64_t min_member) {
    return {min_member, gang.queue};
}

gang::pod_marks marks(const job_plan& plan, std::size_t type) {
    gang::pod_marks out;
    out.annotations = {{"gates.test/gang", plan.base_name}};
    out.labels = {{"gates.test/role", plan.types[type].name}};
    out.gates = {"gates.test/wait"};
    return out;
}

}  // namespace

constinit const gang::scheduler gang::gated{"gatedScheduler", object_kind(gang_row), values, marks};

}  // namespace signalbox::core
