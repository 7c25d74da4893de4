// SPDX-License-Identifier: Apache-2.0
//
// Logs as clients ask for them, from the files of log_file.
#pragma once

#include "kubelet/life/container_run.hpp"

#include <k8sio/server/pod_streams.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <filesystem>
#include <memory>
#include <string>

namespace signalbox::op::kubelet {

/// Reads the log at `path` and the older files beside it. `run`: whose log it is, if it still runs
/// and is to be followed; else null.
std::unique_ptr<k8sio::server::byte_source> make_log_source(
    boost::asio::any_io_executor executor,
    std::filesystem::path path,
    k8sio::server::log_options options,
    std::shared_ptr<container_run> run
);

}  // namespace signalbox::op::kubelet
