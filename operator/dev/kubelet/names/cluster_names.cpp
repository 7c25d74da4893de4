// SPDX-License-Identifier: Apache-2.0
#include "kubelet/names/cluster_names.hpp"

#include <algorithm>

namespace signalbox::op::kubelet {

namespace {

constexpr std::string_view cluster_domain = "cluster.local";

std::string label_key(const std::string& ns, const std::string& key, const std::string& value) {
    return ns + "/" + key + "=" + value;
}

bool selects(const string_map& selector, const string_map& labels) {
    return !selector.empty() && std::ranges::all_of(selector, [&](const auto& wanted) {
        const auto it = labels.find(wanted.first);
        return it != labels.end() && it->second == wanted.second;
    });
}

std::string host_key(const std::string& host, const std::string& service, const std::string& ns) {
    return host + "." + service + "." + ns;
}

void drop(
    std::unordered_map<std::string, std::set<std::string>>& from,
    const std::string& key,
    const std::string& uid
) {
    const auto it = from.find(key);
    if (it != from.end()) {
        it->second.erase(uid);
        if (it->second.empty()) {
            from.erase(it);
        }
    }
}

std::vector<std::string> split_name(std::string_view name) {
    std::vector<std::string> out;
    while (true) {
        const std::size_t dot = name.find('.');
        out.emplace_back(name.substr(0, dot));
        if (dot == std::string_view::npos) {
            return out;
        }
        name.remove_prefix(dot + 1);
    }
}

}  // namespace

bool cluster_names::is_ours(std::string_view name) {
    return name == cluster_domain ||
           (name.ends_with(cluster_domain) && name[name.size() - cluster_domain.size() - 1] == '.');
}

bool cluster_names::is_visible(const named_pod& pod, const named_service& in) const {
    return !pod.address.empty() && !pod.ended &&
           (in.also_not_ready || (pod.ready && !pod.deleting));
}

const cluster_names::known_service* cluster_names::service_named(
    const std::string& ns, const std::string& name
) const {
    const auto uid = service_by_name_.find(ns + "/" + name);
    return uid == service_by_name_.end() ? nullptr : &services_.at(uid->second);
}

name_result cluster_names::find(std::string_view name) const {
    constexpr std::string_view ending = ".svc.cluster.local";
    if (!name.ends_with(ending) || name.size() == ending.size()) {
        return {};
    }
    name.remove_suffix(ending.size());
    const std::vector<std::string> labels = split_name(name);
    const std::size_t n = labels.size();
    if (n != 2 && n != 3) {
        return {};
    }
    const known_service* service = service_named(labels[n - 1], labels[n - 2]);
    if (service == nullptr) {
        return {};
    }
    return n == 2 ? find_service(*service) : find_host(*service, labels.front());
}

name_result cluster_names::find_service(const known_service& s) const {
    name_result out;
    out.alias = s.is.alias;
    for (const std::string& uid : s.members) {
        const named_pod& pod = pods_.at(uid).is;
        if (is_visible(pod, s.is)) {
            out.addresses.push_back(pod.address);
        }
    }
    // Without a single pod a headless Service gives no name; one with an address of its own does.
    out.found = !out.alias.empty() || !out.addresses.empty() || !s.is.headless;
    return out;
}

name_result cluster_names::find_host(const known_service& s, const std::string& host) const {
    name_result out;
    const auto named = pods_by_host_.find(host_key(host, s.is.name, s.is.ns));
    if (named != pods_by_host_.end()) {
        for (const std::string& uid : named->second) {
            const named_pod& pod = pods_.at(uid).is;
            if (s.members.contains(uid) && is_visible(pod, s.is)) {
                out.addresses.push_back(pod.address);
            }
        }
    }
    out.found = !out.addresses.empty();
    return out;
}

void cluster_names::put(named_service service) {
    remove_service(service.uid);
    const std::string uid = service.uid;
    service_by_name_[service.ns + "/" + service.name] = uid;
    known_service& known = services_[uid];
    known.is = std::move(service);
    if (known.is.selector.empty()) {
        return;
    }
    const auto& [key, value] = *known.is.selector.begin();
    const std::string label = label_key(known.is.ns, key, value);
    services_by_label_[label].insert(uid);
    const auto candidates = pods_by_label_.find(label);
    if (candidates == pods_by_label_.end()) {
        return;
    }
    for (const std::string& candidate : candidates->second) {
        known_pod& pod = pods_.at(candidate);
        if (selects(known.is.selector, pod.is.labels)) {
            known.members.insert(candidate);
            pod.services.insert(uid);
        }
    }
}

void cluster_names::put(named_pod pod) {
    remove_pod(pod.uid);
    const std::string uid = pod.uid;
    known_pod& known = pods_[uid];
    known.is = std::move(pod);
    if (!known.is.hostname.empty() && !known.is.subdomain.empty()) {
        pods_by_host_[host_key(known.is.hostname, known.is.subdomain, known.is.ns)].insert(uid);
    }
    for (const auto& [key, value] : known.is.labels) {
        const std::string label = label_key(known.is.ns, key, value);
        pods_by_label_[label].insert(uid);
        const auto candidates = services_by_label_.find(label);
        if (candidates == services_by_label_.end()) {
            continue;
        }
        for (const std::string& candidate : candidates->second) {
            known_service& service = services_.at(candidate);
            if (selects(service.is.selector, known.is.labels)) {
                service.members.insert(uid);
                known.services.insert(candidate);
            }
        }
    }
}

void cluster_names::remove_service(const std::string& uid) {
    const auto it = services_.find(uid);
    if (it == services_.end()) {
        return;
    }
    const known_service& known = it->second;
    for (const std::string& member : known.members) {
        pods_.at(member).services.erase(uid);
    }
    if (!known.is.selector.empty()) {
        const auto& [key, value] = *known.is.selector.begin();
        drop(services_by_label_, label_key(known.is.ns, key, value), uid);
    }
    const auto named = service_by_name_.find(known.is.ns + "/" + known.is.name);
    if (named != service_by_name_.end() && named->second == uid) {
        service_by_name_.erase(named);
    }
    services_.erase(it);
}

void cluster_names::remove_pod(const std::string& uid) {
    const auto it = pods_.find(uid);
    if (it == pods_.end()) {
        return;
    }
    const known_pod& known = it->second;
    for (const std::string& service : known.services) {
        services_.at(service).members.erase(uid);
    }
    for (const auto& [key, value] : known.is.labels) {
        drop(pods_by_label_, label_key(known.is.ns, key, value), uid);
    }
    drop(pods_by_host_, host_key(known.is.hostname, known.is.subdomain, known.is.ns), uid);
    pods_.erase(it);
}

}  // namespace signalbox::op::kubelet
