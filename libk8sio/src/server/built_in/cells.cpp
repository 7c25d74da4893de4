// SPDX-License-Identifier: Apache-2.0
//
// Cells of built-in kinds, after kubernetes/pkg/printers/internalversion.
#include "server/built_in/built_in_rules.hpp"
#include "server/values/text.hpp"
#include "server/values/times.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

namespace signalbox::k8sio::server::rules::cells {
namespace {

constexpr std::string_view none_text = "<none>";

std::size_t size_at(const value& v, std::initializer_list<std::string_view> path) {
    const value* list = json::find_path(v, path);
    return list == nullptr    ? 0
           : list->IsArray()  ? list->Size()
           : list->IsObject() ? list->MemberCount()
                              : 0;
}

template <class Function>
void each(const value& v, std::initializer_list<std::string_view> path, Function f) {
    if (const value* list = json::find_path(v, path); list != nullptr && list->IsArray()) {
        for (const value& e : list->GetArray()) {
            f(e);
        }
    }
}

std::string joined_labels(const value* labels) {
    std::string out;
    if (labels != nullptr && labels->IsObject()) {
        for (const auto& m : labels->GetObject()) {
            out += fmt::format(
                "{}{}={}", out.empty() ? "" : ",", json::text_of(m.name), json::scalar_text(m.value)
            );
        }
    }
    return out.empty() ? std::string(none_text) : out;
}

bool condition_is_true(const value& object, std::string_view type) {
    bool out = false;
    each(object, {"status", "conditions"}, [&](const value& c) {
        out = out ||
              (json::string_at(c, {"type"}) == type && json::string_at(c, {"status"}) == "True");
    });
    return out;
}

std::string event_time(const value& event, std::string_view first_choice, wall_time now) {
    for (const std::string_view key :
         {first_choice, std::string_view("eventTime"), std::string_view("firstTimestamp")}) {
        if (const std::string_view text = json::string_at(event, {key}); !text.empty()) {
            return age(text, now);
        }
    }
    const std::string_view created = json::string_at(event, {"metadata", "creationTimestamp"});
    return created.empty() ? "<unknown>" : age(created, now);
}

}  // namespace

std::string pod_ready(const value& pod, wall_time) {
    int ready = 0;
    each(pod, {"status", "containerStatuses"}, [&ready](const value& s) {
        ready += json::bool_at(s, {"ready"}) ? 1 : 0;
    });
    return fmt::format("{}/{}", ready, size_at(pod, {"spec", "containers"}));
}

std::string pod_status(const value& pod, wall_time) {
    const std::string_view own = json::string_at(pod, {"status", "reason"});
    std::string reason(own.empty() ? json::string_at(pod, {"status", "phase"}) : own);
    if (size_at(pod, {"spec", "schedulingGates"}) > 0 &&
        json::string_at(pod, {"spec", "nodeName"}).empty()) {
        reason = "SchedulingGated";
    }
    int index = 0;
    bool initializing = false;
    each(pod, {"status", "initContainerStatuses"}, [&](const value& s) {
        const int at = index++;
        if (initializing || json::int_at(s, {"state", "terminated", "exitCode"}) == 0) {
            return;
        }
        initializing = true;
        const std::string_view ended = json::string_at(s, {"state", "terminated", "reason"});
        const std::string_view waits = json::string_at(s, {"state", "waiting", "reason"});
        if (json::find_path(s, {"state", "terminated"}) != nullptr) {
            reason = ended.empty() ? "Init:Error" : fmt::format("Init:{}", ended);
        } else if (!waits.empty() && waits != "PodInitializing") {
            reason = fmt::format("Init:{}", waits);
        } else {
            reason = fmt::format("Init:{}/{}", at, size_at(pod, {"spec", "initContainers"}));
        }
    });
    if (!initializing) {
        bool running = false;
        each(pod, {"status", "containerStatuses"}, [&](const value& s) {
            const std::string_view waits = json::string_at(s, {"state", "waiting", "reason"});
            const std::string_view ended = json::string_at(s, {"state", "terminated", "reason"});
            const auto code = json::int_at(s, {"state", "terminated", "exitCode"});
            const auto signal = json::int_at(s, {"state", "terminated", "signal"}).value_or(0);
            const bool runs = json::find_path(s, {"state", "running"}) != nullptr;
            if (!waits.empty()) {
                reason = waits;
            } else if (!ended.empty()) {
                reason = ended;
            } else if (code) {
                reason = signal != 0 ? fmt::format("Signal:{}", signal)
                                     : fmt::format("ExitCode:{}", *code);
            } else if (runs && json::bool_at(s, {"ready"})) {
                running = true;
            }
        });
        if (reason == "Completed" && running) {
            reason = condition_is_true(pod, "Ready") ? "Running" : "NotReady";
        }
    }
    if (json::find_path(pod, {"metadata", "deletionTimestamp"}) != nullptr) {
        const std::string_view phase = json::string_at(pod, {"status", "phase"});
        if (own == "NodeLost") {
            reason = "Unknown";
        } else if (phase != "Succeeded" && phase != "Failed") {
            reason = "Terminating";
        }
    }
    return reason;
}

std::string pod_restarts(const value& pod, wall_time now) {
    std::int64_t restarts = 0;
    std::string last;
    each(pod, {"status", "containerStatuses"}, [&](const value& s) {
        restarts += json::int_at(s, {"restartCount"}).value_or(0);
        const std::string_view at = json::string_at(s, {"lastState", "terminated", "finishedAt"});
        if (at > last) {
            last = at;
        }
    });
    return restarts > 0 && !last.empty() ? fmt::format("{} ({} ago)", restarts, age(last, now))
                                         : std::to_string(restarts);
}

std::string pod_readiness_gates(const value& pod, wall_time) {
    const std::size_t all = size_at(pod, {"spec", "readinessGates"});
    if (all == 0) {
        return std::string(none_text);
    }
    int ready = 0;
    each(pod, {"spec", "readinessGates"}, [&](const value& gate) {
        ready += condition_is_true(pod, json::string_at(gate, {"conditionType"})) ? 1 : 0;
    });
    return fmt::format("{}/{}", ready, all);
}

std::string service_external_ip(const value& service, wall_time) {
    const std::string_view type = json::string_at(service, {"spec", "type"});
    if (type == "ExternalName") {
        return std::string(json::string_at(service, {"spec", "externalName"}));
    }
    return std::string(type == "LoadBalancer" ? std::string_view("<pending>") : none_text);
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
    return joined_labels(json::find_path(service, {"spec", "selector"}));
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
    std::string out;
    if (const value* labels = json::find_path(node, {"metadata", "labels"});
        labels != nullptr && labels->IsObject()) {
        for (const auto& m : labels->GetObject()) {
            const std::string_view key = json::view(m.name);
            if (key.substr(0, prefix.size()) == prefix) {
                out += (out.empty() ? "" : ",") + std::string(key.substr(prefix.size()));
            }
        }
    }
    return out.empty() ? std::string(none_text) : out;
}

std::string node_internal_ip(const value& node, wall_time) {
    std::string out(none_text);
    each(node, {"status", "addresses"}, [&out](const value& address) {
        if (json::string_at(address, {"type"}) == "InternalIP") {
            out = json::string_at(address, {"address"});
        }
    });
    return out;
}

std::string namespace_status(const value& ns, wall_time) {
    return std::string(json::string_at(ns, {"status", "phase"}));
}

std::string event_last_seen(const value& event, wall_time now) {
    if (const std::string_view at = json::string_at(event, {"series", "lastObservedTime"});
        !at.empty()) {
        return age(at, now);
    }
    return event_time(event, "lastTimestamp", now);
}

std::string event_first_seen(const value& event, wall_time now) {
    return event_time(event, "firstTimestamp", now);
}

std::string event_object(const value& event, wall_time) {
    const std::string kind = lower(json::string_at(event, {"involvedObject", "kind"}));
    return fmt::format("{}/{}", kind, json::string_at(event, {"involvedObject", "name"}));
}

std::string event_source(const value& event, wall_time) {
    const std::string_view component = json::string_at(event, {"source", "component"});
    const std::string_view host = json::string_at(event, {"source", "host"});
    if (component.empty()) {
        return std::string(json::string_at(event, {"reportingComponent"}));
    }
    return host.empty() ? std::string(component) : fmt::format("{}, {}", component, host);
}

std::string event_message(const value& event, wall_time) {
    return std::string(json::string_at(event, {"message"}));
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

std::string lease_holder(const value& lease, wall_time) {
    return std::string(json::string_at(lease, {"spec", "holderIdentity"}));
}

std::string account_secrets(const value& account, wall_time) {
    return std::to_string(size_at(account, {"secrets"}));
}

std::string claim_capacity(const value& claim, wall_time) {
    return std::string(json::string_at(claim, {"status", "capacity", "storage"}));
}

std::string claim_modes(const value& claim, wall_time) {
    std::string out;
    each(claim, {"status", "accessModes"}, [&out](const value& mode) {
        const std::string text = json::scalar_text(mode);
        out += (out.empty() ? "" : ",") + (text == "ReadWriteOnce"   ? std::string("RWO")
                                           : text == "ReadOnlyMany"  ? std::string("ROX")
                                           : text == "ReadWriteMany" ? std::string("RWX")
                                                                     : text);
    });
    return out;
}

}  // namespace signalbox::k8sio::server::rules::cells
