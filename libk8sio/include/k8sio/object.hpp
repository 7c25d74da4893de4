// SPDX-License-Identifier: Apache-2.0
//
// Who an object is: read from its JSON text without building a document.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace signalbox::k8sio {

/// Namespace and name: they name one object of a type, whichever has them now. A value.
class object_key {
public:
    object_key() = default;
    /// `ns` is empty for objects of the cluster.
    object_key(std::string object_ns, std::string object_name)
        : ns(std::move(object_ns)), name(std::move(object_name)) {}
    /// The opposite of text(). Without a slash the whole text is the name.
    static object_key from_text(std::string_view text);

    /// `namespace/name`, or the name alone if there is no namespace: a key of a work queue, or a
    /// line of a log.
    std::string text() const;

    friend auto operator<=>(const object_key&, const object_key&) = default;

    std::string ns;
    std::string name;
};

/// What every object says of itself.
class object_meta {
public:
    object_meta() = default;
    object_key key() const { return object_key(ns, name); }

    std::string api_version;
    std::string kind;
    std::string ns;  ///< empty for objects of the cluster
    std::string name;
    std::string uid;               ///< another object of the same name has another one
    std::string resource_version;  ///< see compare_versions()
    /// Grows with each change of the specification; 0 if the text does not say.
    std::int64_t generation = 0;
    bool deleting = false;  ///< there is a deletion timestamp
};

/// Reads an object of an answer or an event; the text behind the last of these members is not
/// looked at. Absent members stay empty. Nothing if there is no UID, or if the text is no object.
std::optional<object_meta> read_object_meta(std::string_view object_json);

/// The object, or merge patch, with this `metadata.uid` in place of any other: as a patch it is
/// refused by the server for a successor of the same name (REQUIREMENTS.md X8). Empty if the text
/// is no JSON object, or its `metadata` is none.
std::string with_uid(std::string_view object_json, std::string_view uid);

}  // namespace signalbox::k8sio
