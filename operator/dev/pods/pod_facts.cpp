// SPDX-License-Identifier: Apache-2.0
#include "pods/pod_facts.hpp"

#include "pods/json_value.hpp"

#include <jobcore/labels.hpp>
#include <jobcore/strings.hpp>
#include <jobcore/time.hpp>

#include <rapidjson/document.h>

#include <algorithm>
#include <array>

namespace signalbox::op::pods {

namespace {

using Value = json_value;

std::int32_t number(std::string_view digits) {
    return core::read_whole_number(digits).value_or(0);
}

std::vector<container_facts> read_containers(const Value& list) {
    std::vector<container_facts> out;
    for_each(list, [&](const Value& c) {
        out.push_back(
            {std::string(text(c, "name")),
             std::string(text(c, "image")),
             text(c, "restartPolicy") == "Always"}
        );
    });
    return out;
}

/// BEHAVIOUR.md api 2.5, api 3.1, api 4.4 name the training container; a pod of anybody else has
/// its first one.
std::size_t training_container(const std::vector<container_facts>& containers) {
    for (const std::string_view name : {"pytorch", "python", "worker", "launcher"}) {
        const auto it = std::ranges::find(containers, name, &container_facts::name);
        if (it != containers.end()) {
            return static_cast<std::size_t>(it - containers.begin());
        }
    }
    return 0;
}

/// `sleep inf`, `sleep infinity`, `sshd -D`, alone or as the end of a shell line, and our bootstrap
/// where it becomes sshd or waits for a launch by hand.
bool command_idles(const Value& container) {
    std::string line;
    for (const char* part : {"command", "args"}) {
        for_each(member(container, part), [&](const Value& word) {
            if (word.IsString()) {
                line.append(" ").append(word.GetString(), word.GetStringLength());
            }
        });
    }
    constexpr std::array endings{
        std::string_view("sleep inf"),
        std::string_view("sleep infinity"),
        std::string_view("/bootstrap.sh worker"),
        std::string_view("/bootstrap.sh idle"),
    };
    const bool sleeps = std::ranges::any_of(endings, [&](std::string_view ending) {
        return line.ends_with(ending);
    });
    return sleeps ||
           (line.find("sshd") != std::string::npos && line.find(" -D") != std::string::npos);
}

void read_labels(const Value& labels, pod_facts& out) {
    out.job = text(labels, core::label::owner_name);
    out.job_uid = text(labels, core::label::job_uid);
    out.type = text(labels, core::label::replica_type);
    out.index = number(text(labels, core::label::replica_index));
    out.attempt = number(text(labels, core::label::attempt));
    out.round = number(text(labels, core::label::round));
}

void read_settings(const Value& annotations, pod_facts& out) {
    if (!annotations.IsObject()) {
        return;
    }
    for (const Value::Member& m : annotations.GetObject()) {
        const std::string_view key(m.name.GetString(), m.name.GetStringLength());
        if (key.starts_with(annotation_prefix) && m.value.IsString()) {
            out.settings.emplace_back(key.substr(annotation_prefix.size()), m.value.GetString());
        }
    }
    std::ranges::sort(out.settings);
}

void read_variables(const Value& container, pod_facts& out) {
    out.rank = out.index;
    for_each(member(container, "env"), [&](const Value& variable) {
        const std::string_view name = text(variable, "name");
        if (name == "KUBEFLOW_TRAINER_SERVER_URL") {
            out.reports_to = text(variable, "value");
        } else if (name == "RANK") {
            out.rank = number(text(variable, "value"));
        }
    });
}

void read_status(const Value& status, pod_facts& out) {
    out.phase = text(status, "phase");
    for_each(member(status, "containerStatuses"), [&](const Value& c) {
        const bool training = out.training < out.containers.size() &&
                              text(c, "name") == out.containers[out.training].name;
        const std::string_view at = text(member(member(c, "state"), "running"), "startedAt");
        if (const auto parsed = core::parse_time(at); training && parsed) {
            out.started = *parsed;
        }
    });
}

}  // namespace

std::optional<pod_facts> read_pod(std::string_view json) {
    rapidjson::Document pod;
    pod.Parse<rapidjson::kParseIterativeFlag>(json.data(), json.size());
    if (pod.HasParseError() || !pod.IsObject()) {
        return std::nullopt;
    }
    const Value& metadata = member(pod, "metadata");
    const Value& spec = member(pod, "spec");
    pod_facts out;
    out.ns = text(metadata, "namespace");
    out.name = text(metadata, "name");
    out.uid = text(metadata, "uid");
    if (out.name.empty() || out.uid.empty()) {
        return std::nullopt;
    }
    out.deleting = !text(metadata, "deletionTimestamp").empty();
    if (const Value& grace = member(metadata, "deletionGracePeriodSeconds"); grace.IsInt64()) {
        out.grace = std::chrono::seconds(grace.GetInt64());
    }
    out.node = text(spec, "nodeName");
    out.containers = read_containers(member(spec, "containers"));
    out.init_containers = read_containers(member(spec, "initContainers"));
    out.training = training_container(out.containers);
    read_labels(member(metadata, "labels"), out);
    read_settings(member(metadata, "annotations"), out);
    read_status(member(pod, "status"), out);
    if (const Value& list = member(spec, "containers"); list.IsArray() && !list.Empty()) {
        const Value& training = list[static_cast<rapidjson::SizeType>(out.training)];
        out.idles = command_idles(training);
        read_variables(training, out);
    }
    // A kubelet would start its containers again: a Deployment's pod does not end.
    out.idles = out.idles || text(spec, "restartPolicy") == "Always";
    return out;
}

}  // namespace signalbox::op::pods
