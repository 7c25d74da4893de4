// SPDX-License-Identifier: Apache-2.0
//
// The specification of each kind, one file per kind; and their status, all in `status.cpp`.
#pragma once

#include "api/tables/schema_types.hpp"

namespace signalbox::core::schema {

extern const field pytorch_spec_field;
extern const field deepspeed_spec_field;
extern const field colossalai_spec_field;

extern const field pytorch_status_field;
extern const field deepspeed_status_field;
extern const field colossalai_status_field;

/// What is used of the template of the launcher in the second shape of a ColossalAIJob.
extern const field launcher_template_field;

}  // namespace signalbox::core::schema
