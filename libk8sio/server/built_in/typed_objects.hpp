// SPDX-License-Identifier: Apache-2.0
//
// Objects of built-in kinds as the real server's Go types take them: which fields there are, what
// they hold, and what its validation refuses of pods. The facts are libjobcore/kubernetes and
// kind_fields.inc, a table made by tests/envtest/kubernetes_fields.py.
#pragma once

#include "server/kinds/kind_info.hpp"
#include "server/values/json.hpp"
#include "server/values/problems.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace signalbox::k8sio::server {

/// The type of a built-in kind in the tables; `Pod` of pods.
std::string type_name(const kind_info& kind);
/// What the tables say of a field, for documents.
struct typed_field {
    std::string_view name, holds;  ///< kubernetes/fields.hpp says what `holds` is
    bool required = false;
    std::string_view values;  ///< of an enumeration, with `|` between them
};
/// The fields of a type of the tables, in order; none if they do not have it. Views never expire.
std::vector<typed_field> fields_of(std::string_view type);
/// True if the tables have that type.
bool is_known_type(std::string_view type);

struct decoded {
    std::string error;                 ///< why the decoder refuses it; empty: it does not
    std::vector<std::string> unknown;  ///< paths of the fields that were removed
};

/// Decodes an object of a built-in kind: removes fields that its type does not have, and nulls.
decoded decode_typed(const kind_info& kind, json::value& object);

namespace rules {

/// What validation refuses of a pod's specification, found at `field` in the object.
void validate_pod_spec(const json::value& spec, std::string_view field, problems& list);
/// The same of a pod template, metadata included.
void validate_pod_template(const json::value& pod_template, std::string_view field, problems& list);
/// The same of what a claim asks for, or of a label selector.
void validate_part(
    const json::value& part, std::string_view type, std::string_view field, problems& list
);

}  // namespace rules
}  // namespace signalbox::k8sio::server
