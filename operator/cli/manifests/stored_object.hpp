// SPDX-License-Identifier: Apache-2.0
//
// What an API server adds to the objects that users write.
#pragma once

#include <string>
#include <string_view>

namespace signalbox::op::manifests {

/// What a server chooses of a new object.
struct server_choices {
    std::string_view name_suffix = "xxxxx";  ///< behind `metadata.generateName`
    std::string_view ns = "default";
    std::string_view uid = "00000000-0000-0000-0000-000000000000";
};

/// The object, JSON, as a server would store it: name, namespace and UID are filled in where they
/// are missing, and it has no status.
std::string as_stored(std::string object, const server_choices& server = {});

/// Without the metadata that the server alone writes: they would be refused, or misread as a
/// precondition.
std::string without_server_metadata(std::string_view object);

}  // namespace signalbox::op::manifests
