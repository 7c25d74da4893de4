// SPDX-License-Identifier: Apache-2.0
//
// Limits and forms of texts that the tables of several kinds refer to.
#pragma once

#include "api/tables/schema_types.hpp"
#include "jobcore/spec.hpp"

#include <span>

namespace signalbox::core::schema {

/// Limits of BEHAVIOUR.md api 6.2.
inline constexpr std::int64_t max_replicas = 10'000;
inline constexpr std::uint32_t max_types = 32;

/// Lower-case DNS label of at most 20 characters.
extern const text_form replica_type_form;
/// `t9k://pvc/...` or `t9k://minio/...`.
extern const text_form fileset_form;
/// An absolute path.
extern const text_form path_form;
/// A positive number, or `gpu`, `cpu`, `auto`.
extern const text_form proc_per_node_form;
/// The name of an object of Kubernetes: a DNS subdomain.
extern const text_form object_name_form;
/// The key of a label: `rack`, `topology.kubernetes.io/zone`.
extern const text_form label_key_form;
/// The value of a label; may be empty.
extern const text_form label_value_form;

}  // namespace signalbox::core::schema
