// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jobcore/admission.hpp"

#include <string>

namespace signalbox::core {

/// The pod, JSON, with what its admission gives (BEHAVIOUR.md 8.12): where the template has another
/// value in its node selector, that of the admission counts; labels and annotations that are there
/// stay.
std::string with_admitted_marks(std::string pod, const admitted_marks& marks);

}  // namespace signalbox::core
