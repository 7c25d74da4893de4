// SPDX-License-Identifier: Apache-2.0
#include "render/fingerprint.hpp"

#include "render/labels.hpp"
#include "render/render_data.hpp"

namespace signalbox::core {

content_hash hash_owned(object_kind kind, const owned_facts& f) {
    content_hash hash;
    hash.field(kind->name);
    for (const std::string_view text :
         {f.owner_name,
          f.owner_kind,
          f.component,
          f.job_uid,
          f.managed_by,
          f.ref_api_version,
          f.ref_kind,
          f.ref_name,
          f.ref_uid}) {
        hash.field(text);
    }
    return hash.number(f.ref_controller ? 1 : 0).number(f.ref_block_deletion ? 1 : 0);
}

content_hash hash_service(content_hash state, const service_facts& f) {
    state.field(f.type)
        .field(f.cluster_ip)
        .number(f.publish_not_ready ? 1 : 0)
        .number(f.external_addresses)
        .number(f.ports.size());
    for (const service_port& p : f.ports) {
        const std::string port = std::to_string(p.port);
        state.field(port).field(p.target.empty() ? port : p.target).field(p.protocol);
    }
    return state;
}

content_hash hash_selector(content_hash state, std::span<const selector_entry> selector) {
    state.number(selector.size());
    for (const auto& [key, value] : selector) {
        state.field(key).field(key == label::attempt ? std::string_view() : value);
    }
    return state;
}

content_hash hash_secret_data(
    std::string_view type, mutability held, std::span<const std::string_view> keys
) {
    content_hash state;
    state.field(type).number(held == mutability::immutable ? 1 : 0).number(keys.size());
    for (const std::string_view key : keys) {
        state.field(key);
    }
    return state;
}

content_hash hash_config_data(mutability held, std::span<const data_entry> data) {
    content_hash state;
    state.number(held == mutability::immutable ? 1 : 0).number(data.size());
    for (const auto& [key, value] : data) {
        state.field(key).number(value);
    }
    return state;
}

content_hash hash_fields(content_hash state, std::span<const std::uint64_t> fields) {
    for (const std::uint64_t field : fields) {
        state.number(field);
    }
    return state;
}

owned_facts planned_facts(const job_plan& plan) {
    owned_facts f;
    f.owner_name = f.ref_name = plan.job_name;
    f.owner_kind = f.ref_kind = to_string(plan.kind);
    f.component = plan.render->component;
    f.job_uid = f.ref_uid = plan.job_uid;
    f.managed_by = label::managed_by_value;
    f.ref_api_version = api_version;
    f.ref_controller = f.ref_block_deletion = true;
    return f;
}

service_facts planned_service() {
    service_facts f;
    f.type = "ClusterIP";
    f.cluster_ip = "None";
    f.publish_not_ready = true;
    return f;
}

}  // namespace signalbox::core
