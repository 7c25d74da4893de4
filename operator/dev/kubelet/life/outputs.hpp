// SPDX-License-Identifier: Apache-2.0
//
// What containers leave in the file systems of their images: it is said what is lost, or kept.
#pragma once

#include "kubelet/life/node_services.hpp"

#include <boost/asio/awaitable.hpp>

#include <filesystem>

namespace signalbox::op::kubelet {

/// Of a run that has ended, with its changes in `changes`: keeps what it wrote below
/// `process_options::outputs`, in a folder with the pod's name; without that, tells that it is
/// lost.
boost::asio::awaitable<void> see_to_outputs(
    node_services& node, pod_spec pod, std::filesystem::path changes
);

}  // namespace signalbox::op::kubelet
