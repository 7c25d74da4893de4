// SPDX-License-Identifier: Apache-2.0
//
// Fingerprints of child objects: one hash over exactly the fields that we set, taken the same way
// from a plan and from what the API server shows (BEHAVIOUR.md 2.6).
#pragma once

#include "jobcore/plan.hpp"
#include "strings/content_hash.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace signalbox::core {

/// What every child carries, whatever its kind: our labels and the owner reference.
struct owned_facts {
    std::string_view owner_name, owner_kind, component, job_uid, managed_by;  // labels
    std::string_view ref_api_version, ref_kind, ref_name, ref_uid;
    bool ref_controller = false;
    bool ref_block_deletion = false;
};

/// A port of a Service.
struct service_port {
    std::int64_t port = 0;
    std::string target;  ///< number or name; empty: as `port`
    std::string protocol = "TCP";
};

/// The fields of a Service that we set, and those by which others could turn it against its users.
struct service_facts {
    std::string_view type, cluster_ip;
    bool publish_not_ready = false;
    std::vector<service_port> ports;
    std::uint64_t external_addresses = 0;  ///< `externalIPs`, how many: ours have none
};

/// An entry of a ConfigMap: key, and hash of its value. Those of `binaryData` count as well.
using data_entry = std::pair<std::string_view, std::uint64_t>;

using selector_entry = std::pair<std::string_view, std::string_view>;

content_hash hash_owned(object_kind kind, const owned_facts& facts);
/// Continues `state`.
content_hash hash_service(content_hash state, const service_facts& facts);
/// `selector` must be sorted by key. The attempt in it is left out but for its key: it changes with
/// each attempt, and is compared by itself.
content_hash hash_selector(content_hash state, std::span<const selector_entry> selector);

/// Whether `data` can be changed in place, after it was looked at.
enum class mutability : std::uint8_t { immutable, open };

/// Immutable parts, both sorted by key. Of a Secret's values nothing is known here.
content_hash hash_secret_data(
    std::string_view type, mutability held, std::span<const std::string_view> keys
);
content_hash hash_config_data(mutability held, std::span<const data_entry> data);
/// Of the fields of a kind's row, by their hashes, in their order.
content_hash hash_fields(content_hash state, std::span<const std::uint64_t> fields);

/// Of the data that the ConfigMap of this plan gets, made anew.
std::uint64_t hash_planned_config(const job_plan& plan, const render_options& options);

/// The facts of an object of this plan, as we set them. Views into the plan.
owned_facts planned_facts(const job_plan& plan);
service_facts planned_service();

}  // namespace signalbox::core
