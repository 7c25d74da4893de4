// SPDX-License-Identifier: Apache-2.0
//
// What a schema says of the sizes of values, as the real server has it (k8s.io/apiserver,
// pkg/cel/common/schemas.go): what its estimates of costs start from.
#pragma once

#include "server/values/json.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

namespace signalbox::k8sio::server::cel {

/// What no request is longer than, in bytes.
inline constexpr std::int64_t max_request = 3 * 1024 * 1024;

enum class shape {
    dynamic,  ///< known when a rule is evaluated, not before
    null,
    boolean,
    integer,
    real,
    text,
    bytes,
    moment,
    duration,
    list,
    map,
    object,
    opaque,  ///< of a library: an address, a quantity. What is compared with it is of its type
    link,    ///< an address of the web
};

/// A node of a schema as a rule sees it. Immutable.
struct declared {
    shape is = shape::dynamic;
    /// Items, members or bytes that a value has at most. 0 of all others, objects included.
    std::uint64_t most = 0;
    std::int64_t smallest = 1;  ///< what the shortest value takes in JSON, in bytes
    std::map<std::string, std::shared_ptr<const declared>, std::less<>> fields;
    std::shared_ptr<const declared> element;  ///< of a list or a map
};
using declared_ptr = std::shared_ptr<const declared>;

/// Whether it is a resource, which has names and a kind whatever the schema says.
enum class resource_root { no, yes };
/// That of a schema below the root: whether it is of a resource within another.
resource_root embedded_root(const json::value& schema);

/// Null if rules cannot see such a value.
declared_ptr declare(const json::value& schema, resource_root root);

}  // namespace signalbox::k8sio::server::cel
