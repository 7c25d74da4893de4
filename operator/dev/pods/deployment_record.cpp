// SPDX-License-Identifier: Apache-2.0
#include "pods/deployment_record.hpp"

#include "pods/json_value.hpp"

#include <jobcore/plan.hpp>
#include <jobcore/strings.hpp>

#include <fmt/format.h>

#include <utility>

namespace signalbox::op::pods {

namespace {

template <class Record>
void read_identity(const json_value& metadata, Record& out) {
    out.uid = text(metadata, "uid");
    out.resource_version = text(metadata, "resourceVersion");
    out.ns = text(metadata, "namespace");
    out.name = text(metadata, "name");
}

bool has_condition(const json_value& status, std::string_view type) {
    bool holds = false;
    for_each(member(status, "conditions"), [&](const json_value& c) {
        holds = holds || (text(c, "type") == type && text(c, "status") == "True");
    });
    return holds;
}

/// Counters of zero are left out by the real controller; a merge patch has to take them away.
std::string count_text(std::int64_t count) {
    return count == 0 ? "null" : std::to_string(count);
}

}  // namespace

bool deployment_record::says(std::int64_t pods, std::int64_t ready_pods) const {
    return observed_generation == generation && replicas == pods && ready == ready_pods &&
           available == is_served_by(ready_pods);
}

std::string template_hash(const deployment_record& of) {
    return core::name_hash(of.name, of.pod_template);
}

std::string status_patch(
    const deployment_record& of, std::int64_t pods, std::int64_t ready_pods, core::instant now
) {
    const bool available = of.is_served_by(ready_pods);
    std::string conditions;
    if (available != of.available || of.observed_generation == 0) {
        conditions = fmt::format(
            R"(,"conditions":[{{"type":"Available","status":"{}","reason":"{}",)"
            R"("message":"{} of {} pods are ready","lastUpdateTime":"{}","lastTransitionTime":"{}"}}])",
            available ? "True" : "False",
            available ? "MinimumReplicasAvailable" : "MinimumReplicasUnavailable",
            ready_pods,
            of.wanted,
            core::format_time(now),
            core::format_time(now)
        );
    }
    return fmt::format(
        R"({{"metadata":{{"uid":{}}},"status":{{"observedGeneration":{},"replicas":{},)"
        R"("updatedReplicas":{},"readyReplicas":{},"availableReplicas":{}{}}}}})",
        core::json_string(of.uid),
        of.generation,
        count_text(pods),
        count_text(pods),
        count_text(ready_pods),
        count_text(ready_pods),
        conditions
    );
}

std::optional<deployment_record> read_deployment_record(std::string_view json) {
    rapidjson::Document object;
    if (!parse(object, json)) {
        return std::nullopt;
    }
    deployment_record out;
    const json_value& metadata = member(object, "metadata");
    const json_value& spec = member(object, "spec");
    const json_value& status = member(object, "status");
    read_identity(metadata, out);
    out.pod_template = to_text(member(spec, "template"));
    out.generation = whole_number(metadata, "generation").value_or(0);
    // What is being deleted takes its pods along.
    const bool deleting = !text(metadata, "deletionTimestamp").empty();
    out.wanted = deleting ? 0 : whole_number(spec, "replicas").value_or(1);
    out.observed_generation = whole_number(status, "observedGeneration").value_or(0);
    out.replicas = whole_number(status, "replicas").value_or(0);
    out.ready = whole_number(status, "readyReplicas").value_or(0);
    out.available = has_condition(status, "Available");
    return out.uid.empty() ? std::nullopt : std::optional(std::move(out));
}

std::optional<deployed_pod> read_deployed_pod(std::string_view json) {
    rapidjson::Document object;
    if (!parse(object, json)) {
        return std::nullopt;
    }
    deployed_pod out;
    const json_value& metadata = member(object, "metadata");
    const json_value& status = member(object, "status");
    read_identity(metadata, out);
    out.template_hash = text(member(metadata, "labels"), hash_label);
    for_each(member(metadata, "ownerReferences"), [&](const json_value& owner) {
        if (text(owner, "kind") == "Deployment") {
            out.deployment = text(owner, "uid");
        }
    });
    const std::string_view phase = text(status, "phase");
    out.ready = has_condition(status, "Ready");
    out.ended = phase == "Succeeded" || phase == "Failed";
    out.deleting = !text(metadata, "deletionTimestamp").empty();
    return out.uid.empty() ? std::nullopt : std::optional(std::move(out));
}

}  // namespace signalbox::op::pods
