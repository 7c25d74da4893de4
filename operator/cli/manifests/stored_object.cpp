// SPDX-License-Identifier: Apache-2.0
#include "manifests/stored_object.hpp"

#include "manifests/json_edit.hpp"

#include <fmt/format.h>

namespace signalbox::op::manifests {

std::string as_stored(std::string object, const server_choices& server) {
    const auto fill = [&object](const char* pointer, std::string_view value) {
        if (string_at(object, pointer).empty()) {
            object = with_string(object, pointer, value);
        }
    };
    fill(
        "/metadata/name",
        fmt::format("{}{}", string_at(object, "/metadata/generateName"), server.name_suffix)
    );
    fill("/metadata/namespace", server.ns);
    fill("/metadata/uid", server.uid);
    return without(object, {"/status"});
}

std::string without_server_metadata(std::string_view object) {
    return without(
        object,
        {"/metadata/uid",
         "/metadata/resourceVersion",
         "/metadata/generation",
         "/metadata/creationTimestamp",
         "/metadata/managedFields",
         "/metadata/selfLink"}
    );
}

}  // namespace signalbox::op::manifests
