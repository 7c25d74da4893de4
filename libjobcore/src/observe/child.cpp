// SPDX-License-Identifier: Apache-2.0
//
// JSON of a child other than a Pod -> child_record.
#include "gang/content.hpp"
#include "gang/scheduler.hpp"
#include "jobcore/observed.hpp"
#include "observe/common.hpp"
#include "observe/path_reader.hpp"
#include "render/deployment_content.hpp"
#include "render/fingerprint.hpp"
#include "render/labels.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace signalbox::core {
namespace {

using namespace observe;

enum at : node {
    in_object = root_node,
    in_metadata,
    name,
    ns,
    uid,
    resource_version,
    created,
    deleted,
    in_labels,
    label_value,
    in_owners,
    in_owner,
    owner_api_version,
    owner_kind,
    owner_name,
    owner_uid,
    owner_controller,
    owner_blocks,
    in_spec,
    service_type,
    cluster_ip,
    publish_not_ready,
    in_ports,
    in_port,
    port_number,
    port_target,
    port_protocol,
    in_external,
    external_address,
    in_selector,
    selector_value,
    secret_type,
    in_data,
    data_value,
    in_binary_data,
    binary_value,
    is_immutable,
    in_annotations,
    annotation_value,
    replicas,
    in_status,
    available_replicas,
    status_phase,
    in_conditions,
    in_condition,
    condition_type,
    condition_status,
    condition_reason,
};

// clang-format off
constexpr path_table child_edges(std::array{
    edge{in_object, step::key, "metadata", in_metadata},
    edge{in_object, step::key, "spec", in_spec},
    edge{in_metadata, step::key, "name", name},
    edge{in_metadata, step::key, "namespace", ns},
    edge{in_metadata, step::key, "uid", uid},
    edge{in_metadata, step::key, "resourceVersion", resource_version},
    edge{in_metadata, step::key, "creationTimestamp", created},
    edge{in_metadata, step::key, "deletionTimestamp", deleted},
    edge{in_metadata, step::key, "labels", in_labels},
    edge{in_labels, step::each_key, "", label_value},
    edge{in_metadata, step::key, "ownerReferences", in_owners},
    edge{in_owners, step::item, "", in_owner},
    edge{in_owner, step::key, "apiVersion", owner_api_version},
    edge{in_owner, step::key, "kind", owner_kind},
    edge{in_owner, step::key, "name", owner_name},
    edge{in_owner, step::key, "uid", owner_uid},
    edge{in_owner, step::key, "controller", owner_controller},
    edge{in_owner, step::key, "blockOwnerDeletion", owner_blocks},
    edge{in_spec, step::key, "type", service_type},
    edge{in_spec, step::key, "clusterIP", cluster_ip},
    edge{in_spec, step::key, "publishNotReadyAddresses", publish_not_ready},
    edge{in_spec, step::key, "ports", in_ports},
    edge{in_ports, step::item, "", in_port},
    edge{in_port, step::key, "port", port_number},
    edge{in_port, step::key, "targetPort", port_target},
    edge{in_port, step::key, "protocol", port_protocol},
    edge{in_spec, step::key, "externalIPs", in_external},
    edge{in_external, step::item, "", external_address},
    edge{in_spec, step::key, "selector", in_selector},
    edge{in_selector, step::each_key, "", selector_value},
    edge{in_object, step::key, "type", secret_type},
    edge{in_object, step::key, "data", in_data},
    edge{in_data, step::each_key, "", data_value},
    edge{in_object, step::key, "binaryData", in_binary_data},
    edge{in_binary_data, step::each_key, "", binary_value},
    edge{in_object, step::key, "immutable", is_immutable},
    edge{in_metadata, step::key, "annotations", in_annotations},
    edge{in_annotations, step::key, label::spec_hash, annotation_value},
    edge{in_spec, step::key, "replicas", replicas},
    edge{in_object, step::key, "status", in_status},
    edge{in_status, step::key, "availableReplicas", available_replicas},
    edge{in_status, step::key, "phase", status_phase},
    edge{in_status, step::key, "conditions", in_conditions},
    edge{in_conditions, step::item, "", in_condition},
    edge{in_condition, step::key, "type", condition_type},
    edge{in_condition, step::key, "status", condition_status},
    edge{in_condition, step::key, "reason", condition_reason},
});
// clang-format on

/// Whether an object does what it is for, as the row of its kind says. Where a schema is not public
/// these are the conventions of the Kubernetes API.
struct readiness_reader {
    struct {
        std::string type, status, reason;
    } current;
    bool serves = false;
    std::string reason, phase;
    std::int64_t available = 0;
    std::optional<std::int64_t> wanted;

    void take() {
        if (current.type != "Ready" && current.type != "Available") {
            return;
        }
        serves = current.status == "True";
        reason = std::move(current.reason);
    }

