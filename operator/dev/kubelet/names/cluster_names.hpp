// SPDX-License-Identifier: Apache-2.0
//
// The names that Services give to pods (LAUNCH.md 1.1, 1.2). A change costs the labels of a pod, or
// the pods of a Service, and never a look at everything.
#pragma once

#include "kubelet/pod/pod_spec.hpp"

#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace signalbox::op::kubelet {

struct named_service {
    std::string uid, ns, name;
    string_map selector;  ///< empty: it has no pods
    bool headless = false;
    bool also_not_ready = false;  ///< `publishNotReadyAddresses`
    std::string alias;            ///< ExternalName
};

struct named_pod {
    std::string uid, ns;
    std::string address;  ///< empty: none yet
    std::string hostname, subdomain;
    string_map labels;
    bool ready = false, deleting = false;
    bool ended = false;  ///< phase Succeeded or Failed
};

/// What a name stands for.
struct name_result {
    bool found = false;
    std::vector<std::string> addresses;  ///< IPv4
    std::string alias;                   ///< it is another name for this one
};

class cluster_names {
public:
    /// True for names that no other server can know: those below `cluster.local`.
    static bool is_ours(std::string_view name);
    /// `name`: complete, in lower case, without a dot at the end.
    name_result find(std::string_view name) const;

    /// New or changed, by UID.
    void put(named_service service);
    void put(named_pod pod);
    void remove_service(const std::string& uid);
    void remove_pod(const std::string& uid);

private:
    struct known_service {
        named_service is;
        std::set<std::string> members;  ///< UIDs of pods
    };
    struct known_pod {
        named_pod is;
        std::set<std::string> services;  ///< UIDs
    };
    using uid_set = std::set<std::string>;

    bool is_visible(const named_pod& pod, const named_service& in) const;
    const known_service* service_named(const std::string& ns, const std::string& name) const;
    name_result find_service(const known_service& s) const;
    name_result find_host(const known_service& s, const std::string& host) const;

    std::unordered_map<std::string, known_service> services_;
    std::unordered_map<std::string, known_pod> pods_;
    std::unordered_map<std::string, std::string> service_by_name_;  ///< `ns/name`: UID
    std::unordered_map<std::string, uid_set> services_by_label_;    ///< by one of the selector
    std::unordered_map<std::string, uid_set> pods_by_label_;
    std::unordered_map<std::string, uid_set> pods_by_host_;  ///< `host.subdomain.ns`
};

}  // namespace signalbox::op::kubelet
