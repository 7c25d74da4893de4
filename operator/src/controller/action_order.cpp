// SPDX-License-Identifier: Apache-2.0
#include "controller/action_order.hpp"

#include "controller/key_material.hpp"

#include <string>
#include <utility>

namespace signalbox::op {

namespace {

/// The object to be created, with keys; nothing, with a line in the log, if there are none.
std::optional<std::string> body_of(
    const settings& config,
    const core::job_object& decided,
    const core::decision& made,
    const core::action& a
) {
    std::string error;
    const auto keys = make_keys(core::key_slots_of(decided, a), error);
    if (!keys) {
        config.log->error("no key for {} {}: {}", core::to_string(a.kind), a.name, error);
        return std::nullopt;
    }
    auto body = core::render_action(decided, made, a, *keys);
    if (!body) {
        config.log->error("{} {}: {}", core::to_string(a.kind), a.name, body.error());
        return std::nullopt;
    }
    return *std::move(body);
}

}  // namespace

std::optional<k8sio::write_order> order_of(
    const settings& config,
    const core::job_object& decided,
    const core::decision& made,
    const core::action& a
) {
    switch (a.what()) {
        case core::verb::create: {
            auto body = body_of(config, decided, made, a);
            return body ? std::optional<k8sio::write_order>(k8sio::create_order(std::move(*body)))
                        : std::nullopt;
        }
        case core::verb::patch:
            return k8sio::patch_order(
                std::string(a.uid()), std::string(a.body()), std::string(a.subresource())
            );
        case core::verb::remove: {
            k8sio::delete_order gone{std::string(a.uid())};
            if (std::get<core::delete_object>(a.request).foreground) {
                gone.propagation = "Foreground";
            }
            return gone;
        }
        case core::verb::confirm:
        case core::verb::read:
            break;
    }
    return k8sio::confirm_order();
}

}  // namespace signalbox::op
