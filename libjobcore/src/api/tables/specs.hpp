// SPDX-License-Identifier: Apache-2.0
//
// The specification of each kind; one file per kind.
#pragma once

#include "api/tables/schema_types.hpp"

namespace signalbox::core::schema {

extern const field pytorch_spec_field;
extern const field deepspeed_spec_field;
extern const field colossalai_spec_field;

/// What is used of the template of the launcher in the second shape of a ColossalAIJob.
extern const field launcher_template_field;

}  // namespace signalbox::core::schema
