// SPDX-License-Identifier: Apache-2.0
//
// Pods: the defaults that the real server adds, and the validation that clients run into.
#include "server/built_in/built_in_rules.hpp"
#include "server/built_in/typed_objects.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace signalbox::k8sio::server::rules {
namespace {

bool gated(const value& spec) {
    const value* gates = json::find(spec, "schedulingGates");
    return gates != nullptr && gates->IsArray() && !gates->Empty();
}

void default_probe(value& container, std::string_view key, arena& a) {
    value* probe = json::find(container, key);
    if (probe == nullptr || !probe->IsObject()) {
        return;
    }
    json::set_default(*probe, "timeoutSeconds", 1, a);
    json::set_default(*probe, "periodSeconds", 10, a);
    json::set_default(*probe, "successThreshold", 1, a);
    json::set_default(*probe, "failureThreshold", 3, a);
}

void default_container(value& container, arena& a) {
    json::set_default(container, "terminationMessagePath", "/dev/termination-log", a);
    json::set_default(container, "terminationMessagePolicy", "File", a);
    const std::string_view image = json::string_at(container, {"image"});
    const std::size_t colon = image.rfind(':');
    const bool latest = colon == std::string_view::npos ||
                        image.find('/', colon) != std::string_view::npos ||
                        image.substr(colon) == ":latest";
    const bool digest = image.find('@') != std::string_view::npos;
    json::set_default(
        container, "imagePullPolicy", latest && !digest ? "Always" : "IfNotPresent", a
    );
    json::object_at(container, "resources", a);
    if (value* ports = json::find(container, "ports"); ports != nullptr && ports->IsArray()) {
        for (value& port : ports->GetArray()) {
            if (port.IsObject()) {
                json::set_default(port, "protocol", "TCP", a);
            }
        }
    }
    for (const char* probe : {"livenessProbe", "readinessProbe", "startupProbe"}) {
        default_probe(container, probe, a);
    }
}

/// A limit without a request is a request of the same amount.
void default_requests(value& container, arena& a) {
    value& resources = json::object_at(container, "resources", a);
    if (const value* limits = json::find(resources, "limits"); limits && limits->IsObject()) {
        const value copied = json::copy(*limits, a);
        value& requests = json::object_at(resources, "requests", a);
        std::set<std::string, std::less<>> names;
        for (const auto& m : requests.GetObject()) {
            names.emplace(json::view(m.name));
        }
        for (const auto& m : copied.GetObject()) {
            if (names.emplace(json::view(m.name)).second) {
                requests.AddMember(json::copy(m.name, a), json::copy(m.value, a), a);
            }
        }
    }
}

template <class Function>
void each_container(const value& spec, Function f) {
    for (const char* list_name : {"initContainers", "containers"}) {
        const value* list = json::find(spec, list_name);
        if (list == nullptr || !list->IsArray()) {
            continue;
        }
        for (rapidjson::SizeType i = 0; i < list->Size(); ++i) {
            f(fmt::format("spec.{}[{}]", list_name, i), (*list)[i]);
        }
    }
}

/// What the admission plugin DefaultTolerationSeconds adds.
void default_tolerations(value& spec, arena& a) {
    if (json::find(spec, "tolerations") == nullptr) {
        json::set(spec, "tolerations", json::array(), a);
    }
    value& list = *json::find(spec, "tolerations");
    if (!list.IsArray()) {
        return;
    }
    for (const char* key : {"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"}) {
        const bool has = std::any_of(list.Begin(), list.End(), [key](const value& t) {
            const std::string_view own = json::string_at(t, {"key"});
            const std::string_view effect = json::string_at(t, {"effect"});
            return (own == key || own.empty()) && (effect == "NoExecute" || effect.empty());
        });
        if (!has) {
            value t = json::object();
            json::set(t, "key", key, a);
            json::set(t, "operator", "Exists", a);
            json::set(t, "effect", "NoExecute", a);
            json::set(t, "tolerationSeconds", value(300), a);
            list.PushBack(t, a);
        }
    }
}

/// Kubernetes' quality-of-service classes.
std::string_view qos_class(const value& spec) {
    bool any = false;
    bool guaranteed = true;
    each_container(spec, [&](const std::string&, const value& container) {
        const value* requests = json::find_path(container, {"resources", "requests"});
        const value* limits = json::find_path(container, {"resources", "limits"});
        for (const char* resource : {"cpu", "memory"}) {
            const value* r = requests == nullptr ? nullptr : json::find(*requests, resource);
            const value* l = limits == nullptr ? nullptr : json::find(*limits, resource);
            any = any || r != nullptr || l != nullptr;
            guaranteed = guaranteed && l != nullptr && (r == nullptr || *r == *l);
        }
    });
    return !any ? "BestEffort" : guaranteed ? "Guaranteed" : "Burstable";
}

constexpr std::string_view update_text =
    "pod updates may not change fields other than `spec.containers[*].image`,"
    "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only "
    "additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set "
    "to 1 if it was previously negative)";

/// `spec` with what an update may change taken from `from`.
value with_mutable_fields(const value& spec, const value& from, arena& a) {
    value out = json::copy(spec, a);
    for (const char* list_name : {"initContainers", "containers"}) {
        value* list = json::find(out, list_name);
        const value* other = json::find(from, list_name);
        if (list == nullptr || other == nullptr || !list->IsArray() || !other->IsArray() ||
            list->Size() != other->Size()) {
            continue;
        }
        for (rapidjson::SizeType i = 0; i < list->Size(); ++i) {
            if ((*list)[i].IsObject()) {
                json::set((*list)[i], "image", json::string_at((*other)[i], {"image"}), a);
            }
        }
    }
    for (const char* key : {"activeDeadlineSeconds", "tolerations", "schedulingGates"}) {
        const value* v = json::find(from, key);
        if (v == nullptr) {
            json::remove(out, key);
        } else {
            json::set(out, key, json::copy(*v, a), a);
        }
    }
    return out;
}

}  // namespace

