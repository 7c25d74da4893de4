// SPDX-License-Identifier: Apache-2.0
//
// Cells of built-in kinds but pods, after kubernetes/pkg/printers/internalversion.
#include "server/built_in/built_in_rules.hpp"
#include "server/built_in/cell_parts.hpp"
#include "server/kinds/meta.hpp"
#include "server/values/text.hpp"
#include "server/values/times.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace signalbox::k8sio::server::rules::cells {

std::string service_cluster_ip(const value& service, wall_time) {
    return text_or(none_text, json::string_at(service, {"spec", "clusterIP"}));
}

std::string service_external_ip(const value& service, wall_time) {
    const std::string_view type = json::string_at(service, {"spec", "type"});
    if (type == "ExternalName") {
        return std::string(json::string_at(service, {"spec", "externalName"}));
    }
    std::string out;
    each(service, {"status", "loadBalancer", "ingress"}, [&out](const value& entry) {
        out += (out.empty() ? "" : ",") +
               first_text(json::string_at(entry, {"ip"}), json::string_at(entry, {"hostname"}));
    });
    each(service, {"spec", "externalIPs"}, [&out](const value& address) {
        out += (out.empty() ? "" : ",") + json::scalar_text(address);
    });
    return text_or(type == "LoadBalancer" ? "<pending>" : none_text, out);
}

std::string service_ports(const value& service, wall_time) {
    std::string out;
    each(service, {"spec", "ports"}, [&out](const value& p) {
        const auto node_port = json::int_at(p, {"nodePort"}).value_or(0);
        out += fmt::format(
            "{}{}{}/{}",
            out.empty() ? "" : ",",
            json::int_at(p, {"port"}).value_or(0),
            node_port > 0 ? fmt::format(":{}", node_port) : "",
            json::string_at(p, {"protocol"})
        );
    });
    return out.empty() ? std::string(none_text) : out;
}

std::string service_selector(const value& service, wall_time) {
    return text_or(none_text, labels_text(json::find_path(service, {"spec", "selector"})));
}

std::string data_count(const value& object, wall_time) {
    return std::to_string(size_at(object, {"data"}) + size_at(object, {"binaryData"}));
}

std::string node_status(const value& node, wall_time) {
    std::string out = "Unknown";
    each(node, {"status", "conditions"}, [&out](const value& c) {
        if (json::string_at(c, {"type"}) == "Ready") {
            out = json::string_at(c, {"status"}) == "True" ? "Ready" : "NotReady";
        }
    });
    return json::bool_at(node, {"spec", "unschedulable"}) ? out + ",SchedulingDisabled" : out;
}

std::string node_roles(const value& node, wall_time) {
    constexpr std::string_view prefix = "node-role.kubernetes.io/";
    std::set<std::string> roles;
    if (const value* labels = json::find_path(node, {"metadata", "labels"});
        labels != nullptr && labels->IsObject()) {
        for (const auto& m : labels->GetObject()) {
            if (const std::string_view key = json::view(m.name); key.starts_with(prefix)) {
                roles.emplace(key.substr(prefix.size()));
            }
        }
    }
    return text_or(none_text, fmt::format("{}", fmt::join(roles, ",")));
}

namespace {

std::string node_address(const value& node, std::string_view type) {
    std::string out;
    each(node, {"status", "addresses"}, [&](const value& address) {
        if (out.empty() && json::string_at(address, {"type"}) == type) {
            out = json::string_at(address, {"address"});
        }
    });
    return text_or(none_text, out);
}

std::string node_fact(const value& node, std::string_view name) {
    return text_or("<unknown>", json::string_at(node, {"status", "nodeInfo", name}));
}

}  // namespace

std::string node_internal_ip(const value& node, wall_time) {
    return node_address(node, "InternalIP");
}

std::string node_external_ip(const value& node, wall_time) {
    return node_address(node, "ExternalIP");
}

std::string node_image(const value& node, wall_time) {
    return node_fact(node, "osImage");
}

std::string node_kernel(const value& node, wall_time) {
    return node_fact(node, "kernelVersion");
}

std::string node_runtime(const value& node, wall_time) {
    return node_fact(node, "containerRuntimeVersion");
}

