// SPDX-License-Identifier: Apache-2.0
#include "known_violations.hpp"

#include <algorithm>

namespace signalbox::search {

namespace {

constexpr std::string_view anywhere[] = {""};
constexpr std::string_view torchrun_alone[] = {"c10d", "etcd"};
constexpr std::string_view without_master[] = {"etcd: objects"};
constexpr std::string_view elastic[] = {"c10d elastic"};
constexpr std::string_view giving_up[] = {
    "plain, failurePolicy Master",
    "c10d, failurePolicy Master",
    "c10d elastic",
    "etcd elastic",
    "deepspeed elastic"};
constexpr std::string_view scope_replica[] = {"plain, scope Replica", "c10d: barrier"};
constexpr std::string_view paused_and_broken[] = {
    "plain: user",
    "plain, mixed types: user",
    "plain, clean-up All: user",
    "plain, deadline: user",
    "plain, created paused: user",
    "plain, resume commands: user",
    "deepspeed, gang: user"};
constexpr std::string_view gang_while_running[] = {"c10d elastic gang: kinds"};

constexpr known_violation known[] = {
    {"absence-unconfirmed",
     "an incident is judged before an absence of the same time is confirmed, so that it counts",
     "5.3 an incident is judged while an absence is not confirmed",
     anywhere},
    {"absence-while-settling",
     "while an exit settles nobody confirms that another pod has vanished",
     "5.3 nobody confirms an absence while the job waits",
     torchrun_alone},
    {"not-initialized",
     "Initialized stays False if the look that sees the last pod accepted also ends the job",
     "2.4 the job ends with all its pods accepted, and is not Initialized",
     anywhere},
    {"replica-failure-forgotten",
     "ReplicaFailure is False at the end of a job that gave up a replica",
     "4.13 ReplicaFailure is not True at the end of a job that gave up a replica",
     giving_up},
    {"given-up-and-resized",
     "replicas that were given up are subtracted though a smaller size has left them out",
     "5.10 an elastic job fails though  of at least  replicas are left",
     elastic},
    {"refusal-settles",
     "a pod that is refused for good settles like an exit",
     "2.8 a pod was refused for good, none ever was, and the job goes on",
     without_master},
    {"stuck-name",
     "the name of a stuck pod that was labelled gone is wanted again, and nothing renames it",
     "1.3 the job waits for ever for the name of a stuck pod",
     anywhere},
    {"budget-by-grouping",
     "failures of the same moment cost one if they are seen together, else one each",
     "5.5 the same failures cost more if they are seen one after the other",
     scope_replica},
    {"paused-and-invalid",
     "a job whose pause was taken back in an invalid specification stays Paused and does not say "
     "InvalidSpec",
     "4.2 a job whose invalid specification is not paused stays Paused, and does not say why",
     paused_and_broken},
    {"running-without-group",
     "a Running elastic job that lacks a pod does not say that PodGroup is not served",
     "I18 the job is Running, and node- has no pod",
     gang_while_running},
};

}  // namespace

std::span<const known_violation> all_known_violations() {
    return known;
}

const known_violation* find_known(std::string_view configuration, std::string_view kind) {
    for (const known_violation& k : known) {
        const bool here = std::ranges::any_of(k.configurations, [&](std::string_view name) {
            return configuration.starts_with(name);
        });
        if (here && k.kind == kind) {
            return &k;
        }
    }
    return nullptr;
}

}  // namespace signalbox::search
