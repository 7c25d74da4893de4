// SPDX-License-Identifier: Apache-2.0
#include "server/verbs/pod_requests.hpp"

#include "protocol/http_date.hpp"
#include "server/kinds/refusals.hpp"
#include "server/values/problems.hpp"
#include "server/values/text.hpp"
#include "server/verbs/front.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace signalbox::k8sio::server {
namespace {

/// As the real server reads a bool of a query: what is there and does not deny it.
bool is_wanted(const api_request& request, std::string_view name) {
    const std::string text = lower(request.param(name));
    return request.query.count(std::string(name)) != 0 && text != "0" && text != "false";
}

/// A number of the query, if it is there.
outcome<std::optional<std::int64_t>> read_number(const api_request& request, const char* name) {
    if (request.param(name).empty()) {
        return std::optional<std::int64_t>();
    }
    const auto number = request.number(name);
    if (!number) {
        return bad_request(
            fmt::format("strconv.ParseInt: parsing {}: invalid syntax", quoted(request.param(name)))
        );
    }
    return number;
}

void check_minimum(
    std::optional<std::int64_t> number,
    std::int64_t least,
    const char* field,
    std::string_view detail,
    problems& list
) {
    if (number && *number < least) {
        list.invalid(field, json::value(*number), detail);
    }
}

/// Now, less a number of seconds; nothing if that is before all times.
std::optional<wall_time> seconds_before(wall_time now, std::int64_t seconds) {
    const auto since_begin =
        std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch());
    return seconds < since_begin.count() ? std::optional(now - std::chrono::seconds{seconds})
                                         : std::nullopt;
}

std::vector<std::string> container_names(const json::value& pod) {
    std::vector<std::string> names;
    for (const char* list : {"initContainers", "containers", "ephemeralContainers"}) {
        const json::value* all = json::find_path(pod, {"spec", list});
        if (all == nullptr || !all->IsArray()) {
            continue;
        }
        for (const json::value& each : all->GetArray()) {
            names.emplace_back(json::string_at(each, {"name"}));
        }
    }
    return names;
}

}  // namespace

outcome<log_request> read_log_options(
    const api_request& request, const std::string& name, wall_time now
) {
    log_request out;
    const auto tail = read_number(request, "tailLines");
    const auto limit = read_number(request, "limitBytes");
    const auto seconds = read_number(request, "sinceSeconds");
    for (const auto* each : {&tail, &limit, &seconds}) {
        if (each->has_error()) {
            return each->error();
        }
    }
    const std::string_view since = request.param("sinceTime");
    if (!since.empty()) {
        out.options.since = protocol::parse_api_time(since);
        if (!out.options.since) {
            return bad_request(fmt::format(
                "parsing time {0} as \"2006-01-02T15:04:05Z07:00\": cannot parse {0}", quoted(since)
            ));
        }
    }
    problems list;
    check_minimum(*tail, 0, "tailLines", "must be greater than or equal to 0", list);
    check_minimum(*limit, 1, "limitBytes", "must be greater than 0", list);
    if (*seconds && out.options.since) {
        list.forbidden("", "at most one of `sinceTime` or `sinceSeconds` may be specified");
    } else {
        check_minimum(*seconds, 1, "sinceSeconds", "must be greater than 0", list);
    }
    if (!list.empty()) {
        kind_info kind = options_kind("PodLogOptions");
        kind.group.clear();
        return invalid(kind, name, list);
    }
    if (*seconds) {
        out.options.since = seconds_before(now, **seconds);
    }
    out.options.follow = is_wanted(request, "follow");
    out.options.previous = is_wanted(request, "previous");
    out.options.timestamps = is_wanted(request, "timestamps");
    out.options.tail_lines = *tail;
    out.limit_bytes = *limit;
    return out;
}

outcome<process_options> read_process_options(const api_request& request) {
    process_options out;
    out.command = request.params("command");
    out.in = is_wanted(request, "stdin");
    out.out = is_wanted(request, "stdout");
    out.tty = is_wanted(request, "tty");
    // A terminal has one output; the kubelet drops the other one too, and says nothing.
    out.err = is_wanted(request, "stderr") && !out.tty;
    if (!out.in && !out.out && !out.err) {
        return bad_request("you must specify at least 1 of stdin, stdout, stderr");
    }
    return out;
}

outcome<std::string> choose_container(const api_request& request, const json::value& pod) {
    const std::string asked(request.param("container"));
    const std::string_view name = json::string_at(pod, {"metadata", "name"});
    const std::vector<std::string> names = container_names(pod);
    if (!asked.empty()) {
        if (std::find(names.begin(), names.end(), asked) == names.end()) {
            return bad_request(fmt::format("container {} is not valid for pod {}", asked, name));
        }
        return asked;
    }
    const json::value* containers = json::find_path(pod, {"spec", "containers"});
    if (containers != nullptr && containers->IsArray() && containers->Size() == 1) {
        return std::string(json::string_at((*containers)[0], {"name"}));
    }
    std::string choice;
    for (const std::string& each : names) {
        choice += (choice.empty() ? "" : " ") + each;
    }
    return bad_request(fmt::format(
        "a container name must be specified for pod {}, choose one of: [{}]", name, choice
    ));
}

}  // namespace signalbox::k8sio::server