std::string namespace_status(const value& ns, wall_time) {
    return std::string(json::string_at(ns, {"status", "phase"}));
}

std::string event_first_seen(const value& event, wall_time now) {
    return age(
        first_text(
            json::string_at(event, {"firstTimestamp"}), json::string_at(event, {"eventTime"})
        ),
        now
    );
}

std::string event_last_seen(const value& event, wall_time now) {
    const std::string at = first_text(
        json::string_at(event, {"series", "lastObservedTime"}),
        json::string_at(event, {"lastTimestamp"})
    );
    return at.empty() ? event_first_seen(event, now) : age(at, now);
}

std::string event_subobject(const value& event, wall_time) {
    return std::string(json::string_at(event, {"involvedObject", "fieldPath"}));
}

std::string event_object(const value& event, wall_time) {
    const std::string kind = lower(json::string_at(event, {"involvedObject", "kind"}));
    return fmt::format("{}/{}", kind, json::string_at(event, {"involvedObject", "name"}));
}

std::string event_source(const value& event, wall_time) {
    const std::string component = first_text(
        json::string_at(event, {"source", "component"}),
        json::string_at(event, {"reportingComponent"})
    );
    const std::string instance = first_text(
        json::string_at(event, {"source", "host"}), json::string_at(event, {"reportingInstance"})
    );
    return instance.empty() ? component : component + ", " + instance;
}

std::string event_message(const value& event, wall_time) {
    const std::string_view text = json::string_at(event, {"message"});
    const std::size_t start = text.find_first_not_of(" \t\r\n");
    const std::size_t end = text.find_last_not_of(" \t\r\n");
    return std::string(start == text.npos ? "" : text.substr(start, end - start + 1));
}

std::string event_count(const value& event, wall_time) {
    const auto series = json::int_at(event, {"series", "count"});
    return std::to_string(series ? *series : json::int_at(event, {"count"}).value_or(1));
}

std::string deployment_ready(const value& deployment, wall_time) {
    return fmt::format(
        "{}/{}",
        json::int_at(deployment, {"status", "readyReplicas"}).value_or(0),
        json::int_at(deployment, {"spec", "replicas"}).value_or(0)
    );
}

std::string deployment_updated(const value& deployment, wall_time) {
    return std::to_string(json::int_at(deployment, {"status", "updatedReplicas"}).value_or(0));
}

std::string deployment_available(const value& deployment, wall_time) {
    return std::to_string(json::int_at(deployment, {"status", "availableReplicas"}).value_or(0));
}

std::string lease_holder(const value& lease, wall_time) {
    return std::string(json::string_at(lease, {"spec", "holderIdentity"}));
}

std::string account_secrets(const value& account, wall_time) {
    return std::to_string(size_at(account, {"secrets"}));
}

std::string claim_status(const value& claim, wall_time) {
    return std::string(
        json::find_path(claim, {"metadata", "deletionTimestamp"}) != nullptr
            ? "Terminating"
            : json::string_at(claim, {"status", "phase"})
    );
}

std::string claim_capacity(const value& claim, wall_time) {
    if (json::string_at(claim, {"spec", "volumeName"}).empty()) {
        return {};
    }
    return text_or("0", json::string_at(claim, {"status", "capacity", "storage"}));
}

std::string claim_modes(const value& claim, wall_time) {
    static constexpr std::array<std::pair<std::string_view, std::string_view>, 4> modes{{
        {"ReadWriteOnce", "RWO"},
        {"ReadOnlyMany", "ROX"},
        {"ReadWriteMany", "RWX"},
        {"ReadWriteOncePod", "RWOP"},
    }};
    std::string out;
    if (json::string_at(claim, {"spec", "volumeName"}).empty()) {
        return out;
    }
    for (const auto& [mode, abbreviation] : modes) {
        bool has = false;
        each(claim, {"status", "accessModes"}, [&has, wanted = mode](const value& m) {
            has = has || json::scalar_text(m) == wanted;
        });
        if (has) {
            out += (out.empty() ? "" : ",") + std::string(abbreviation);
        }
    }
    return out;
}

std::string claim_attributes(const value& claim, wall_time) {
    return text_or("<unset>", json::string_at(claim, {"spec", "volumeAttributesClassName"}));
}