namespace {

template <class Function>
void change_containers(value& spec, Function f) {
    for (const char* list_name : {"initContainers", "containers"}) {
        if (value* list = json::find(spec, list_name); list != nullptr && list->IsArray()) {
            for (value& container : list->GetArray()) {
                if (container.IsObject()) {
                    f(container);
                }
            }
        }
    }
}

}  // namespace

void default_template(value& object, arena& a) {
    value& spec = json::object_at(object, "spec", a);
    json::set_default(spec, "restartPolicy", "Always", a);
    json::set_default(spec, "dnsPolicy", "ClusterFirst", a);
    json::set_default(spec, "terminationGracePeriodSeconds", 30, a);
    json::set_default(spec, "schedulerName", "default-scheduler", a);
    json::object_at(spec, "securityContext", a);
    change_containers(spec, [&a](value& container) { default_container(container, a); });
}

void default_pod(value& pod, arena& a) {
    default_template(pod, a);
    value& spec = *json::find(pod, "spec");
    if (json::find(spec, "enableServiceLinks") == nullptr) {
        json::set(spec, "enableServiceLinks", value(true), a);
    }
    json::set_default(spec, "priority", 0, a);
    json::set_default(spec, "preemptionPolicy", "PreemptLowerPriority", a);
    default_tolerations(spec, a);
    change_containers(spec, [&a](value& container) { default_requests(container, a); });
    const bool is_gated = gated(spec);
    value& status = json::object_at(pod, "status", a);
    json::set_default(status, "phase", "Pending", a);
    if (is_gated && json::find(status, "conditions") == nullptr) {
        value waits = json::object();
        json::set(waits, "type", "PodScheduled", a);
        json::set(waits, "status", "False", a);
        json::set(waits, "reason", "SchedulingGated", a);
        json::set(waits, "message", "Scheduling is blocked due to non-empty scheduling gates", a);
        value conditions = json::array();
        conditions.PushBack(waits, a);
        json::set(status, "conditions", std::move(conditions), a);
    }
    if (json::find(status, "qosClass") == nullptr) {
        json::set(status, "qosClass", qos_class(json::object_at(pod, "spec", a)), a);
    }
}

void validate_pod(const value& pod, problems& list) {
    const value nothing = json::object();
    const value* spec = json::find(pod, "spec");
    validate_pod_spec(spec == nullptr ? nothing : *spec, "spec", list);
}

void validate_pod_update(const value& before, const value& after, problems& list) {
    const value* old = json::find(before, "spec");
    const value* next = json::find(after, "spec");
    if (old == nullptr || next == nullptr) {
        return;
    }
    arena a;
    value allowed = with_mutable_fields(*old, *next, a);
    if (gated(*old)) {
        // While gated, where the pod may run can still be narrowed; the narrowing is not checked.
        for (const char* key : {"nodeSelector", "affinity"}) {
            if (const value* v = json::find(*next, key)) {
                json::set(allowed, key, json::copy(*v, a), a);
            }
        }
    }
    if (!json::equal(allowed, *next)) {
        list.forbidden("spec", update_text);
    }
    const value* had = json::find(*old, "schedulingGates");
    const value* has = json::find(*next, "schedulingGates");
    if (has != nullptr && has->IsArray()) {
        for (const value& gate : has->GetArray()) {
            if (had == nullptr || !had->IsArray() ||
                std::find(had->Begin(), had->End(), gate) == had->End()) {
                list.forbidden(
                    "spec.schedulingGates",
                    fmt::format(
                        "only deletion is allowed, but found new scheduling gate '{}'",
                        json::string_at(gate, {"name"})
                    )
                );
            }
        }
    }
    const value* tolerated = json::find(*old, "tolerations");
    const value* tolerates = json::find(*next, "tolerations");
    if (tolerated != nullptr && tolerated->IsArray()) {
        for (const value& t : tolerated->GetArray()) {
            if (tolerates == nullptr || !tolerates->IsArray() ||
                std::find(tolerates->Begin(), tolerates->End(), t) == tolerates->End()) {
                list.forbidden(
                    "spec.tolerations",
                    "existing toleration can not be modified except its "
                    "tolerationSeconds"
                );
                break;
            }
        }
    }
}

}  // namespace signalbox::k8sio::server::rules
