// SPDX-License-Identifier: Apache-2.0
//
// Services as pods see them: as names and as variables.
#pragma once

#include "kubelet/names/cluster_names.hpp"
#include "kubelet/pod/environment.hpp"

#include <k8sio/store.hpp>

#include <optional>
#include <string>
#include <vector>

namespace signalbox::op::kubelet {

struct service_record {
    std::string uid, resource_version, ns;
    named_service names;
    service_entry entry;
};

std::optional<service_record> read_service(std::string_view json);

using service_store = k8sio::store<service_record, k8sio::by<&service_record::ns>>;

/// In the order of their names, so that variables do not depend on the order of events.
std::vector<service_entry> services_of(const service_store& in, const std::string& ns);

named_pod named(const pod_spec& pod);

}  // namespace signalbox::op::kubelet
