// SPDX-License-Identifier: Apache-2.0
//
// Keys of the labels that children carry (BEHAVIOUR.md 1.6) and no one else reads; the others are
// public.
#pragma once

#include "jobcore/labels.hpp"

#include <string_view>

namespace signalbox::core::label {

inline constexpr std::string_view owner_kind = "tensorstack.dev/owner-kind";
inline constexpr std::string_view component = "tensorstack.dev/component";
inline constexpr std::string_view job_role = "job-role";
inline constexpr std::string_view managed_by = "app.kubernetes.io/managed-by";

/// On our own TensorBoard, whose pods carry none of the above (BEHAVIOUR.md 1.5).
inline constexpr std::string_view app_instance = "app.kubernetes.io/instance";
inline constexpr std::string_view app_name = "app.kubernetes.io/name";
/// Annotation: hash of a specification that the server fills with defaults of its own.
inline constexpr std::string_view spec_hash = "batch.tensorstack.dev/spec-hash";

/// Annotation of every pod of a job: the name of its training container (BEHAVIOUR.md 1.6).
inline constexpr std::string_view training_container = "batch.tensorstack.dev/training-container";
/// Annotation of pods that report progress: the certificate of the receiver (BEHAVIOUR.md 13.10).
inline constexpr std::string_view progress_ca = "batch.tensorstack.dev/progress-ca";
/// Annotation that `kubectl logs` and `kubectl exec` go by.
inline constexpr std::string_view default_container = "kubectl.kubernetes.io/default-container";

inline constexpr std::string_view managed_by_value = "signalbox";
inline constexpr std::string_view job_role_master = "master";
/// Value of `attempt` on a stuck pod that was given up (BEHAVIOUR.md 1.3).
inline constexpr std::string_view attempt_gone = "gone";

}  // namespace signalbox::core::label