    bool is_ready(readiness by) const {
        return by == readiness::replicas ? available > 0 : serves || phase == "Running";
    }
    /// Why it does not serve; empty if the server says nothing.
    std::string why_not(readiness by) const {
        const bool suspended = by == readiness::replicas && wanted == 0;
        return suspended ? "Suspended" : !reason.empty() ? reason : phase;
    }
};

/// What the scheduler of that kind reads of it; null if that is nothing.
std::shared_ptr<const gang_answer> answer_in(object_kind kind, const json::value& object) {
    const gang::scheduler* by = gang::scheduler_of(kind);
    if (by == nullptr || by->read == nullptr) {
        return nullptr;
    }
    return std::make_shared<const gang_answer>(by->read(object));
}

class child_sink {
public:
    explicit child_sink(object_kind kind) { child_.kind = kind; }

    void open(node n) {
        if (n == in_owner) {
            owner_.open();
        } else if (n == in_port) {
            service_.ports.emplace_back();
        } else if (n == in_condition) {
            says_.current = {};
        }
    }
    void close(node n) {
        if (n == in_owner) {
            owner_.close();
        } else if (n == in_condition) {
            says_.take();
        }
    }
    void text(node n, std::string_view key, std::string_view value);
    void number(node n, std::string_view key, std::int64_t value);
    void boolean(node n, bool value);
    /// `object`: the whole of it, of kinds that are not read by places alone; else null.
    child_record finish(const json::value* object);

private:
    void read_label(std::string_view key, std::string_view value);
    owned_facts owned() const;
    void finish_service(content_hash& hash);
    content_hash hash(const json::value* object);
    std::uint64_t data_hash() const;