std::string template_containers(const value& object, wall_time) {
    return joined(object, {"spec", "template", "spec", "containers"}, "name");
}

std::string template_images(const value& object, wall_time) {
    return joined(object, {"spec", "template", "spec", "containers"}, "image");
}

std::string workload_selector(const value& object, wall_time) {
    return text_or(none_text, selector_text(json::find_path(object, {"spec", "selector"})));
}

namespace {

/// A count or a share.
std::string budget_bound(const value& budget, std::string_view name) {
    const value* bound = json::find_path(budget, {"spec", name});
    return bound == nullptr ? "N/A" : json::scalar_text(*bound);
}

std::string subjects(const value& binding, std::string_view kind) {
    std::string out;
    each(binding, {"subjects"}, [&](const value& subject) {
        if (json::string_at(subject, {"kind"}) == kind) {
            const std::string_view ns = json::string_at(subject, {"namespace"});
            out += fmt::format(
                "{}{}{}{}",
                out.empty() ? "" : ", ",
                ns,
                ns.empty() ? "" : "/",
                json::string_at(subject, {"name"})
            );
        }
    });
    return out;
}

/// `pods: 1/50`, for each resource that is a limit of containers, or for all others.
std::string quota_use(const value& quota, bool limits) {
    std::map<std::string, std::string> parts;
    if (const value* hard = json::find_path(quota, {"status", "hard"}); hard != nullptr) {
        for (const auto& m : hard->GetObject()) {
            const std::string name = json::text_of(m.name);
            const value* used = json::find_path(quota, {"status", "used", name});
            if (name.starts_with("limits") == limits) {
                parts[name] = fmt::format(
                    "{}: {}/{}",
                    name,
                    used == nullptr ? "0" : json::scalar_text(*used),
                    json::scalar_text(m.value)
                );
            }
        }
    }
    std::string out;
    for (const auto& [name, text] : parts) {
        out += (out.empty() ? "" : ", ") + text;
    }
    return out;
}

}  // namespace

std::string budget_least(const value& budget, wall_time) {
    return budget_bound(budget, "minAvailable");
}

std::string budget_most(const value& budget, wall_time) {
    return budget_bound(budget, "maxUnavailable");
}

std::string binding_role(const value& binding, wall_time) {
    return fmt::format(
        "{}/{}",
        json::string_at(binding, {"roleRef", "kind"}),
        json::string_at(binding, {"roleRef", "name"})
    );
}

std::string binding_users(const value& binding, wall_time) {
    return subjects(binding, "User");
}

std::string binding_groups(const value& binding, wall_time) {
    return subjects(binding, "Group");
}

std::string binding_accounts(const value& binding, wall_time) {
    return subjects(binding, "ServiceAccount");
}

std::string endpoint_addresses(const value& endpoints, wall_time) {
    constexpr std::size_t most = 3;
    std::vector<std::string> all;
    each(endpoints, {"subsets"}, [&all](const value& subset) {
        const auto add = [&](const std::string& port) {
            each(subset, {"addresses"}, [&](const value& address) {
                const std::string_view ip = json::string_at(address, {"ip"});
                const bool in_brackets = !port.empty() && ip.find(':') != ip.npos;
                all.push_back(
                    in_brackets ? fmt::format("[{}]{}", ip, port) : fmt::format("{}{}", ip, port)
                );
            });
        };
        if (size_at(subset, {"ports"}) == 0) {
            add("");
        }
        each(subset, {"ports"}, [&](const value& port) {
            add(fmt::format(":{}", json::int_at(port, {"port"}).value_or(0)));
        });
    });
    const std::size_t shown = std::min(all.size(), most);
    const auto end = all.begin() + static_cast<std::ptrdiff_t>(shown);
    const std::string text = fmt::format("{}", fmt::join(all.begin(), end, ","));
    return all.size() > most ? fmt::format("{} + {} more...", text, all.size() - shown)
                             : text_or(none_text, text);
}

std::string quota_requests(const value& quota, wall_time) {
    return quota_use(quota, false);
}

std::string quota_limits(const value& quota, wall_time) {
    return quota_use(quota, true);
}

}  // namespace signalbox::k8sio::server::rules::cells
