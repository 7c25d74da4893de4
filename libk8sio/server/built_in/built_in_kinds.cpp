// SPDX-License-Identifier: Apache-2.0
//
// The built-in kinds as data: adding one is adding a row (README.md).
#include "server/built_in/built_in_kinds.hpp"

#include "server/built_in/built_in_rules.hpp"
#include "server/built_in/event_form.hpp"
#include "server/built_in/reviews.hpp"
#include "server/kinds/definition.hpp"
#include "server/values/text.hpp"

#include <utility>

namespace signalbox::k8sio::server {
namespace {

namespace cells = rules::cells;

column age_column() {
    return {"Age", ".metadata.creationTimestamp", "date"};
}
column name_column() {
    return {"Name", ".metadata.name", "string", 0, nullptr, "", "name"};
}
/// As of kinds without a printer of their own: the time itself.
column created_at_column() {
    return {"Created At", ".metadata.creationTimestamp", "date", 0, nullptr, "", "", true};
}
column cell(std::string name, column::printer print, int priority = 0) {
    return {std::move(name), "", "string", priority, print};
}
/// `print` gives a number.
column count(std::string name, column::printer print, int priority = 0) {
    column c = cell(std::move(name), print, priority);
    c.raw = true;
    return c;
}
column path(
    std::string name, std::string json_path, std::string type = "string", int priority = 0
) {
    return {std::move(name), std::move(json_path), std::move(type), priority};
}

kind_info row(
    std::string group,
    std::string version,
    std::string kind,
    std::string plural,
    std::vector<std::string> short_names,
    unsigned traits
) {
    kind_info k;
    k.group = std::move(group);
    k.version = std::move(version);
    k.kind = std::move(kind);
    k.plural = std::move(plural);
    k.singular = lower(k.kind);
    k.short_names = std::move(short_names);
    k.traits = traits;
    k.columns = {name_column(), created_at_column()};
    return k;
}

kind_info pods() {
    kind_info k =
        row("",
            "v1",
            "Pod",
            "pods",
            {"po"},
            trait::status | trait::generation | trait::graceful | trait::returns_deleted);
    k.categories = {"all"};
    k.selectable = {
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "spec.hostNetwork",
        "status.phase",
        "status.podIP",
        "status.nominatedNodeName"};
    k.columns = {
        name_column(),
        cell("Ready", cells::pod_ready),
        cell("Status", cells::pod_status),
        cell("Restarts", cells::pod_restarts),
        age_column(),
        path("IP", ".status.podIP", "string", 1),
        path("Node", ".spec.nodeName", "string", 1),
        path("Nominated Node", ".status.nominatedNodeName", "string", 1),
        cell("Readiness Gates", cells::pod_readiness_gates, 1)};
    k.defaults = rules::default_pod;
    k.validate = rules::validate_pod;
    k.validate_update = rules::validate_pod_update;
    return k;
}

kind_info services() {
    kind_info k =
        row("",
            "v1",
            "Service",
            "services",
            {"svc"},
            trait::status | trait::create_on_update | trait::returns_deleted);
    k.categories = {"all"};
    k.names = name_rule::dns_1035_label;
    k.selectable = {"spec.clusterIP", "spec.type"};
    k.columns = {
        name_column(),
        path("Type", ".spec.type"),
        cell("Cluster-IP", cells::service_cluster_ip),
        cell("External-IP", cells::service_external_ip),
        cell("Port(s)", cells::service_ports),
        age_column(),
        cell("Selector", cells::service_selector, 1)};
    k.defaults = rules::default_service;
    k.validate = rules::validate_service;
    k.validate_update = rules::validate_service_update;
    return k;
}

kind_info secrets() {
    kind_info k = row("", "v1", "Secret", "secrets", {}, 0);
    k.selectable = {"type"};
    k.columns = {
        name_column(), path("Type", ".type"), count("Data", cells::data_count), age_column()};
    k.defaults = rules::default_secret;
    k.validate = rules::validate_secret;
    k.validate_update = rules::validate_data_update;
    return k;
}

kind_info config_maps() {
    kind_info k = row("", "v1", "ConfigMap", "configmaps", {"cm"}, 0);
    k.columns = {name_column(), count("Data", cells::data_count), age_column()};
    k.validate = rules::validate_config_map;
    k.validate_update = rules::validate_data_update;
    return k;
}

kind_info namespaces() {
    kind_info k =
        row("",
            "v1",
            "Namespace",
            "namespaces",
            {"ns"},
            trait::status | trait::cluster | trait::returns_deleted | trait::deleted_singly);
    k.names = name_rule::dns_label;
    k.selectable = {"status.phase"};
    k.columns = {name_column(), cell("Status", cells::namespace_status), age_column()};
    k.defaults = rules::default_namespace;
    return k;
}

kind_info nodes() {
    kind_info k =
        row("", "v1", "Node", "nodes", {"no"}, trait::status | trait::cluster | trait::keeps_status
        );
    k.selectable = {"spec.unschedulable"};
    k.columns = {
        name_column(),
        cell("Status", cells::node_status),
        cell("Roles", cells::node_roles),
        age_column(),
        path("Version", ".status.nodeInfo.kubeletVersion"),
        cell("Internal-IP", cells::node_internal_ip, 1),
        cell("External-IP", cells::node_external_ip, 1),
        cell("OS-Image", cells::node_image, 1),
        cell("Kernel-Version", cells::node_kernel, 1),
        cell("Container-Runtime", cells::node_runtime, 1)};
    return k;
}

kind_info events() {
    kind_info k = row("", "v1", "Event", "events", {"ev"}, trait::create_on_update);
    k.selectable = {
        "involvedObject.kind",
        "involvedObject.namespace",
        "involvedObject.name",
        "involvedObject.uid",
        "involvedObject.apiVersion",
        "involvedObject.resourceVersion",
        "involvedObject.fieldPath",
        "reason",
        "reportingComponent",
        "source",
        "type"};
    k.columns = {
        cell("Last Seen", cells::event_last_seen),
        path("Type", ".type"),
        path("Reason", ".reason"),
        cell("Object", cells::event_object),
        cell("Subobject", cells::event_subobject, 1),
        cell("Source", cells::event_source, 1),
        cell("Message", cells::event_message),
        cell("First Seen", cells::event_first_seen, 1),
        count("Count", cells::event_count, 1),
        {"Name", ".metadata.name", "string", 1, nullptr, "", "name"}};
    return k;
}

kind_info newer_events() {
    kind_info k = events();
    k.group = "events.k8s.io";
    auto kept = std::make_shared<kind_info>(events());
    kept->validate = event_form::validate;
    kept->validate_update = event_form::validate_update;
    k.form = std::make_shared<const other_form>(other_form{
        std::move(kept), event_form::to_stored, event_form::from_stored});
    // In the order of events(), whose values are indexed.
    k.selectable = {
        "regarding.kind",
        "regarding.namespace",
        "regarding.name",
        "regarding.uid",
        "regarding.apiVersion",
        "regarding.resourceVersion",
        "regarding.fieldPath",
        "reason",
        "reportingController",
        "deprecatedSource",
        "type"};
    return k;
}

kind_info review(
    std::string group,
    std::string kind,
    std::string plural,
    outcome<void> (*answer)(json::value&, json::arena&),
    unsigned traits = trait::cluster
) {
    kind_info k =
        row(std::move(group), "v1", std::move(kind), std::move(plural), {}, trait::review | traits);
    k.answer = answer;
    return k;
}

kind_info service_accounts() {
    kind_info k =
        row("", "v1", "ServiceAccount", "serviceaccounts", {"sa"}, trait::returns_deleted);
    k.columns = {name_column(), count("Secrets", cells::account_secrets), age_column()};
    return k;
}

kind_info claims() {
    kind_info k =
        row("",
            "v1",
            "PersistentVolumeClaim",
            "persistentvolumeclaims",
            {"pvc"},
            trait::status | trait::returns_deleted);
    k.columns = {
        name_column(),
        cell("Status", cells::claim_status),
        path("Volume", ".spec.volumeName"),
        cell("Capacity", cells::claim_capacity),
        cell("Access Modes", cells::claim_modes),
        path("StorageClass", ".spec.storageClassName"),
        cell("VolumeAttributesClass", cells::claim_attributes),
        age_column(),
        path("VolumeMode", ".spec.volumeMode", "string", 1)};
    k.defaults = rules::default_claim;
    k.validate = rules::validate_claim;
    return k;
}

void add_template_columns(kind_info& k) {
    k.columns.push_back(cell("Containers", cells::template_containers, 1));
    k.columns.push_back(cell("Images", cells::template_images, 1));
    k.columns.push_back(cell("Selector", cells::workload_selector, 1));
}

kind_info deployments() {
    kind_info k =
        row("apps", "v1", "Deployment", "deployments", {"deploy"}, trait::status | trait::generation
        );
    k.categories = {"all"};
    k.columns = {
        name_column(),
        cell("Ready", cells::deployment_ready),
        count("Up-to-date", cells::deployment_updated),
        count("Available", cells::deployment_available),
        age_column()};
    add_template_columns(k);
    k.defaults = rules::default_deployment;
    k.validate = rules::validate_deployment;
    k.scale = std::make_shared<const scale_paths>(scale_paths{
        ".spec.replicas", ".status.replicas", ".spec.selector"});
    return k;
}

kind_info replica_sets() {
    kind_info k =
        row("apps", "v1", "ReplicaSet", "replicasets", {"rs"}, trait::status | trait::generation);
    k.categories = {"all"};
    k.columns = {
        name_column(),
        path("Desired", ".spec.replicas", "integer"),
        path("Current", ".status.replicas", "integer"),
        path("Ready", ".status.readyReplicas", "integer"),
        age_column()};
    add_template_columns(k);
    k.scale = deployments().scale;
    k.defaults = rules::default_replica_set;
    k.validate = rules::validate_replica_set;
    return k;
}

kind_info leases() {
    kind_info k = row("coordination.k8s.io", "v1", "Lease", "leases", {}, trait::create_on_update);
    k.columns = {name_column(), cell("Holder", cells::lease_holder), age_column()};
    k.validate = rules::validate_lease;
    return k;
}

kind_info definitions() {
    kind_info k =
        row("apiextensions.k8s.io",
            "v1",
            "CustomResourceDefinition",
            "customresourcedefinitions",
            {"crd", "crds"},
            trait::status | trait::generation | trait::cluster);
    k.categories = {"api-extensions"};
    k.defaults = default_definition;
    k.validate = validate_definition;
    return k;
}

}  // namespace

std::vector<kind_info> built_in_kinds() {
    const auto node_scoped = trait::cluster;
    kind_info quota = row("", "v1", "ResourceQuota", "resourcequotas", {"quota"}, trait::status);
    quota.columns = {
        name_column(),
        cell("Request", cells::quota_requests),
        cell("Limit", cells::quota_limits),
        age_column()};
    kind_info endpoints = row("", "v1", "Endpoints", "endpoints", {"ep"}, trait::create_on_update);
    endpoints.columns = {name_column(), cell("Endpoints", cells::endpoint_addresses), age_column()};
    kind_info budget =
        row("policy",
            "v1",
            "PodDisruptionBudget",
            "poddisruptionbudgets",
            {"pdb"},
            trait::status | trait::generation);
    budget.validate = rules::validate_budget;
    budget.columns = {
        name_column(),
        cell("Min Available", cells::budget_least),
        cell("Max Unavailable", cells::budget_most),
        path("Allowed Disruptions", ".status.disruptionsAllowed", "integer"),
        age_column()};
    kind_info role = row("rbac.authorization.k8s.io", "v1", "Role", "roles", {}, 0);
    role.names = name_rule::path_segment;
    role.validate = rules::validate_role;
    kind_info binding =
        row("rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings", {}, 0);
    binding.names = name_rule::path_segment;
    binding.validate = rules::validate_role_binding;
    binding.columns = {
        name_column(),
        cell("Role", cells::binding_role),
        age_column(),
        cell("Users", cells::binding_users, 1),
        cell("Groups", cells::binding_groups, 1),
        cell("ServiceAccounts", cells::binding_accounts, 1)};
    kind_info cluster_role =
        row("rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", {}, node_scoped);
    cluster_role.names = name_rule::path_segment;
    cluster_role.validate = rules::validate_role;
    kind_info cluster_binding =
        row("rbac.authorization.k8s.io",
            "v1",
            "ClusterRoleBinding",
            "clusterrolebindings",
            {},
            node_scoped);
    cluster_binding.names = name_rule::path_segment;
    cluster_binding.validate = rules::validate_role_binding;
    cluster_binding.columns = binding.columns;
    kind_info priority =
        row("scheduling.k8s.io",
            "v1",
            "PriorityClass",
            "priorityclasses",
            {"pc"},
            trait::cluster | trait::generation);
    priority.defaults = rules::default_priority_class;
    priority.columns = {
        name_column(),
        path("Value", ".value", "integer"),
        path("Global-Default", ".globalDefault", "boolean"),
        age_column(),
        path("PreemptionPolicy", ".preemptionPolicy")};
    return {
        config_maps(),
        endpoints,
        events(),
        namespaces(),
        nodes(),
        claims(),
        pods(),
        quota,
        secrets(),
        service_accounts(),
        services(),
        definitions(),
        deployments(),
        replica_sets(),
        leases(),
        budget,
        binding,
        cluster_binding,
        cluster_role,
        role,
        priority,
        newer_events(),
        review(
            "authentication.k8s.io", "SelfSubjectReview", "selfsubjectreviews", reviews::answer_who
        ),
        review("authentication.k8s.io", "TokenReview", "tokenreviews", nullptr),
        review(
            "authorization.k8s.io",
            "LocalSubjectAccessReview",
            "localsubjectaccessreviews",
            reviews::answer_access,
            0
        ),
        review(
            "authorization.k8s.io",
            "SelfSubjectAccessReview",
            "selfsubjectaccessreviews",
            reviews::answer_access
        ),
        review(
            "authorization.k8s.io",
            "SelfSubjectRulesReview",
            "selfsubjectrulesreviews",
            reviews::answer_rules
        ),
        review(
            "authorization.k8s.io",
            "SubjectAccessReview",
            "subjectaccessreviews",
            reviews::answer_access
        ),
    };
}

}  // namespace signalbox::k8sio::server
