// SPDX-License-Identifier: Apache-2.0
#include "kubelet/pod/environment.hpp"

#include "kubelet/pod/quantity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

namespace signalbox::op::kubelet {

namespace {

refusal bad_config(std::string message) {
    return {"CreateContainerConfigError", std::move(message)};
}

const string_map* find_object(
    const std::map<std::string, string_map>& in, const std::string& name
) {
    const auto it = in.find(name);
    return it == in.end() ? nullptr : &it->second;
}

/// `my-svc` as `MY_SVC`.
std::string variable_name(std::string_view text) {
    std::string out(text);
    for (char& c : out) {
        c = c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    }
    return out;
}

void set_variable(variables& in, std::string name, std::string value) {
    const auto it = std::ranges::find(in, name, &variables::value_type::first);
    if (it == in.end()) {
        in.emplace_back(std::move(name), std::move(value));
    } else {
        it->second = std::move(value);
    }
}

/// `metadata.labels['x']` with `start` = `metadata.labels[`: gives `x`.
std::optional<std::string> subscript(std::string_view path, std::string_view start) {
    if (!path.starts_with(start) || !path.ends_with("']") || path.size() < start.size() + 3) {
        return std::nullopt;
    }
    path.remove_prefix(start.size() + 1);
    path.remove_suffix(2);
    return std::string(path);
}

std::string at_key(const string_map& in, const std::string& key) {
    const auto it = in.find(key);
    return it == in.end() ? std::string() : it->second;
}

/// As the downward API writes all labels: sorted `key="value"` lines.
std::string map_text(const string_map& of) {
    std::string out;
    for (const auto& [key, value] : of) {
        std::string quoted;
        for (const char c : value) {
            quoted += c == '"'    ? "\\\""
                      : c == '\\' ? "\\\\"
                      : c == '\n' ? "\\n"
                                  : std::string(1, c);
        }
        out += fmt::format("{}{}=\"{}\"", out.empty() ? "" : "\n", key, quoted);
    }
    return out;
}

/// Nothing: the variable is left out, as it is optional.
outcome<std::optional<std::string>> key_value(
    const env_entry& e, const pod_spec& pod, const object_data& objects
) {
    const bool secret = e.from == env_entry::source::secret;
    const string_map* data = secret ? objects.secret(e.text) : objects.config_map(e.text);
    if (data == nullptr) {
        return e.optional ? outcome<std::optional<std::string>>(std::nullopt)
                          : bad_config(fmt::format(
                                "{} \"{}\" not found", secret ? "secret" : "configmap", e.text
                            ));
    }
    const auto it = data->find(e.key);
    if (it != data->end()) {
        return std::optional<std::string>(it->second);
    }
    return e.optional ? outcome<std::optional<std::string>>(std::nullopt)
                      : bad_config(fmt::format(
                            "couldn't find key {} in {} {}/{}",
                            e.key,
                            secret ? "Secret" : "ConfigMap",
                            pod.ns,
                            e.text
                        ));
}

outcome<void> add_object(const env_from& from, const object_data& objects, variables& out) {
    const string_map* data =
        from.secret ? objects.secret(from.name) : objects.config_map(from.name);
    if (data == nullptr && !from.optional) {
        return bad_config(
            fmt::format("{} \"{}\" not found", from.secret ? "secret" : "configmap", from.name)
        );
    }
    if (data != nullptr) {
        for (const auto& [key, value] : *data) {
            set_variable(out, from.prefix + key, value);
        }
    }
    return outcome<void>();
}

void add_link(const service_entry& s, variables& out) {
    const std::string name = variable_name(s.name);
    const auto add = [&](const std::string& suffix, std::string value) {
        set_variable(out, name + suffix, std::move(value));
    };
    add("_SERVICE_HOST", s.address);
    add("_SERVICE_PORT", std::to_string(s.ports.front().number));
    for (const auto& port : s.ports) {
        if (!port.name.empty()) {
            add("_SERVICE_PORT_" + variable_name(port.name), std::to_string(port.number));
        }
    }
    bool first = true;
    for (const auto& port : s.ports) {
        std::string protocol = port.protocol.empty() ? "TCP" : port.protocol;
        std::string lower = protocol;
        std::ranges::transform(lower, lower.begin(), [](unsigned char c) {
            return static_cast<char>(std::tolower(c));
        });
        const std::string url = fmt::format("{}://{}:{}", lower, s.address, port.number);
        const std::string prefix = fmt::format("_PORT_{}_{}", port.number, protocol);
        if (first) {
            add("_PORT", url);
            first = false;
        }
        add(prefix, url);
        add(prefix + "_PROTO", lower);
        add(prefix + "_PORT", std::to_string(port.number));
        add(prefix + "_ADDR", s.address);
    }
}

void add_once(std::vector<std::string>& to, const std::string& name) {
    if (std::ranges::find(to, name) == to.end()) {
        to.push_back(name);
    }
}

}  // namespace

const string_map* object_data::config_map(const std::string& name) const {
    return find_object(config_maps, name);
}
const string_map* object_data::secret(const std::string& name) const {
    return find_object(secrets, name);
}

std::string expand(std::string_view text, const variable_lookup& find) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char next = i + 1 < text.size() ? text[i + 1] : '\0';
        if (text[i] != '$' || (next != '$' && next != '(')) {
            out += text[i];
            continue;
        }
        ++i;
        if (next == '$') {
            out += '$';
            continue;
        }
        const std::size_t end = text.find(')', i);
        if (end == std::string_view::npos) {
            out += "$(";
            continue;
        }
        const std::string_view name = text.substr(i + 1, end - i - 1);
        const std::string* value = find(name);
        out += value != nullptr ? *value : fmt::format("$({})", name);
        i = end;
    }
    return out;
}

