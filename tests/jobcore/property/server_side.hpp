// SPDX-License-Identifier: Apache-2.0
//
// What servers, kubelets and others make of a job's objects, for generated tests: objects as a
// server gives them back, and what happens to a pod. Each function does one thing to a pod to which
// that can happen; whether it can is the caller's.
#pragma once

#include "jobcore/decide.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace signalbox::test {

/// The rendered object as the server gives it back: with a UID, and a Pod with a status.
std::string accepted(
    std::string json, std::string_view uid, core::instant created, core::object_kind kind
);

/// Neither its success nor its failure is to come any more, by its phase.
bool has_ended(const core::pod_record& pod);

/// All its containers run; those that ran go on.
void start(core::pod_record& pod, core::instant at);
/// Its training container ends, and the Pod with it.
void end(
    core::pod_record& pod,
    core::container_record& training,
    std::int32_t code,
    core::instant at,
    std::string_view message = {}
);
/// The Pod fails, and no container has a code: kubelet admission, node shutdown.
void fail_without_code(core::pod_record& pod, std::string_view reason);
/// An init container fails before any other container has started.
void fail_init(core::pod_record& pod, core::instant at);

}  // namespace signalbox::test
