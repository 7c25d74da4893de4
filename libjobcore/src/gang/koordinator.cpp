// SPDX-License-Identifier: Apache-2.0
#include "gang/koordinator.hpp"

#include <string>

namespace signalbox::core {
namespace gang::of_koordinator {
namespace {

/// A member that is made again runs beside those that have ended: the minimum need not follow them.
pod_marks marks(const job_plan& plan, std::size_t) {
    pod_marks out;
    out.scheduler_name = "koord-scheduler";
    out.annotations = {
        {"gang.scheduling.koordinator.sh/name", plan.base_name},
        {"gang.scheduling.koordinator.sh/min-available", std::to_string(plan.gang->min_member)},
    };
    return out;
}

}  // namespace
}  // namespace gang::of_koordinator

constinit const gang::scheduler gang::koordinator{
    .name = "koordinator",
    .objects = {},
    .tells = gang::admits::by_pods,
    .holds = {.by_number = true, .by_gate = true},
    .member = {gang::member_mark::place::annotation, "gang.scheduling.koordinator.sh/name"},
    .marks = gang::of_koordinator::marks};

}  // namespace signalbox::core
