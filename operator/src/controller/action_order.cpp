// SPDX-License-Identifier: Apache-2.0
#include "controller/action_order.hpp"

#include "controller/key_material.hpp"

#include <span>
#include <string>
#include <utility>

namespace signalbox::op {

namespace {

/// What of a Secret to be created is key material; empty for other objects.
std::span<const core::key_slot> key_slots_of(
    const core::job_object& decided, const core::action& a
) {
    const bool planned = decided.compiled && decided.compiled->plan;
    if (a.kind != core::object_kind::secret || !planned) {
        return {};
    }
    const core::planned_object* object =
        core::find_object(*decided.compiled->plan, a.object()->object);
    return object == nullptr ? std::span<const core::key_slot>() : object->key_slots;
}

/// The object to be created, with keys; nothing, with a line in the log, if there are none.
std::optional<std::string> body_of(
    const settings& config,
    const core::job_object& decided,
    const core::decision& made,
    const core::action& a
) {
    std::optional<std::string> body = config.options.render(decided, made, a);
    const auto slots = key_slots_of(decided, a);
    if (!slots.empty()) {
        std::string error;
        body = fill_key_slots(*body, slots, error);
        if (!body) {
            config.log->error("no key for Secret {}: {}", a.name, error);
        }
    }
    return body;
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
            return k8sio::patch_order(std::string(a.uid()), std::string(a.body()));
        case core::verb::remove: {
            k8sio::delete_order gone{std::string(a.uid())};
            if (std::get<core::delete_object>(a.request).foreground) {
                gone.propagation = "Foreground";
            }
            return gone;
        }
        case core::verb::confirm:
            break;
    }
    return k8sio::confirm_order();
}

}  // namespace signalbox::op
