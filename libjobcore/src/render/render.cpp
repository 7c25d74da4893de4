// SPDX-License-Identifier: Apache-2.0
//
// From a plan to the JSON of one object.
#include "jobcore/plan.hpp"
#include "json/json.hpp"
#include "render/fingerprint.hpp"
#include "render/labels.hpp"
#include "render/render_data.hpp"

#include <array>
#include <charconv>
#include <cstdio>
#include <span>
#include <string>

namespace signalbox::core {
namespace {

void append_number(std::string& out, std::int64_t value) {
    std::array<char, 24> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    out.append(digits.data(), end);
}

void append_hostname(std::string& out, const job_plan& plan, const pod_identity& pod) {
    out.append(plan.base_name).append(1, '-').append(plan.roles[pod.role].type).append(1, '-');
    append_number(out, pod.index);
}

void append_pod_name(std::string& out, const job_plan& plan, const pod_identity& pod) {
    append_hostname(out, plan, pod);
    if (pod.rename > 0) {
        out.append("-r");
        append_number(out, pod.rename);
    }
}

/// The pods in force of all roles before `role` (behaviour.md 3.5, 7.2).
std::int64_t pods_before(
    const job_plan& plan, std::size_t role, std::span<const std::int32_t> wanted
) {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < role; ++i) {
        sum += i < wanted.size() ? wanted[i] : plan.roles[i].wanted;
    }
    return sum;
}

void append_slot(
    slot what,
    std::string& out,
    const job_plan& plan,
    const pod_identity& pod,
    std::span<const std::int32_t> wanted
) {
    switch (what) {
        case slot::pod_name:
            return append_pod_name(out, plan, pod);
        case slot::hostname:
            return append_hostname(out, plan, pod);
        case slot::index:
            return append_number(out, pod.index);
        case slot::attempt:
            return append_number(out, pod.attempt);
        case slot::round:
            return append_number(out, pod.round);
        case slot::rank:
            return append_number(out, pods_before(plan, pod.role, wanted) + pod.index);
        case slot::world_size:
            return append_number(out, pods_before(plan, plan.roles.size(), wanted));
    }
}

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
    s.entries[s.size++] = {label::attempt, attempt};
    s.entries[s.size++] = {label::job_uid, plan.job_uid};
    if (object.variant == alias_service) {
        s.entries[s.size++] = {label::replica_index, "0"};
        s.entries[s.size++] = {label::replica_type, plan.roles[plan.render->rendezvous_role].type};
    }
    return s;
}

using text_writer = rapidjson::Writer<rapidjson::StringBuffer>;

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

void write_metadata(text_writer& w, const job_plan& plan, std::string_view name) {
    const owned_facts f = planned_facts(plan);
    w.Key("metadata");
    w.StartObject();
    write(w, "name", name);
    write(w, "namespace", plan.ns);
    w.Key("labels");
    w.StartObject();
    write(w, label::owner_name, f.owner_name);
    write(w, label::owner_kind, f.owner_kind);
    write(w, label::component, f.component);
    write(w, label::job_uid, f.job_uid);
    write(w, label::managed_by, f.managed_by);
    w.EndObject();
    write_owner_reference(w, f);
    w.EndObject();
}

void write_service_spec(text_writer& w, std::span<const selector_entry> selector) {
    const service_facts f = planned_service();
    w.Key("spec");
    w.StartObject();
    write(w, "type", f.type);
    write(w, "clusterIP", f.cluster_ip);
    w.Key("publishNotReadyAddresses");
    w.Bool(f.publish_not_ready);
    // Written though empty: as a merge patch the object then takes added ports away (2.6).
    w.Key("ports");
    w.StartArray();
    w.EndArray();
    w.Key("selector");
    w.StartObject();
    for (const auto& [key, value] : selector) {
        write(w, key, value);
    }
    w.EndObject();
    w.EndObject();
}

}  // namespace

std::string name_hash(std::string_view job_name, std::string_view uid) {
    std::array<char, 17> digits;
    const auto hash = fnv1a().bytes(job_name).bytes(uid).value();
    std::snprintf(digits.data(), digits.size(), "%016llx", static_cast<unsigned long long>(hash));
    return {digits.data(), 5};
}

std::string pod_name(const job_plan& plan, const pod_identity& pod) {
    std::string out;
    append_pod_name(out, plan, pod);
    return out;
}

std::string object_name(const planned_object& object, std::int32_t attempt) {
    std::string out = object.name;
    if (object.name_has_attempt) {
        out += '-';
        append_number(out, attempt);
    }
    return out;
}

std::string render_pod(
    const job_plan& plan, const pod_identity& pod, const render_options& options
) {
    std::string out;
    const auto& role = plan.render->roles[pod.role];
    if (role.programs.empty()) {
        return out;  // compile_plan reported an error; the plan is not to be used
    }
    const bool master = pod.role == plan.master_role && pod.index == 0;
    const program& p = role.programs[role.choice[master ? 1 : 0][options.resumed ? 1 : 0]];
    out.reserve(p.text.size() + p.gaps.size() * 24);
    p.expand(out, [&](slot what, std::string& to) {
        append_slot(what, to, plan, pod, options.wanted);
    });
    return out;
}

std::string render_object(
    const job_plan& plan,
    const planned_object& object,
    std::int32_t attempt,
    const render_options& /*options*/
) {
    if (object.kind != object_kind::service) {
        return {};  // no plan of this version has another kind
    }
    const std::string attempt_text = std::to_string(attempt);
    rapidjson::StringBuffer buffer;
    text_writer w(buffer);
    w.StartObject();
    write(w, "apiVersion", "v1");
    write(w, "kind", "Service");
    write_metadata(w, plan, object_name(object, attempt));
    write_service_spec(w, service_selector(plan, object, attempt_text).view());
    w.EndObject();
    return {buffer.GetString(), buffer.GetSize()};
}

std::uint64_t expected_fingerprint(
    const job_plan& plan,
    const planned_object& object,
    std::int32_t attempt,
    const render_options& /*options*/
) {
    if (object.kind != object_kind::service) {
        return hash_owned(object.kind, planned_facts(plan)).value();
    }
    std::array<char, 16> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), attempt).ptr;
    const std::string_view text(digits.data(), static_cast<std::size_t>(end - digits.data()));
    const auto selector = service_selector(plan, object, text);
    return hash_selector(plan.render->service_hash, selector.view()).value();
}

}  // namespace signalbox::core
