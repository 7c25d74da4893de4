// SPDX-License-Identifier: Apache-2.0
//
// ConfigMaps and Secrets, read when a pod needs them: nothing of them is kept.
#pragma once

#include "kubelet/pod/environment.hpp"
#include "kubelet/pod/refusal.hpp"

#include <k8sio/client.hpp>

#include <boost/asio/awaitable.hpp>

namespace signalbox::op::kubelet {

/// Those of `names` that are there.
///
/// Errors: FailedMount, if the server does not answer the question.
boost::asio::awaitable<outcome<object_data>> fetch_objects(
    k8sio::client& api, std::string ns, object_names names
);

/// Tokens of the pod's service account for the audiences that its volumes name, into `to`. They are
/// bound to the pod, and last a week, since nothing renews them here. The API server's own audience
/// gets none: the pods here do not reach it. What the server refuses is left out.
boost::asio::awaitable<void> fetch_tokens(k8sio::client& api, pod_spec pod, object_data& to);

/// `data` and `binaryData` of a ConfigMap, decoded `data` of a Secret.
string_map data_of(std::string_view object_json);

}  // namespace signalbox::op::kubelet
