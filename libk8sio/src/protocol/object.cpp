// SPDX-License-Identifier: Apache-2.0
#include "k8sio/object.hpp"

#include "protocol/json_cursor.hpp"

namespace signalbox::k8sio {

namespace {

void read_metadata(protocol::json_cursor& cursor, object_meta& out) {
    std::string deletion_time;
    protocol::read_members(
        cursor,
        {{"name", &out.name},
         {"namespace", &out.ns},
         {"uid", &out.uid},
         {"resourceVersion", &out.resource_version},
         {"generation", &out.generation},
         {"deletionTimestamp", &deletion_time}}
    );
    out.deleting = !deletion_time.empty();
}

}  // namespace

object_key object_key::from_text(std::string_view text) {
    const std::size_t slash = text.find('/');
    if (slash == text.npos) {
        return object_key("", std::string(text));
    }
    return object_key(std::string(text.substr(0, slash)), std::string(text.substr(slash + 1)));
}

std::string object_key::text() const {
    return ns.empty() ? name : ns + "/" + name;
}

std::optional<object_meta> read_object_meta(std::string_view object_json) {
    protocol::json_cursor cursor(object_json);
    if (!cursor.begin_object()) {
        return std::nullopt;
    }
    object_meta found;
    bool metadata = false;
    const auto complete = [&] {
        return metadata && !found.kind.empty() && !found.api_version.empty();
    };
    for (std::string key; !complete() && cursor.next_member(key);) {
        if (key == "kind") {
            cursor.string(found.kind);
        } else if (key == "apiVersion") {
            cursor.string(found.api_version);
        } else if (key == "metadata") {
            read_metadata(cursor, found);
            metadata = true;
        } else {
            cursor.skip();
        }
    }
    if (!cursor.ok() || found.uid.empty()) {
        return std::nullopt;
    }
    return found;
}

}  // namespace signalbox::k8sio
