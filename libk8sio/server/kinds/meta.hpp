// SPDX-License-Identifier: Apache-2.0
//
// Object metadata: names, labels, UIDs, times (Kubernetes API conventions, "Metadata").
#pragma once

#include "server/kinds/kind_info.hpp"
#include "server/values/json.hpp"
#include "server/values/problems.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace signalbox::k8sio::server {

/// The finalizers of garbage collection.
inline constexpr std::string_view orphan_finalizer = "orphan";
inline constexpr std::string_view foreground_finalizer = "foregroundDeletion";

/// A deterministic sequence of version-4-shaped UUIDs and name suffixes (splitmix64).
class uid_sequence {
public:
    explicit uid_sequence(std::uint64_t seed) : state_(seed) {}
    std::string next_uid();
    /// Five characters of the alphabet that generateName uses.
    std::string next_suffix();

private:
    std::uint64_t next();
    std::uint64_t state_;
};

bool is_dns_1035_label(std::string_view name);
bool is_qualified_name(std::string_view name);
bool is_label_value(std::string_view text);

extern const std::string_view dns_1035_label_text;

/// Drops what is not of the right type from metadata, managedFields and selfLink (not modelled).
void tidy_metadata(json::value& metadata, json::arena& a);
/// Checks name, labels, annotations, finalizers and owner references.
void validate_metadata(const kind_info& kind, const json::value& metadata, problems& list);
void validate_labels(const json::value& labels, const std::string& field, problems& list);

/// `a=b,c=d`, by name; empty if there are none. `labels` may be null.
std::string labels_text(const json::value* labels);
/// A LabelSelector as a client would write it in a request, by name; a string as it is. May be
/// null.
std::string selector_text(const json::value* selector);

}  // namespace signalbox::k8sio::server
