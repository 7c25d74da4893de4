// SPDX-License-Identifier: Apache-2.0
//
// Names of resource types and request paths.
#pragma once

#include <string>
#include <string_view>

namespace signalbox::k8sio {

/// A resource type as the API server serves it. A value.
class resource_type {
public:
    /// `group` is empty for the core group; `plural` is the name in paths, `kind` that in objects.
    /// Not checked.
    resource_type(
        std::string group,
        std::string version,
        std::string plural,
        std::string kind,
        bool namespaced = true
    );

    const std::string& group() const { return group_; }
    const std::string& version() const { return version_; }
    const std::string& plural() const { return plural_; }
    const std::string& kind() const { return kind_; }
    bool namespaced() const { return namespaced_; }
    /// `v1` or `group/version`.
    std::string api_version() const;

    /// `/api/v1/namespaces/<ns>/<plural>`; with an empty `ns` the path over all namespaces.
    /// Segments are percent-encoded; empty ones are for the caller to refuse (REQUIREMENTS.md T11).
    std::string collection_path(std::string_view ns) const;
    /// Path of one object, and of a subresource of it if `subresource` is not empty. `ns` and
    /// `name` must not be empty, the former but for types of the cluster.
    std::string object_path(
        std::string_view ns, std::string_view name, std::string_view subresource = {}
    ) const;

    friend bool operator==(const resource_type&, const resource_type&) = default;

private:
    std::string group_, version_, plural_, kind_;
    bool namespaced_;
};

/// Built-in types.
///
/// Lifetimes: the references stay valid for the length of the program.
namespace resources {
const resource_type& pods();
const resource_type& services();
const resource_type& secrets();
const resource_type& config_maps();
const resource_type& events();
const resource_type& namespaces();
const resource_type& nodes();
const resource_type& custom_resource_definitions();
}  // namespace resources

/// Percent-encodes everything but unreserved characters (RFC 3986), `/` too: for one segment or
/// value. `kept`: characters that stay all the same.
std::string percent_encode(std::string_view text, std::string_view kept = {});
/// The reverse. A `%` without two hexadecimal digits behind it stands for itself.
std::string percent_decode(std::string_view text);

/// How `a` stands to `b`. `incomparable`: they differ, and one is no decimal number without a
/// leading zero.
enum class version_order { older, same, newer, incomparable };
/// Compares two resource versions, of any length, of one resource type of one server
/// (REQUIREMENTS.md V4).
version_order compare_versions(std::string_view a, std::string_view b);

}  // namespace signalbox::k8sio
