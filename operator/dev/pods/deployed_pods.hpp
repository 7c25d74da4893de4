// SPDX-License-Identifier: Apache-2.0
//
// The Deployment controller where there is none and pods really run: makes the pods of our
// Deployments, and says how many serve. Of strategies it knows Recreate, which ours have.
#pragma once

#include "pods/deployment_record.hpp"
#include "pods/deployments.hpp"

#include <jobcore/time.hpp>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

namespace signalbox::op::pods {

struct make_pod {
    std::string body;
};
struct remove_pod {
    std::string name, uid;
};
struct write_status {
    std::string patch;
};
using deployment_step = std::variant<make_pod, remove_pod, write_status>;

/// What is to be done next for a Deployment and its pods; nothing: all is as it should be, or a
/// deletion is awaited.
std::optional<deployment_step> next_step(
    const deployment_record& of, std::span<const deployed_pod* const> pods, core::instant now
);

/// `api` must outlive run(). `options.delay` means nothing.
std::unique_ptr<deployment_controller> make_deployed_pods(
    boost::asio::any_io_executor executor, k8sio::client& api, deployment_options options
);

}  // namespace signalbox::op::pods
