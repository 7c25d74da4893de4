// SPDX-License-Identifier: Apache-2.0
#include "kubelet/pod/pod_spec.hpp"

#include "kubelet/pod/quantity.hpp"
#include "kubelet/pod/security_context.hpp"
#include "pods/json_value.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

namespace signalbox::op::kubelet {

namespace {

using pods::flag;
using pods::for_each;
using pods::for_each_member;
using pods::json_value;
using pods::member;
using pods::text;
using pods::text_of;
using pods::text_or_number;
using pods::texts;
using pods::whole_number;

constexpr std::size_t host_name_limit = 63;

std::string copy(const json_value& object, const char* key) {
    return std::string(text(object, key));
}

string_map read_map(const json_value& object) {
    string_map out;
    for_each_member(object, [&](std::string_view key, const json_value& value) {
        out.emplace(key, text_or_number(value));
    });
    return out;
}

env_entry read_reference(const json_value& from) {
    env_entry out;
    if (const json_value& r = member(from, "fieldRef"); r.IsObject()) {
        out.from = env_entry::source::field;
        out.text = text(r, "fieldPath");
    } else if (const json_value& q = member(from, "resourceFieldRef"); q.IsObject()) {
        out.from = env_entry::source::resource;
        out.text = text(q, "resource");
        out.key = text_or_number(member(q, "divisor"));
        out.container = text(q, "containerName");
    }
    const auto object = [&](const char* key, env_entry::source source) {
        if (const json_value& o = member(from, key); o.IsObject()) {
            out.from = source;
            out.text = text(o, "name");
            out.key = text(o, "key");
            out.optional = flag(o, "optional");
        }
    };
    object("configMapKeyRef", env_entry::source::config_map);
    object("secretKeyRef", env_entry::source::secret);
    return out;
}

env_entry read_env(const json_value& entry) {
    const json_value& from = member(entry, "valueFrom");
    env_entry out = from.IsObject() ? read_reference(from) : env_entry();
    out.name = text(entry, "name");
    if (!from.IsObject()) {
        out.text = text(entry, "value");
    }
    return out;
}

env_from read_env_from(const json_value& entry) {
    env_from out;
    out.prefix = text(entry, "prefix");
    out.secret = member(entry, "secretRef").IsObject();
    const json_value& object = member(entry, out.secret ? "secretRef" : "configMapRef");
    out.name = text(object, "name");
    out.optional = flag(object, "optional");
    return out;
}

handler read_handler(const json_value& from) {
    handler out;
    if (!from.IsObject()) {
        return out;
    }
    const auto network = [&](const json_value& n, handler::kind kind) {
        out.what = kind;
        out.host = text(n, "host");
        out.port = text_or_number(member(n, "port"));
    };
    out.what = handler::kind::unknown;
    if (const json_value& e = member(from, "exec"); e.IsObject()) {
        out.what = handler::kind::exec;
        out.command = texts(member(e, "command"));
    } else if (const json_value& h = member(from, "httpGet"); h.IsObject()) {
        network(h, handler::kind::http);
        out.path = text(h, "path");
        out.scheme = text(h, "scheme");
        for_each(member(h, "httpHeaders"), [&](const json_value& header) {
            out.headers.emplace_back(text(header, "name"), text(header, "value"));
        });
    } else if (const json_value& t = member(from, "tcpSocket"); t.IsObject()) {
        network(t, handler::kind::tcp);
    } else if (const json_value& s = member(from, "sleep"); s.IsObject()) {
        out.what = handler::kind::sleep;
        out.duration = std::chrono::seconds(whole_number(s, "seconds").value_or(0));
    }
    return out;
}

std::optional<probe> read_probe(const json_value& from) {
    if (!from.IsObject()) {
        return std::nullopt;
    }
    probe out;
    out.how = read_handler(from);
    const auto time = [&](const char* key, std::chrono::seconds& to) {
        to = std::chrono::seconds(whole_number(from, key).value_or(to.count()));
    };
    time("initialDelaySeconds", out.initial_delay);
    time("periodSeconds", out.period);
    time("timeoutSeconds", out.timeout);
    const auto count = [&](const char* key, int& to) {
        to = static_cast<int>(whole_number(from, key).value_or(to));
    };
    count("successThreshold", out.successes);
    count("failureThreshold", out.failures);
    if (const auto grace = whole_number(from, "terminationGracePeriodSeconds")) {
        out.grace = std::chrono::seconds(*grace);
    }
    return out;
}

container_spec read_container(const json_value& c, const pod_spec& of, bool init) {
    container_spec out;
    out.name = text(c, "name");
    out.image = text(c, "image");
    out.init = init;
    out.sidecar = init && text(c, "restartPolicy") == "Always";
    out.command = texts(member(c, "command"));
    out.args = texts(member(c, "args"));
    out.working_dir = text(c, "workingDir");
    for_each(member(c, "env"), [&](const json_value& e) { out.env.push_back(read_env(e)); });
    for_each(member(c, "envFrom"), [&](const json_value& e) {
        out.env_from_objects.push_back(read_env_from(e));
    });
    for_each(member(c, "volumeMounts"), [&](const json_value& m) {
        out.mounts.push_back(
            {copy(m, "name"),
             copy(m, "mountPath"),
             copy(m, "subPath"),
             copy(m, "subPathExpr"),
             flag(m, "readOnly")}
        );
    });
    for_each(member(c, "ports"), [&](const json_value& p) {
        const auto port = static_cast<std::int32_t>(whole_number(p, "containerPort").value_or(0));
        out.ports.emplace_back(text(p, "name"), port);
        // On the node's network each port is one of the node.
        const auto of_node = whole_number(p, "hostPort").value_or(of.host_network ? port : 0);
        if (of_node > 0) {
            const std::string protocol = copy(p, "protocol");
            out.host_ports.push_back(
                fmt::format("{} {}", protocol.empty() ? "TCP" : protocol, of_node)
            );
        }
    });
    out.startup = read_probe(member(c, "startupProbe"));
    out.readiness = read_probe(member(c, "readinessProbe"));
    out.liveness = read_probe(member(c, "livenessProbe"));
    const json_value& hooks = member(c, "lifecycle");
    out.post_start = read_handler(member(hooks, "postStart"));
    out.pre_stop = read_handler(member(hooks, "preStop"));
    out.rights = read_security(member(c, "securityContext"), of.rights);
    out.limits = read_map(member(member(c, "resources"), "limits"));
    out.requests = read_map(member(member(c, "resources"), "requests"));
    if (const std::string_view path = text(c, "terminationMessagePath"); !path.empty()) {
        out.termination_path = path;
    }
    out.message_from_log = text(c, "terminationMessagePolicy") == "FallbackToLogsOnError";
    out.terminal = flag(c, "tty");
    out.input = flag(c, "stdin");
    return out;
}

std::optional<std::uint32_t> read_mode(const json_value& from, const char* key) {
    const auto mode = whole_number(from, key);
    return mode ? std::optional(static_cast<std::uint32_t>(*mode)) : std::nullopt;
}

/// A ConfigMap, Secret, downward API or token, as a volume or as a part of `projected`.
std::optional<file_source> read_files(const json_value& from) {
    struct known_source {
        const char* key;
        file_source::kind what;
        const char* name;
    };
    constexpr std::array<known_source, 4> known{{
        {"configMap", file_source::kind::config_map, "name"},
        {"secret", file_source::kind::secret, "secretName"},
        {"downwardAPI", file_source::kind::downward, "name"},
        {"serviceAccountToken", file_source::kind::token, "name"},
    }};
    for (const known_source& k : known) {
        const json_value& source = member(from, k.key);
        if (!source.IsObject()) {
            continue;
        }
        file_source out;
        out.what = k.what;
        // The Secret of a projected volume has `name`, that of a volume `secretName`.
        out.name = text(source, k.name);
        out.name = out.name.empty() ? copy(source, "name") : out.name;
        out.optional = flag(source, "optional");
        for_each(member(source, "items"), [&](const json_value& i) {
            out.items.push_back(
                {copy(i, "key"), copy(i, "path"), read_mode(i, "mode"), read_reference(i)}
            );
        });
        if (k.what == file_source::kind::token) {
            out.items.push_back({"", copy(source, "path"), std::nullopt, {}});
            out.audience = text(source, "audience");
        }
        return out;
    }
    return std::nullopt;
}

volume_spec read_volume(const json_value& v) {
    volume_spec out;
    out.name = text(v, "name");
    if (const json_value& e = member(v, "emptyDir"); e.IsObject()) {
        out.what =
            text(e, "medium") == "Memory" ? volume_spec::kind::memory : volume_spec::kind::empty;
        out.size_limit = bytes_of(text_or_number(member(e, "sizeLimit"))).value_or(0);
    } else if (const json_value& h = member(v, "hostPath"); h.IsObject()) {
        out.what = volume_spec::kind::host_path;
        out.path = text(h, "path");
        out.type = text(h, "type");
    } else if (const json_value& c = member(v, "persistentVolumeClaim"); c.IsObject()) {
        out.what = volume_spec::kind::claim;
        out.path = text(c, "claimName");
        out.read_only = flag(c, "readOnly");
    } else if (const json_value& p = member(v, "projected"); p.IsObject()) {
        out.what = volume_spec::kind::files;
        out.default_mode = read_mode(p, "defaultMode").value_or(out.default_mode);
        for_each(member(p, "sources"), [&](const json_value& s) {
            if (auto files = read_files(s)) {
                out.files.push_back(std::move(*files));
            }
        });
    } else if (auto files = read_files(v)) {
        out.what = volume_spec::kind::files;
        for_each_member(v, [&](std::string_view, const json_value& source) {
            out.default_mode = read_mode(source, "defaultMode").value_or(out.default_mode);
        });
        out.files.push_back(std::move(*files));
    } else {
        for_each_member(v, [&](std::string_view key, const json_value&) {
            out.path = key == "name" ? out.path : std::string(key);
        });
    }
    return out;
}

restart_policy read_restart(std::string_view policy) {
    return policy == "Never"       ? restart_policy::never
           : policy == "OnFailure" ? restart_policy::on_failure
                                   : restart_policy::always;
}

void read_network(const json_value& spec, pod_spec& out) {
    out.hostname = text(spec, "hostname");
    out.subdomain = text(spec, "subdomain");
    out.fqdn_as_hostname = flag(spec, "setHostnameAsFQDN");
    out.host_network = flag(spec, "hostNetwork");
    out.own_users = !flag(spec, "hostUsers", true);
    out.service_links = flag(spec, "enableServiceLinks", true);
    if (const std::string_view policy = text(spec, "dnsPolicy"); !policy.empty()) {
        out.dns_policy = policy;
    }
    const json_value& dns = member(spec, "dnsConfig");
    out.dns.servers = texts(member(dns, "nameservers"));
    out.dns.searches = texts(member(dns, "searches"));
    for_each(member(dns, "options"), [&](const json_value& o) {
        const std::string value = text_or_number(member(o, "value"));
        out.dns.options.push_back(copy(o, "name") + (value.empty() ? "" : ":" + value));
    });
    for_each(member(spec, "hostAliases"), [&](const json_value& a) {
        out.aliases.push_back({copy(a, "ip"), texts(member(a, "hostnames"))});
    });
}

void read_metadata(const json_value& metadata, pod_spec& out) {
    out.ns = text(metadata, "namespace");
    out.name = text(metadata, "name");
    out.uid = text(metadata, "uid");
    out.resource_version = text(metadata, "resourceVersion");
    out.labels = read_map(member(metadata, "labels"));
    out.annotations = read_map(member(metadata, "annotations"));
    out.deleting = !text(metadata, "deletionTimestamp").empty();
}

void read_spec(const json_value& spec, pod_spec& out) {
    out.node = text(spec, "nodeName");
    out.restart = read_restart(text(spec, "restartPolicy"));
    const auto seconds = [&](const char* key) {
        const auto n = whole_number(spec, key);
        return n ? std::optional(std::chrono::seconds(*n)) : std::nullopt;
    };
    out.grace = seconds("terminationGracePeriodSeconds").value_or(out.grace);
    out.deadline = seconds("activeDeadlineSeconds");
    read_network(spec, out);
    out.service_account = text(spec, "serviceAccountName");
    out.scheduler = text(spec, "schedulerName");
    out.node_selector = read_map(member(spec, "nodeSelector"));
    for_each(member(spec, "schedulingGates"), [&](const json_value& g) {
        out.gates.push_back(copy(g, "name"));
    });
    const json_value& rights = member(spec, "securityContext");
    out.rights = read_security(rights, {});
    std::ranges::move(unmet_sharing(spec), std::back_inserter(out.rights.unmet));
    out.fs_group = whole_number(rights, "fsGroup");
    for_each(member(rights, "supplementalGroups"), [&](const json_value& g) {
        if (g.IsInt64()) {
            out.groups.push_back(g.GetInt64());
        }
    });
    for_each(member(spec, "initContainers"), [&](const json_value& c) {
        out.containers.push_back(read_container(c, out, true));
    });
    for_each(member(spec, "containers"), [&](const json_value& c) {
        out.containers.push_back(read_container(c, out, false));
    });
    for_each(member(spec, "volumes"), [&](const json_value& v) {
        out.volumes.push_back(read_volume(v));
    });
}

former_container read_former(const json_value& status) {
    former_container out;
    out.name = text(status, "name");
    out.restarts = static_cast<int>(whole_number(status, "restartCount").value_or(0));
    const json_value& state = member(status, "state");
    if (member(state, "running").IsObject()) {
        out.was = former_container::state::running;
    } else if (const json_value& end = member(state, "terminated"); end.IsObject()) {
        out.was = former_container::state::terminated;
        out.exit_code = static_cast<int>(whole_number(end, "exitCode").value_or(0));
    }
    return out;
}

void read_reported(const json_value& status, pod_spec& out) {
    out.phase = text(status, "phase");
    out.address = text(status, "podIP");
    out.started = core::parse_time(text(status, "startTime"));
    for_each(member(status, "conditions"), [&](const json_value& c) {
        out.ready = out.ready || (text(c, "type") == "Ready" && text(c, "status") == "True");
    });
    for (const char* list : {"initContainerStatuses", "containerStatuses"}) {
        for_each(member(status, list), [&](const json_value& c) {
            out.former.push_back(read_former(c));
        });
    }
}

}  // namespace

std::optional<pod_spec> read_pod_spec(std::string_view json) {
    rapidjson::Document pod;
    pod.Parse<rapidjson::kParseIterativeFlag>(json.data(), json.size());
    if (pod.HasParseError() || !pod.IsObject()) {
        return std::nullopt;
    }
    pod_spec out;
    read_metadata(member(pod, "metadata"), out);
    if (out.name.empty() || out.uid.empty()) {
        return std::nullopt;
    }
    read_spec(member(pod, "spec"), out);
    read_reported(member(pod, "status"), out);
    const auto left = whole_number(member(pod, "metadata"), "deletionGracePeriodSeconds");
    out.grace = left ? std::chrono::seconds(*left) : out.grace;
    return out;
}

std::string host_name_of(const pod_spec& pod) {
    std::string out = pod.hostname.empty() ? pod.name : pod.hostname;
    out.resize(std::min(out.size(), host_name_limit));
    // As the kubelet cuts it: a host name does not end so.
    while (!out.empty() && (out.back() == '-' || out.back() == '.')) {
        out.pop_back();
    }
    return out;
}

std::string full_name_of(const pod_spec& pod) {
    return pod.subdomain.empty()
               ? std::string()
               : host_name_of(pod) + "." + pod.subdomain + "." + pod.ns + ".svc.cluster.local";
}

}  // namespace signalbox::op::kubelet
