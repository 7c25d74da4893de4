// SPDX-License-Identifier: Apache-2.0
#include "roles/permissions.hpp"

#include "controller/resource_table.hpp"
#include "jobcore/schema.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace signalbox::op {

namespace {

using texts = std::vector<std::string>;

const texts watched_verbs{"get", "list", "watch", "create", "patch", "delete"};
/// BEHAVIOUR.md 2.10.
const texts unwatched_verbs{"get", "create", "delete"};

texts plurals(std::span<const core::job_kind> kinds, std::string_view subresource = {}) {
    texts out;
    for (const core::job_kind kind : kinds) {
        out.push_back(std::string(core::plural(kind)) + std::string(subresource));
    }
    return out;
}

std::string why(core::object_kind kind) {
    if (kind == core::object_kind::secret) {
        return "The ssh keys of a job's pods: read by name, not listed.";
    }
    if (kind == core::object_kind::deployment) {
        return "Our own TensorBoard, where the server serves no such kind.";
    }
    if (kind->extension) {
        return "Where the server serves this kind.";
    }
    return kind == core::object_kind::config_map ? "The host lists of jobs that use ssh."
                                                 : "Listed and watched are those of our own only, "
                                                   "which RBAC cannot say.";
}

/// Every kind of children, those that differ in nothing but the resource in one rule.
void add_children(std::vector<permission>& out) {
    const auto add = [&out](core::object_kind kind, bool is_watched) {
        const k8sio::resource_type& type = type_of(kind, core::job_kind{});
        permission rule{
            feature_of(kind),
            type.group(),
            {type.plural()},
            is_watched ? watched_verbs : unwatched_verbs,
            why(kind),
            {}};
        const auto like = std::ranges::find_if(out, [&rule](const permission& p) {
            return p.of == rule.of && p.group == rule.group && p.why == rule.why;
        });
        if (like == out.end()) {
            out.push_back(std::move(rule));
        } else if (like->resources.back() != rule.resources.front()) {  // another version of it
            like->resources.push_back(rule.resources.front());
        }
    };
    add(core::object_kind::pod, true);
    for (const watched_kind& row : watched_children()) {
        add(row.kind, row.when != watched::by_name);
    }
}

/// What asks for quota is written back to.
void add_quota(std::vector<permission>& out) {
    const auto kinds = core::kinds_of_scheduler("kueue");
    const k8sio::resource_type& type = type_of(kinds.front(), core::job_kind{});
    out.push_back(
        {feature::kueue,
         type.group(),
         {type.plural() + "/status"},
         {"patch"},
         "Quota is given back when pods have stopped, and what became of them is told.",
         {}}
    );
}

}  // namespace

std::vector<permission> job_permissions(std::span<const core::job_kind> kinds) {
    const std::string group(core::api_group);
    std::vector<permission> out;
    out.push_back(
        {{},
         group,
         plurals(kinds),
         {"get", "list", "watch", "delete"},
         "delete: ttlSecondsAfterFinished.",
         {}}
    );
    out.push_back(
        {{},
         group,
         plurals(kinds),
         {"patch"},
         "elastic.expectedReplicas, written once: what the scale subresource shows.",
         {}}
    );
    out.push_back({{}, group, plurals(kinds, "/status"), {"update"}, "", {}});
    out.push_back(
        {{},
         group,
         plurals(kinds, "/finalizers"),
         {"update"},
         "Children name their job in an owner reference that blocks its deletion; where the "
         "admission plugin\nOwnerReferencesPermissionEnforcement is on, that needs this "
         "permission.",
         {}}
    );
    add_children(out);
    add_quota(out);
    out.push_back({feature::events, "", {"events"}, {"create", "patch"}, "", {}});
    out.push_back(
        {feature::logs, "", {"pods/log"}, {"get"}, "The ends of the logs of pods that failed.", {}}
    );
    return out;
}

std::vector<permission> progress_permissions() {
    return {
        {feature::progress,
         "authentication.k8s.io",
         {"tokenreviews"},
         {"create"},
         "Whose token a report of progress comes with. No Role can permit it: it is of the "
         "cluster.",
         {}},
    };
}

std::vector<permission> endpoint_permissions() {
    return {
        {feature::progress,
         "discovery.k8s.io",
         {"endpointslices"},
         {"create", "patch"},
         "With several replicas: the Service of the receiver leads to the one that decides.",
         {}},
    };
}

std::vector<permission> cluster_permissions() {
    std::vector<permission> out;
    for (const core::object_kind kind : core::all_read_kinds()) {
        const k8sio::resource_type& type = type_of(kind, core::job_kind{});
        if (out.empty()) {
            out.push_back(
                {feature_of(kind),
                 type.group(),
                 {},
                 {"get"},
                 "Where admitted pods may run, and how important a job is: of the whole "
                 "cluster.",
                 {}}
            );
        }
        out.front().resources.push_back(type.plural());
    }
    return out;
}

std::vector<permission> election_permissions(const std::string& lease) {
    const std::string group = "coordination.k8s.io";
    return {
        {{}, group, {"leases"}, {"create"}, "`create` cannot be bound to a name.", {}},
        {{}, group, {"leases"}, {"get", "patch"}, "", {lease}},
    };
}

}  // namespace signalbox::op
