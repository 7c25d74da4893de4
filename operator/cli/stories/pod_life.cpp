// SPDX-License-Identifier: Apache-2.0
#include "cli/stories/pod_life.hpp"

#include <jobcore/strings.hpp>

#include <fmt/format.h>
#include <rapidjson/pointer.h>

#include <functional>

namespace signalbox::op::stories {

namespace {

std::string quoted_text(std::string_view text) {
    return core::json_string(text);
}

std::string condition(std::string_view type, std::string_view status, std::string_view more = "") {
    return fmt::format(R"({{"type":"{}","status":"{}"{}}})", type, status, more);
}

std::string conditions(std::string_view ready, const std::string& more = "") {
    return fmt::format(
        R"([{},{},{}{}{}])",
        condition("PodScheduled", "True"),
        condition("Initialized", "True"),
        condition("Ready", ready),
        more.empty() ? "" : ",",
        more
    );
}

/// A status of each container of the pod, with the state that `state_of` gives.
std::string containers(
    const json_value& pod,
    bool ready,
    const std::function<std::string(std::string_view name)>& state_of
) {
    std::string out;
    const json_value* list = rapidjson::Pointer("/spec/containers").Get(pod);
    if (list == nullptr || !list->IsArray()) {
        return "[]";
    }
    for (const json_value& container : list->GetArray()) {
        const json_value* name = rapidjson::Pointer("/name").Get(container);
        const std::string text(name == nullptr ? "" : text_of(*name));
        out += fmt::format(
            R"({}{{"name":{},"image":"","imageID":"","ready":{},"restartCount":0,"state":{}}})",
            out.empty() ? "" : ",",
            quoted_text(text),
            ready,
            state_of(text)
        );
    }
    return "[" + out + "]";
}

/// When the container started; null if it does not run.
const json_value* started_at(const json_value& pod, std::string_view container) {
    const json_value* list = rapidjson::Pointer("/status/containerStatuses").Get(pod);
    if (list == nullptr || !list->IsArray()) {
        return nullptr;
    }
    for (const json_value& status : list->GetArray()) {
        const json_value* name = rapidjson::Pointer("/name").Get(status);
        if (name != nullptr && text_of(*name) == container) {
            return rapidjson::Pointer("/state/running/startedAt").Get(status);
        }
    }
    return nullptr;
}

}  // namespace

std::string pod_started(std::string_view pod_json, core::instant now) {
    const rapidjson::Document pod = parsed(pod_json);
    const std::string since = quoted_text(core::format_time(now));
    return fmt::format(
        R"({{"status":{{"phase":"Running","startTime":{},"conditions":{},"containerStatuses":{}}}}})",
        since,
        conditions("True"),
        containers(
            pod,
            true,
            [&](std::string_view) {
                return fmt::format(R"({{"running":{{"startedAt":{}}}}})", since);
            }
        )
    );
}

std::string pod_ended(std::string_view pod_json, const pod_end& end, core::instant now) {
    const rapidjson::Document pod = parsed(pod_json);
    const bool well = end.code == 0;
    const std::string reason = !end.reason.empty() ? end.reason : well ? "Completed" : "Error";
    const std::string at = quoted_text(core::format_time(now));
    const std::string message =
        end.message.empty() ? "" : fmt::format(R"(,"message":{})", quoted_text(end.message));
    const std::string target =
        end.evicted ? condition("DisruptionTarget", "True", R"(,"reason":"EvictionByEvictionAPI")")
                    : "";
    return fmt::format(
        R"({{"status":{{"phase":"{}","conditions":{},"containerStatuses":{}}}}})",
        well ? "Succeeded" : "Failed",
        conditions("False", target),
        containers(
            pod,
            false,
            [&](std::string_view name) {
                const json_value* since = started_at(pod, name);
                return fmt::format(
                    R"({{"terminated":{{"exitCode":{},"reason":{},"startedAt":{},"finishedAt":{}{}}}}})",
                    end.code,
                    quoted_text(reason),
                    since == nullptr ? at : json_text(*since),
                    at,
                    message
                );
            }
        )
    );
}

std::string pod_cannot_start(
    std::string_view pod_json, std::string_view reason, std::string_view message
) {
    const rapidjson::Document pod = parsed(pod_json);
    return fmt::format(
        R"({{"status":{{"phase":"Pending","conditions":{},"containerStatuses":{}}}}})",
        conditions("False"),
        containers(
            pod,
            false,
            [&](std::string_view) {
                return fmt::format(
                    R"({{"waiting":{{"reason":{},"message":{}}}}})",
                    quoted_text(reason),
                    quoted_text(message)
                );
            }
        )
    );
}

std::string pod_unschedulable(std::string_view message) {
    const std::string more =
        fmt::format(R"(,"reason":"Unschedulable","message":{})", quoted_text(message));
    return fmt::format(
        R"({{"status":{{"phase":"Pending","conditions":[{}]}}}})",
        condition("PodScheduled", "False", more)
    );
}

std::string pod_unready() {
    return fmt::format(R"({{"status":{{"conditions":{}}}}})", conditions("False"));
}

std::string pod_tainted() {
    const std::string target =
        condition("DisruptionTarget", "True", R"(,"reason":"DeletionByTaintManager")");
    return fmt::format(R"({{"status":{{"conditions":{}}}}})", conditions("False", target));
}

}  // namespace signalbox::op::stories
