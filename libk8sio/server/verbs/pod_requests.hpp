// SPDX-License-Identifier: Apache-2.0
//
// What a request wants of a pod's runtime, checked as far as the pod's object says: options in the
// query, the container.
#pragma once

#include "k8sio/server/pod_streams.hpp"
#include "server/answers/http_message.hpp"
#include "server/values/json.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace signalbox::k8sio::server {

struct log_request {
    log_options options;
    std::optional<std::int64_t> limit_bytes;
};

/// PodLogOptions in the query of a request on pod `name`, without the container.
outcome<log_request> read_log_options(
    const api_request& request, const std::string& name, wall_time now
);
/// PodExecOptions or PodAttachOptions in the query, without the container.
outcome<process_options> read_process_options(const api_request& request);
/// The container that the request means: the one that it names, or the pod's only one.
outcome<std::string> choose_container(const api_request& request, const json::value& pod);

}  // namespace signalbox::k8sio::server
