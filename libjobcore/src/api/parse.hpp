// SPDX-License-Identifier: Apache-2.0
//
// parse_job with a choice; for tests of what comes after the parser.
#pragma once

#include "jobcore/schema.hpp"

namespace signalbox::core::schema {

/// What is done about features and kinds that are not built (not_built.hpp).
enum class not_built {
    refused,   ///< NotSupported, and no specification; as parse_job does
    accepted,  ///< as if they were built: the launch compiler learns them before the parser opens
};

parsed_job parse(std::string_view object_json, not_built features);

}  // namespace signalbox::core::schema
