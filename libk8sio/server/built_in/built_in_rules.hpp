// SPDX-License-Identifier: Apache-2.0
//
// Defaults, validation and table cells of built-in kinds: what the rows of built_in_kinds.cpp name.
#pragma once

#include "k8sio/clock.hpp"
#include "server/values/json.hpp"
#include "server/values/problems.hpp"

#include <string>

namespace signalbox::k8sio::server::rules {

using json::arena;
using json::value;

void default_pod(value& pod, arena& a);
/// The part that a template of pods gets too.
void default_template(value& object, arena& a);
void validate_pod(const value& pod, problems& list);
/// Containers' images, activeDeadlineSeconds, added tolerations and removed scheduling gates may
/// change; the rest of a pod's spec may not.
void validate_pod_update(const value& before, const value& after, problems& list);

void default_service(value& service, arena& a);
void validate_service(const value& service, problems& list);
void validate_service_update(const value& before, const value& after, problems& list);
void default_namespace(value& ns, arena& a);
void default_secret(value& secret, arena& a);
void default_claim(value& claim, arena& a);
void default_deployment(value& deployment, arena& a);
void default_replica_set(value& set, arena& a);
void default_priority_class(value& priority, arena& a);
/// ConfigMap and Secret: `immutable: true` forbids changes of data.
void validate_data_update(const value& before, const value& after, problems& list);
void validate_claim(const value& claim, problems& list);
void validate_config_map(const value& map, problems& list);
void validate_deployment(const value& deployment, problems& list);
/// A count, or a share such as `50%`; `share` may be null.
void check_share(const value* share, const std::string& field, problems& list);
void validate_budget(const value& budget, problems& list);
void validate_lease(const value& lease, problems& list);
/// Role and ClusterRole.
void validate_role(const value& role, problems& list);
/// RoleBinding and ClusterRoleBinding.
void validate_role_binding(const value& binding, problems& list);
void validate_replica_set(const value& set, problems& list);
void validate_secret(const value& secret, problems& list);

namespace cells {
std::string pod_ready(const value& pod, wall_time now);
std::string pod_status(const value& pod, wall_time now);
std::string pod_restarts(const value& pod, wall_time now);
std::string pod_readiness_gates(const value& pod, wall_time now);
std::string service_cluster_ip(const value& service, wall_time now);
std::string service_external_ip(const value& service, wall_time now);
std::string service_ports(const value& service, wall_time now);
std::string service_selector(const value& service, wall_time now);
std::string data_count(const value& object, wall_time now);
std::string node_status(const value& node, wall_time now);
std::string node_roles(const value& node, wall_time now);
std::string node_internal_ip(const value& node, wall_time now);
std::string node_external_ip(const value& node, wall_time now);
std::string node_image(const value& node, wall_time now);
std::string node_kernel(const value& node, wall_time now);
std::string node_runtime(const value& node, wall_time now);
std::string namespace_status(const value& ns, wall_time now);
std::string event_last_seen(const value& event, wall_time now);
std::string event_first_seen(const value& event, wall_time now);
std::string event_object(const value& event, wall_time now);
std::string event_subobject(const value& event, wall_time now);
std::string event_source(const value& event, wall_time now);
std::string event_message(const value& event, wall_time now);
std::string event_count(const value& event, wall_time now);
std::string deployment_ready(const value& deployment, wall_time now);
std::string deployment_updated(const value& deployment, wall_time now);
std::string deployment_available(const value& deployment, wall_time now);
std::string lease_holder(const value& lease, wall_time now);
std::string account_secrets(const value& account, wall_time now);
std::string claim_status(const value& claim, wall_time now);
std::string claim_capacity(const value& claim, wall_time now);
std::string claim_modes(const value& claim, wall_time now);
std::string claim_attributes(const value& claim, wall_time now);
std::string template_containers(const value& object, wall_time now);
std::string template_images(const value& object, wall_time now);
std::string workload_selector(const value& object, wall_time now);
std::string budget_least(const value& budget, wall_time now);
std::string budget_most(const value& budget, wall_time now);
std::string binding_role(const value& binding, wall_time now);
std::string binding_users(const value& binding, wall_time now);
std::string binding_groups(const value& binding, wall_time now);
std::string binding_accounts(const value& binding, wall_time now);
std::string endpoint_addresses(const value& endpoints, wall_time now);
std::string quota_requests(const value& quota, wall_time now);
std::string quota_limits(const value& quota, wall_time now);
}  // namespace cells

}  // namespace signalbox::k8sio::server::rules
