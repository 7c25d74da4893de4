// SPDX-License-Identifier: Apache-2.0
#include "kubelet/node/cluster_view.hpp"

#include "pods/json_value.hpp"

#include <algorithm>

namespace signalbox::op::kubelet {

std::optional<service_record> read_service(std::string_view json) {
    rapidjson::Document service;
    service.Parse<rapidjson::kParseIterativeFlag>(json.data(), json.size());
    if (service.HasParseError() || !service.IsObject()) {
        return std::nullopt;
    }
    const pods::json_value& metadata = pods::member(service, "metadata");
    const pods::json_value& spec = pods::member(service, "spec");
    service_record out;
    out.uid = pods::text(metadata, "uid");
    out.resource_version = pods::text(metadata, "resourceVersion");
    out.ns = pods::text(metadata, "namespace");
    out.entry.name = pods::text(metadata, "name");
    out.entry.address = pods::text(spec, "clusterIP");
    pods::for_each(pods::member(spec, "ports"), [&](const pods::json_value& p) {
        service_entry::port port;
        port.name = pods::text(p, "name");
        port.protocol = pods::text(p, "protocol");
        port.number = static_cast<std::int32_t>(pods::whole_number(p, "port").value_or(0));
        out.entry.ports.push_back(std::move(port));
    });
    named_service& names = out.names;
    names.uid = out.uid;
    names.ns = out.ns;
    names.name = out.entry.name;
    pods::for_each_member(
        pods::member(spec, "selector"),
        [&](std::string_view key, const pods::json_value& value) {
            names.selector.emplace(key, pods::text_of(value));
        }
    );
    names.headless = out.entry.address == "None";
    names.also_not_ready = pods::flag(spec, "publishNotReadyAddresses");
    if (pods::text(spec, "type") == "ExternalName") {
        names.alias = pods::text(spec, "externalName");
    }
    return out.uid.empty() ? std::nullopt : std::optional(std::move(out));
}

std::vector<service_entry> services_of(const service_store& in, const std::string& ns) {
    std::vector<service_entry> out;
    for (const auto& s : in.find<k8sio::by<&service_record::ns>>(ns)) {
        out.push_back(s->entry);
    }
    std::ranges::sort(out, {}, &service_entry::name);
    return out;
}

named_pod named(const pod_spec& pod) {
    named_pod out;
    out.uid = pod.uid;
    out.ns = pod.ns;
    out.address = pod.address;
    out.hostname = pod.hostname;
    out.subdomain = pod.subdomain;
    out.labels = pod.labels;
    out.ready = pod.ready;
    out.deleting = pod.deleting;
    out.ended = pod.phase == "Succeeded" || pod.phase == "Failed";
    return out;
}

}  // namespace signalbox::op::kubelet