    child_record child_;
    owner_reader owner_;
    struct {
        std::string owner_name, owner_kind, component, job_uid, managed_by;
    } labels_;
    struct {
        std::string type, cluster_ip;
        bool publish_not_ready = false;
        std::vector<service_port> ports;
        std::uint64_t external_addresses = 0;
        std::map<std::string, std::string, std::less<>> selector;
    } service_;
    std::string secret_type_, spec_hash_;
    mutability held_ = mutability::open;
    std::map<std::string, std::uint64_t, std::less<>> data_;  ///< hashes of the values
    readiness_reader says_;
};

void child_sink::text(node n, std::string_view key, std::string_view value) {
    switch (n) {
        case name:
            child_.name = value;
            break;
        case ns:
            child_.ns = value;
            break;
        case uid:
            child_.uid = value;
            break;
        case resource_version:
            child_.resource_version = value;
            break;
        case created:
            child_.creation = parse_time(value);
            break;
        case deleted:
            child_.deleting = true;
            break;
        case label_value:
            read_label(key, value);
            break;
        case owner_api_version:
            owner_.current.api_version = value;
            break;
        case owner_kind:
            owner_.current.kind = value;
            break;
        case owner_name:
            owner_.current.name = value;
            break;
        case owner_uid:
            owner_.current.uid = value;
            break;
        case service_type:
            service_.type = value;
            break;
        case cluster_ip:
            service_.cluster_ip = value;
            break;
        case port_target:
            service_.ports.back().target = value;
            break;
        case port_protocol:
            service_.ports.back().protocol = value;
            break;
        case external_address:
            ++service_.external_addresses;
            break;
        case selector_value:
            service_.selector[std::string(key)] = value;
            if (key == label::attempt) {
                child_.selected_attempt = label_number(value).value_or(-1);
            }
            break;
        case secret_type:
            secret_type_ = value;
            break;
        case data_value:
            data_[std::string(key)] = content_hash().bytes(value).value();
            break;
        case binary_value:  // a file too, in another form
            data_[std::string(key)] = content_hash().field("binary").bytes(value).value();
            break;
        case annotation_value:
            spec_hash_ = value;
            break;
        case status_phase:
            says_.phase = value;
            break;
        case condition_type:
            says_.current.type = value;
            break;
        case condition_status:
            says_.current.status = value;
            break;
        case condition_reason:
            says_.current.reason = value;
            break;
        default:
            break;
    }
}

void child_sink::number(node n, std::string_view, std::int64_t value) {
    if (n == port_number) {
        service_.ports.back().port = value;
    } else if (n == port_target) {
        service_.ports.back().target = std::to_string(value);
    } else if (n == available_replicas) {
        says_.available = value;
    } else if (n == replicas) {
        says_.wanted = value;
    }
}

void child_sink::boolean(node n, bool value) {
    switch (n) {
        case owner_controller:
            owner_.current.controller = value;
            break;
        case owner_blocks:
            owner_.current.block_deletion = value;
            break;
        case publish_not_ready:
            service_.publish_not_ready = value;
            break;
        case is_immutable:
            held_ = value ? mutability::immutable : mutability::open;
            break;
        default:
            break;
    }
}

void child_sink::read_label(std::string_view key, std::string_view value) {
    const std::array<std::pair<std::string_view, std::string*>, 5> places{{
        {label::owner_name, &labels_.owner_name},
        {label::owner_kind, &labels_.owner_kind},
        {label::component, &labels_.component},
        {label::job_uid, &labels_.job_uid},
        {label::managed_by, &labels_.managed_by},
    }};
    for (const auto& [ours, place] : places) {
        if (ours == key) {
            *place = value;
        }
    }
    if (key == label::attempt) {
        child_.attempt = label_number(value).value_or(0);
    }
}

owned_facts child_sink::owned() const {
    const auto& owner = owner_.controller;
    owned_facts f;
    f.owner_name = labels_.owner_name;
    f.owner_kind = labels_.owner_kind;
    f.component = labels_.component;
    f.job_uid = labels_.job_uid;
    f.managed_by = labels_.managed_by;
    f.ref_api_version = owner.api_version;
    f.ref_kind = owner.kind;
    f.ref_name = owner.name;
    f.ref_uid = owner.uid;
    f.ref_controller = owner.controller;
    f.ref_block_deletion = owner.block_deletion;
    return f;
}

void child_sink::finish_service(content_hash& hash) {
    service_facts f;
    f.type = service_.type.empty() ? "ClusterIP" : std::string_view(service_.type);
    // An address is the server's to choose; none is ours.
    f.cluster_ip = service_.cluster_ip == "None" ? "None" : "";
    f.publish_not_ready = service_.publish_not_ready;
    f.ports = service_.ports;
    f.external_addresses = service_.external_addresses;
    const std::vector<selector_entry> selector(service_.selector.begin(), service_.selector.end());
    hash = hash_selector(hash_service(hash, f), selector);

    // The subdomain's Service selects all pods: there a replica's type and index are not ours.
    const auto& owner = owner_.controller;
    const std::string base = owner.name + '-' + name_hash(owner.name, owner.uid);
    const bool selects_all = child_.name == base;
    const bool of_tensorboard = child_.name == base + "-tensorboard";
    for (const auto& [key, value] : selector) {
        const bool ours =
            of_tensorboard
                ? key == label::app_instance || key == label::app_name
                : key == label::attempt || key == label::job_uid ||
                      (!selects_all && (key == label::replica_type || key == label::replica_index));
        if (!ours) {
            child_.foreign_selector_keys.emplace_back(key);
        }
    }
}

content_hash child_sink::hash(const json::value* object) {
    content_hash hash = hash_owned(child_.kind, owned());
    if (child_.kind == object_kind::service) {
        finish_service(hash);
    } else if (child_.kind->use == kind_use::gang) {
        hash = hash_fields(hash, child_.fields);
    } else if (child_.kind->use != kind_use::object) {
        hash.field(spec_hash_);
    }
    if (child_.kind == object_kind::deployment) {
        const json::value* spec = object == nullptr ? nullptr : json::find(*object, "spec");
        hash.number(spec == nullptr ? 0 : deployment_content(*spec));
    }
    return hash;
}

std::uint64_t child_sink::data_hash() const {
    const object_kind kind = child_.kind;
    if (kind == object_kind::config_map) {
        const std::vector<data_entry> entries(data_.begin(), data_.end());
        return hash_config_data(held_, entries).value();
    }
    if (kind == object_kind::secret) {
        std::vector<std::string_view> keys;
        for (const auto& [key, hash] : data_) {
            keys.push_back(key);
        }
        return hash_secret_data(secret_type_, held_, keys).value();
    }
    return 0;
}

child_record child_sink::finish(const json::value* object) {
    child_.data_fingerprint = data_hash();
    const readiness by = child_.kind->ready_by;
    if (by != readiness::unsaid) {
        child_.ready = says_.is_ready(by);
        child_.reason = child_.ready ? std::string{} : says_.why_not(by);
    }
    if (object != nullptr && child_.kind->use == kind_use::gang) {
        child_.fields = gang::field_hashes(child_.kind, *object);
        child_.gang = answer_in(child_.kind, *object);
    }
    child_.fingerprint = hash(object).value();
    child_.owner_uid = std::move(owner_.controller.uid);
    return std::move(child_);
}

/// There is one for a job at most: a document costs nothing that counts.
bool is_read_whole(object_kind kind) {
    return kind == object_kind::deployment || kind->use == kind_use::gang;
}

}  // namespace

std::optional<child_record> decode_child(object_kind kind, std::string_view json) {
    child_sink sink(kind);
    if (!read_paths(json, child_edges, sink)) {
        return std::nullopt;
    }
    json::document document;
    if (is_read_whole(kind)) {
        json::parse(document, json);
    }
    child_record record = sink.finish(is_read_whole(kind) ? &document : nullptr);
    if (record.name.empty() || record.uid.empty()) {
        return std::nullopt;
    }
    return record;
}

}  // namespace signalbox::core
