// SPDX-License-Identifier: Apache-2.0
//
// Claims of volumes: folders of the user's, or folders made for PersistentVolumeClaims.
#pragma once

#include "kubelet/life/node_services.hpp"
#include "kubelet/pod/pod_spec.hpp"

#include <boost/asio/awaitable.hpp>

#include <filesystem>
#include <string>

namespace signalbox::op::kubelet {

/// Where a claim is, whether it is there or not: a folder of its name, that of `claims` for all
/// namespaces, below `made_claims` for each its own.
std::filesystem::path claim_folder(
    const process_options& options, const std::string& ns, const std::string& name
);

bool has_claims(const pod_spec& pod);

/// Makes the folders of the pod's claims whose PersistentVolumeClaim is there. Gives what the
/// scheduler says of the first claim that has neither folder nor object; empty: the pod has all.
boost::asio::awaitable<std::string> provide_claims(node_services& node, pod_spec pod);

}  // namespace signalbox::op::kubelet
