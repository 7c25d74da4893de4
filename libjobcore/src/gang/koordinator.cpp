// SPDX-License-Identifier: Apache-2.0
#include "gang/koordinator.hpp"

namespace signalbox::core {
namespace gang::of_koordinator {
namespace {

/// Members that have ended count as long as their pods are there, and a gang that was placed once
/// is not held again while one of its pods is there. After all have gone those that come are a gang
/// anew.
pod_marks marks(const job_plan& plan, std::size_t) {
    pod_marks out;
    out.scheduler_name = "koord-scheduler";
    out.annotations = {{"gang.scheduling.koordinator.sh/name", plan.base_name}};
    out.minimum = "gang.scheduling.koordinator.sh/min-available";
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
