// SPDX-License-Identifier: Apache-2.0
#include "k8sio/object.hpp"

#include "k8sio/owner_reference.hpp"
#include "protocol/json_cursor.hpp"
#include "protocol/metadata_change.hpp"

#include <optional>
#include <utility>

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

/// Behind the members that are there already, if `out` ends with one.
void begin_member(std::string& out, std::string_view key) {
    if (out.back() != '{') {
        out += ',';
    }
    protocol::append_json_string(out, key);
    out += ':';
}

/// Copies the members of the object that comes next, but for those that `instead` writes; false if
/// it is none.
template <class Instead>
bool copy_members(protocol::json_cursor& cursor, std::string& out, Instead instead) {
    const bool object = cursor.begin_object();
    for (std::string key; object && cursor.next_member(key);) {
        if (!instead(key)) {
            begin_member(out, key);
            out += cursor.skip();
        }
    }
    return object && cursor.ok();
}

/// A member of the metadata with its JSON.
struct metadata_member {
    std::string_view key;
    std::string json;
};

/// The object that comes next, with that member in place of any other of its name.
bool copy_metadata(protocol::json_cursor& cursor, const metadata_member& member, std::string& out) {
    out += '{';
    const bool whole = copy_members(cursor, out, [&](const std::string& key) {
        return key == member.key && !cursor.skip().empty();
    });
    begin_member(out, member.key);
    out += member.json + '}';
    return whole;
}

/// Empty if the text is no JSON object, or its `metadata` is none.
std::string with_metadata(std::string_view object_json, const metadata_member& member) {
    protocol::json_cursor cursor(object_json);
    std::string out = "{";
    bool named = false;
    bool sound = true;
    const bool whole = copy_members(cursor, out, [&](const std::string& key) {
        if (key != "metadata") {
            return false;
        }
        begin_member(out, key);
        sound = copy_metadata(cursor, member, out) && sound;
        named = true;
        return true;
    });
    if (!named) {
        protocol::json_cursor none("{}");
        begin_member(out, "metadata");
        copy_metadata(none, member, out);
    }
    return whole && sound && cursor.at_end() ? out + "}" : std::string();
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

std::string with_uid(std::string_view object_json, std::string_view uid) {
    metadata_member member{"uid", {}};
    protocol::append_json_string(member.json, uid);
    return with_metadata(object_json, member);
}

result<std::string> with_owner(std::string_view object_json, const owner_reference& owner) {
    const std::optional<protocol::object_ties> ties = protocol::read_ties(object_json);
    std::string made;
    if (ties) {
        result<std::string> owners = protocol::owners_with(*ties, owner);
        if (owners.has_error()) {
            return owners;
        }
        if (owners->empty()) {
            return std::string(object_json);
        }
        made = with_metadata(object_json, {"ownerReferences", std::move(*owners)});
    }
    if (made.empty()) {
        return make_error(errc::invalid_argument, "the object is no JSON object with metadata");
    }
    return made;
}

}  // namespace signalbox::k8sio
