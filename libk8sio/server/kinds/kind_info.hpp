// SPDX-License-Identifier: Apache-2.0
//
// What the server knows of a kind: a row of data, for built-in kinds
// (built_in/built_in_kinds.cpp) and custom ones (definition.cpp) alike.
#pragma once

#include "k8sio/clock.hpp"
#include "k8sio/server/api_server.hpp"
#include "server/values/json.hpp"
#include "server/values/problems.hpp"
#include "server/values/refusal.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::k8sio::server {

class schema_node;

/// A column of `kubectl get`. The cell comes from `print` or, without one, from the JSON path.
struct column {
    using printer = std::string (*)(const json::value& object, wall_time now);

    std::string name;
    std::string path;             ///< JSON path such as `.status.phase`
    std::string type = "string";  ///< `string`, `integer`, `date` ...
    int priority = 0;             ///< above 0: with `-o wide` only
    printer print = nullptr;
    std::string description = {};
    std::string format = {};
    bool raw = false;  ///< what `print` gives is a number; a date is shown as it is, not its age
};

/// What a name of this kind must look like (ValidateObjectMeta).
enum class name_rule {
    dns_subdomain,
    dns_label,
    dns_1035_label,  ///< a label that starts with a letter: services
    path_segment,    ///< anything that can be in a path
};

/// The scale subresource as JSON paths into the object.
struct scale_paths {
    std::string spec_replicas;
    std::string status_replicas;
    std::string selector;  ///< may be empty
};

/// Traits that differ from the most common kind; combined by `|`.
namespace trait {
inline constexpr unsigned status = 1u << 0;            ///< has the status subresource
inline constexpr unsigned generation = 1u << 1;        ///< metadata.generation counts spec changes
inline constexpr unsigned create_on_update = 1u << 2;  ///< PUT of an absent object creates it
inline constexpr unsigned returns_deleted = 1u << 3;   ///< DELETE answers the object, not a Status
inline constexpr unsigned graceful = 1u << 4;          ///< deletion has a grace period (pods)
inline constexpr unsigned cluster = 1u << 5;           ///< not namespaced
inline constexpr unsigned custom = 1u << 6;            ///< defined by a CustomResourceDefinition
inline constexpr unsigned keeps_status = 1u << 7;      ///< create keeps the status sent (nodes)
inline constexpr unsigned review = 1u << 8;            ///< answered by create, never kept
inline constexpr unsigned deleted_singly = 1u << 9;    ///< not as a collection (namespaces)
}  // namespace trait

struct kind_info;

/// Objects that another kind keeps in another form.
struct other_form {
    std::shared_ptr<const kind_info> kept;  ///< that kind, with the validation of this one
    void (*to_kept)(json::value& object, json::arena& a);
    void (*from_kept)(json::value& object, json::arena& a);
};

struct kind_info {
    std::string group, version, plural, singular, kind;
    std::vector<std::string> short_names;
    std::vector<std::string> categories;
    unsigned traits = 0;
    name_rule names = name_rule::dns_subdomain;
    /// Dotted paths that a field selector may name, beside metadata.name and metadata.namespace.
    std::vector<std::string> selectable;
    std::vector<column> columns;

    /// Fills in what the real server fills in.
    void (*defaults)(json::value& object, json::arena& a) = nullptr;
    void (*validate)(const json::value& object, problems& list) = nullptr;
    void (*validate_update
    )(const json::value& before, const json::value& after, problems& list) = nullptr;

    std::shared_ptr<const other_form> form;  ///< empty: the kind keeps its objects itself
    /// Completes an object of a kind with trait::review.
    outcome<void> (*answer)(json::value& object, json::arena& a) = nullptr;

    // Custom kinds only.
    std::shared_ptr<const schema_node> schema;
    std::string openapi;  ///< the schema's JSON text, for OpenAPI documents
    std::shared_ptr<const scale_paths> scale;
    bool storage_version = true;

    bool has(unsigned which) const { return (traits & which) != 0; }
    bool namespaced() const { return !has(trait::cluster); }
    std::string api_version() const { return group.empty() ? version : group + "/" + version; }
    std::string list_kind() const { return kind + "List"; }
    /// Whose table holds the objects.
    const kind_info& keeper() const { return form == nullptr ? *this : *form->kept; }
    /// `pods`, `deepspeedjobs.batch.tensorstack.dev`: how messages name the resource.
    std::string qualified() const { return group.empty() ? plural : plural + "." + group; }
    /// The first members of an object's text: `{"apiVersion":"v1","kind":"Pod",`.
    std::string header() const {
        return "{\"apiVersion\":\"" + api_version() + "\",\"kind\":\"" + kind + "\",";
    }
};

}  // namespace signalbox::k8sio::server
