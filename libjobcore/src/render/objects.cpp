// SPDX-License-Identifier: Apache-2.0
//
// From a plan to the JSON and the fingerprint of a child other than a Pod.
#include "gang/content.hpp"
#include "gang/gang.hpp"
#include "jobcore/plan.hpp"
#include "json/json.hpp"
#include "kubernetes/base64.hpp"
#include "render/fingerprint.hpp"
#include "render/labels.hpp"
#include "render/render_data.hpp"
#include "strings/fnv1a.hpp"

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <span>
#include <string>

namespace signalbox::core {
namespace {

using text_writer = rapidjson::Writer<rapidjson::StringBuffer>;

/// A Service's selector, sorted by key. `attempt` and `type` must outlive the result.
struct selector {
    std::array<selector_entry, 4> entries;
    std::size_t size = 0;

    std::span<const selector_entry> view() const { return {entries.data(), size}; }
};

selector service_selector(
    const job_plan& plan, const planned_object& object, std::string_view attempt
) {
    selector s;
    if (object.variant == tensorboard_service) {
        s.entries[s.size++] = {label::app_instance, object.name};
        s.entries[s.size++] = {label::app_name, "tensorboard"};
        return s;
    }
    s.entries[s.size++] = {label::attempt, attempt};
    s.entries[s.size++] = {label::job_uid, plan.job_uid};
    if (object.variant == alias_service) {
        s.entries[s.size++] = {label::replica_index, "0"};
        s.entries[s.size++] = {label::replica_type, plan.types[plan.render->rendezvous_type].name};
    }
    return s;
}

void write(text_writer& w, std::string_view text) {
    w.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
}

void write(text_writer& w, std::string_view key, std::string_view text) {
    w.Key(key.data(), static_cast<rapidjson::SizeType>(key.size()));
    write(w, text);
}

void write_owner_reference(text_writer& w, const owned_facts& f) {
    w.Key("ownerReferences");
    w.StartArray();
    w.StartObject();
    write(w, "apiVersion", f.ref_api_version);
    write(w, "kind", f.ref_kind);
    write(w, "name", f.ref_name);
    write(w, "uid", f.ref_uid);
    w.Key("controller");
    w.Bool(f.ref_controller);
    w.Key("blockOwnerDeletion");
    w.Bool(f.ref_block_deletion);
    w.EndObject();
    w.EndArray();
}

void write_number(text_writer& w, std::string_view key, std::int64_t value) {
    w.Key(key.data(), static_cast<rapidjson::SizeType>(key.size()));
    w.Int64(value);
}

std::string hash_text(std::string_view text) {
    return std::to_string(fnv1a().bytes(text).value());
}

void write_metadata(
    text_writer& w, const job_plan& plan, const planned_object& object, std::int32_t attempt
) {
    const owned_facts f = planned_facts(plan);
    w.Key("metadata");
    w.StartObject();
    write(w, "name", object_name(object, attempt));
    write(w, "namespace", plan.ns);
    w.Key("labels");
    w.StartObject();
    write(w, label::owner_name, f.owner_name);
    write(w, label::owner_kind, f.owner_kind);
    write(w, label::component, f.component);
    write(w, label::job_uid, f.job_uid);
    write(w, label::managed_by, f.managed_by);
    if (object.name_has_attempt) {
        write(w, label::attempt, std::to_string(attempt));
    }
    w.EndObject();
    if (!object.spec.empty()) {
        w.Key("annotations");
        w.StartObject();
        write(w, label::spec_hash, hash_text(object.spec));
        w.EndObject();
    }
    write_owner_reference(w, f);
    w.EndObject();
}

void write_service_spec(
    text_writer& w, const service_facts& f, std::span<const selector_entry> selector
) {
    w.Key("spec");
    w.StartObject();
    write(w, "type", f.type);
    if (!f.cluster_ip.empty()) {
        write(w, "clusterIP", f.cluster_ip);
    }
    w.Key("publishNotReadyAddresses");
    w.Bool(f.publish_not_ready);
    // Written though empty: as a merge patch the object then takes added ports away (2.6).
    w.Key("ports");
    w.StartArray();
    for (const service_port& p : f.ports) {
        w.StartObject();
        write(w, "name", "http");
        write_number(w, "port", p.port);
        w.Key("targetPort");
        w.RawValue(p.target.data(), p.target.size(), rapidjson::kNumberType);
        w.EndObject();
    }
    w.EndArray();
    w.Key("selector");
    w.StartObject();
    for (const auto& [key, value] : selector) {
        write(w, key, value);
    }
    w.EndObject();
    w.EndObject();
}

/// The content of the ConfigMap, sorted by key.
std::vector<std::pair<std::string_view, std::string>> config_data(
    const job_plan& plan, const render_options& options
) {
    const config_render& config = plan.render->config;
    const std::int32_t hosts = replicas_in_force(plan, config.host_type, options.wanted);
    std::vector<std::pair<std::string_view, std::string>> data;
    for (const config_file& file : config.files) {
        data.emplace_back(file.name, file.text[hosts > 1 ? 1 : 0][options.resumed ? 1 : 0]);
    }
    const std::string before = plan.base_name + '-' + plan.types[config.host_type].name + '-';
    const std::string after = '.' + plan.base_name + config.host_suffix + '\n';
    std::string lines;
    for (std::int32_t i = 0; i < hosts; ++i) {
        lines += before + std::to_string(i) + after;
    }
    data.emplace_back("hostfile", std::move(lines));
    std::sort(data.begin(), data.end());
    return data;
}

void write_config_map(text_writer& w, const job_plan& plan, const render_options& options) {
    w.Key("immutable");
    w.Bool(true);
    w.Key("data");
    w.StartObject();
    for (const auto& [key, text] : config_data(plan, options)) {
        write(w, key, text);
    }
    w.EndObject();
}

/// Of a key in the slot's form what the slot's entry of `data` is.
std::string value_of(const key_slot& slot, const key_pair& key) {
    const std::string& text =
        slot.form == key_form::private_pem ? key.private_pem : key.public_line;
    return kubernetes::base64_encode(slot.prefix + text);
}

void write_secret(
    text_writer& w, const job_plan& plan, const planned_object& object, const key_pairs& keys
) {
    write(w, "type", plan.render->secret.type);
    w.Key("immutable");
    w.Bool(true);
    w.Key("data");
    w.StartObject();
    for (const auto& [key, value] : secret_data(plan, object, keys)) {
        write(w, key, value);
    }
    w.EndObject();
}

/// Our own TensorBoard has an address and one port; the others are names only.
service_facts service_facts_of(const planned_object& object) {
    service_facts f = planned_service();
    if (object.variant == tensorboard_service) {
        f.cluster_ip = {};
        f.publish_not_ready = false;
        f.ports.push_back({.port = 80, .target = "6006"});
    }
    return f;
}

void write_opaque_spec(text_writer& w, const std::string& spec) {
    w.Key("spec");
    w.RawValue(spec.data(), spec.size(), rapidjson::kObjectType);
}

std::uint64_t planned_config_hash(const job_plan& plan, const render_options& options) {
    const config_render& config = plan.render->config;
    // The plan may be of another size than was compiled: of an admission, or of an attempt.
    const bool as_compiled =
        replicas_in_force(plan, config.host_type, options.wanted) == config.hashed_size;
    return as_compiled ? config.hash[options.resumed ? 1 : 0] : hash_planned_config(plan, options);
}

std::uint64_t planned_secret_hash(const job_plan& plan, const planned_object& object) {
    const secret_render& secret = plan.render->secret;
    std::vector<std::string_view> keys;
    for (const auto& [key, text] : secret.literals) {
        keys.push_back(key);
    }
    for (const key_slot& slot : object.key_slots) {
        keys.push_back(slot.data_key);
    }
    std::sort(keys.begin(), keys.end());
    return hash_secret_data(secret.type, mutability::immutable, keys).value();
}

const fixed_fingerprint& fixed_of(const job_plan& plan, const planned_object& object) {
    // A scheduler's object may be of another version than the plan has it in.
    const bool of_gang = object.kind->use == kind_use::gang;
    return *std::ranges::find_if(plan.render->fingerprints, [&](const fixed_fingerprint& f) {
        return of_gang ? f.kind->use == kind_use::gang
                       : f.kind == object.kind && f.variant == object.variant;
    });
}

content_hash fixed_hash(const job_plan& plan, const planned_object& object) {
    content_hash hash = hash_owned(object.kind, planned_facts(plan));
    if (object.kind == object_kind::service) {
        hash = hash_service(hash, service_facts_of(object));
        return hash_selector(hash, service_selector(plan, object, {}).view());
    }
    if (!object.spec.empty()) {
        hash.field(hash_text(object.spec));
    }
    if (object.kind == object_kind::deployment) {
        hash.number(plan.render->deployment_content);
    }
    return hash;
}

std::string write_object(
    const job_plan& plan,
    const planned_object& object,
    std::int32_t attempt,
    const render_options& options,
    const key_pairs& keys
) {
    const std::string attempt_text = std::to_string(attempt);
    rapidjson::StringBuffer buffer;
    text_writer w(buffer);
    w.StartObject();
    write(w, "apiVersion", api_version_of(object.kind));
    write(w, "kind", to_string(object.kind));
    write_metadata(w, plan, object, attempt);
    if (object.kind == object_kind::service) {
        write_service_spec(
            w, service_facts_of(object), service_selector(plan, object, attempt_text).view()
        );
    } else if (object.kind == object_kind::secret) {
        write_secret(w, plan, object, keys);
    } else if (object.kind == object_kind::config_map) {
        write_config_map(w, plan, options);
    } else if (object.kind->use == kind_use::gang) {
        write_opaque_spec(w, gang::spec_text(object.kind, gang::object_values(plan, options)));
    } else if (object.kind == object_kind::deployment) {
        write_opaque_spec(w, plan.render->deployment_spec);
    } else {
        write_opaque_spec(w, object.spec);
    }
    w.EndObject();
    return {buffer.GetString(), buffer.GetSize()};
}

}  // namespace

std::vector<std::pair<std::string_view, std::string>> secret_data(
    const job_plan& plan, const planned_object& object, const key_pairs& keys
) {
    std::vector<std::pair<std::string_view, std::string>> data;
    for (const auto& [key, text] : plan.render->secret.literals) {
        data.emplace_back(key, kubernetes::base64_encode(text));
    }
    for (const key_slot& slot : object.key_slots) {
        const auto pair = keys.find(slot.key);
        data.emplace_back(
            slot.data_key,
            pair == keys.end() ? std::string(generated_marker) : value_of(slot, pair->second)
        );
    }
    return data;
}

std::uint64_t hash_planned_config(const job_plan& plan, const render_options& options) {
    const auto data = config_data(plan, options);
    std::vector<data_entry> entries;
    for (const auto& [key, text] : data) {
        entries.emplace_back(key, content_hash().bytes(text).value());
    }
    return hash_config_data(mutability::immutable, entries).value();
}

result<std::string> render_object(
    const job_plan& plan,
    const planned_object& object,
    std::int32_t attempt,
    const render_options& options,
    const key_pairs& keys
) {
    for (const key_slot& slot : object.key_slots) {
        if (!keys.contains(slot.key)) {
            return unexpected{
                "the " + std::string(to_string(object.kind)) + ' ' + object_name(object, attempt) +
                " needs a key pair `" + slot.key + "` for `" + slot.data_key + '`'};
        }
    }
    return write_object(plan, object, attempt, options, keys);
}

std::string preview_object(
    const job_plan& plan,
    const planned_object& object,
    std::int32_t attempt,
    const render_options& options
) {
    return write_object(plan, object, attempt, options, {});
}

std::vector<fixed_fingerprint> fixed_fingerprints(const job_plan& plan) {
    std::vector<fixed_fingerprint> out;
    for (const auto* list : {&plan.objects, &plan.companions}) {
        for (const planned_object& object : *list) {
            const content_hash state = fixed_hash(plan, object);
            fixed_fingerprint fixed{object.kind, object.variant, state, state.value()};
            if (object.kind == object_kind::secret) {
                fixed.data = planned_secret_hash(plan, object);
            }
            out.push_back(fixed);
        }
    }
    return out;
}

std::uint64_t expected_fingerprint(
    const job_plan& plan,
    const planned_object& object,
    const render_options& options,
    std::span<const std::uint64_t> fields
) {
    const fixed_fingerprint& fixed = fixed_of(plan, object);
    if (object.kind->use != kind_use::gang) {
        return fixed.whole;
    }
    std::vector<std::uint64_t> hashes;
    for (const auto& value : gang::object_values(plan, options)) {
        const auto* json = std::get_if<gang::json_text>(&value);
        const bool theirs =
            std::holds_alternative<std::monostate>(value) || (json != nullptr && !json->compared);
        const std::size_t at = hashes.size();
        hashes.push_back(theirs && at < fields.size() ? fields[at] : gang::hash_of(value));
    }
    return hash_fields(fixed.state, hashes).value();
}

std::int32_t expected_selected_attempt(const planned_object& object, std::int32_t attempt) {
    const bool selects =
        object.kind == object_kind::service && object.variant != tensorboard_service;
    return selects ? attempt : 0;
}

std::uint64_t expected_data_fingerprint(
    const job_plan& plan, const planned_object& object, const render_options& options
) {
    return object.kind == object_kind::config_map ? planned_config_hash(plan, options)
           : object.kind == object_kind::secret   ? fixed_of(plan, object).data
                                                  : 0;
}

}  // namespace signalbox::core