std::string expand(std::string_view text, const variables& in) {
    return expand(text, [&](std::string_view name) -> const std::string* {
        const auto it = std::ranges::find(in, name, &variables::value_type::first);
        return it == in.end() ? nullptr : &it->second;
    });
}

variables service_variables(const std::vector<service_entry>& services) {
    variables out;
    for (const service_entry& s : services) {
        // As a kubelet: none for a Service without an address of its own.
        if (!s.address.empty() && s.address != "None" && !s.ports.empty()) {
            add_link(s, out);
        }
    }
    return out;
}

outcome<std::string> field_value(
    std::string_view path, const pod_spec& pod, const pod_place& place
) {
    if (const auto key = subscript(path, "metadata.labels[")) {
        return at_key(pod.labels, *key);
    }
    if (const auto key = subscript(path, "metadata.annotations[")) {
        return at_key(pod.annotations, *key);
    }
    const std::array<std::pair<std::string_view, std::string_view>, 9> fields{{
        {"metadata.name", pod.name},
        {"metadata.namespace", pod.ns},
        {"metadata.uid", pod.uid},
        {"spec.nodeName", place.node},
        {"spec.serviceAccountName", pod.service_account},
        {"status.hostIP", place.host_address},
        {"status.hostIPs", place.host_address},
        {"status.podIP", place.pod_address},
        {"status.podIPs", place.pod_address},
    }};
    for (const auto& [name, value] : fields) {
        if (path == name) {
            return std::string(value);
        }
    }
    if (path == "metadata.labels" || path == "metadata.annotations") {
        return map_text(path == "metadata.labels" ? pod.labels : pod.annotations);
    }
    return bad_config(fmt::format("unsupported fieldPath: {}", path));
}

outcome<std::string> resource_value(
    const env_entry& from,
    const container_spec& otherwise,
    const pod_spec& pod,
    const pod_place& place
) {
    const container_spec* of = &otherwise;
    if (!from.container.empty()) {
        const auto it = std::ranges::find(pod.containers, from.container, &container_spec::name);
        if (it == pod.containers.end()) {
            return bad_config(fmt::format("container {} not found", from.container));
        }
        of = &*it;
    }
    const bool limit = from.text.starts_with("limits.");
    if (!limit && !from.text.starts_with("requests.")) {
        return bad_config(fmt::format("unsupported container resource : {}", from.text));
    }
    const std::string resource = from.text.substr(from.text.find('.') + 1);
    // What has no limit may use all of the node; without a request the limit is one.
    std::uint64_t amount = 0;
    const auto written = [&](const string_map& in) {
        const auto n = thousandths_of(at_key(in, resource));
        amount = n.value_or(amount);
        return n.has_value();
    };
    const bool found = (!limit && written(of->requests)) || written(of->limits);
    if (!found && limit && resource == "cpu") {
        amount = place.milli_cpus;
    } else if (!found && limit && resource == "memory") {
        amount = place.memory * 1000;
    }
    const std::uint64_t divisor = thousandths_of(from.key).value_or(0);
    const std::uint64_t unit = divisor == 0 ? 1000 : divisor;
    return std::to_string(amount / unit + (amount % unit != 0 ? 1U : 0U));
}

outcome<variables> environment_of(
    const container_spec& of,
    const pod_spec& pod,
    const pod_place& place,
    const std::vector<service_entry>& services,
    const object_data& objects
) {
    variables out;
    for (const env_from& from : of.env_from_objects) {
        if (const auto added = add_object(from, objects, out); added.has_error()) {
            return added.error();
        }
    }
    const variables links = pod.service_links ? service_variables(services) : variables();
    const variable_lookup find = [&](std::string_view name) -> const std::string* {
        for (const variables* in : {&std::as_const(out), &links}) {
            const auto it = std::ranges::find(*in, name, &variables::value_type::first);
            if (it != in->end()) {
                return &it->second;
            }
        }
        return nullptr;
    };
    for (const env_entry& e : of.env) {
        outcome<std::optional<std::string>> value = std::optional<std::string>();
        switch (e.from) {
            case env_entry::source::value:
                value = std::optional<std::string>(expand(e.text, find));
                break;
            case env_entry::source::config_map:
            case env_entry::source::secret:
                value = key_value(e, pod, objects);
                break;
            case env_entry::source::field:
            case env_entry::source::resource: {
                auto own = e.from == env_entry::source::field ? field_value(e.text, pod, place)
                                                              : resource_value(e, of, pod, place);
                if (own.has_error()) {
                    return own.error();
                }
                value = std::optional<std::string>(std::move(*own));
                break;
            }
        }
        if (value.has_error()) {
            return value.error();
        }
        if (value->has_value()) {
            set_variable(out, e.name, **value);
        }
    }
    for (const auto& [name, value] : links) {
        if (std::ranges::find(out, name, &variables::value_type::first) == out.end()) {
            out.emplace_back(name, value);
        }
    }
    return out;
}

void add_references(const container_spec& of, object_names& to) {
    for (const env_from& from : of.env_from_objects) {
        add_once(from.secret ? to.secrets : to.config_maps, from.name);
    }
    for (const env_entry& e : of.env) {
        if (e.from == env_entry::source::secret) {
            add_once(to.secrets, e.text);
        } else if (e.from == env_entry::source::config_map) {
            add_once(to.config_maps, e.text);
        }
    }
}

void add_references(const volume_spec& of, object_names& to) {
    for (const file_source& f : of.files) {
        if (f.what == file_source::kind::secret) {
            add_once(to.secrets, f.name);
        } else if (f.what == file_source::kind::config_map) {
            add_once(to.config_maps, f.name);
        }
    }
}

}  // namespace signalbox::op::kubelet
