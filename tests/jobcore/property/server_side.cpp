// SPDX-License-Identifier: Apache-2.0
#include "property/server_side.hpp"

#include "signalbox_test/jobcore_builders.hpp"

#include <stdexcept>

namespace signalbox::test {

using namespace core;

std::string accepted(std::string json, std::string_view uid, instant created, object_kind kind) {
    const std::string head = "\"metadata\":{";
    const std::size_t at = json.find(head);
    if (at == json.npos) {
        throw std::runtime_error("not an object that a server would take: " + json);
    }
    json.insert(
        at + head.size(),
        "\"uid\":" + quoted(uid) +
            ",\"resourceVersion\":\"1\",\"creationTimestamp\":" + quoted(format_time(created)) + ","
    );
    if (kind == object_kind::pod) {
        json.insert(json.size() - 1, R"(,"status":{"phase":"Pending"})");
    }
    return json;
}

bool has_ended(const pod_record& pod) {
    return pod.phase == pod_phase::succeeded || pod.phase == pod_phase::failed;
}

void start(pod_record& pod, instant at) {
    pod.scheduled = pod.ready = true;
    pod.unschedulable = false;
    pod.phase = pod_phase::running;
    for (container_record& c : pod.containers) {
        if (c.state != container_state::running) {
            c.state = container_state::running;
            c.reason = "";
            c.started = at;
        }
    }
}

void end(
    pod_record& pod,
    container_record& training,
    std::int32_t code,
    instant at,
    std::string_view message
) {
    training.state = container_state::terminated;
    training.exit_code = code;
    training.finished = at;
    training.reason = code == 0 ? "Completed" : code == 137 ? "OOMKilled" : "Error";
    training.message = message;
    pod.ready = false;
    pod.scheduled = true;
    pod.phase = code == 0 ? pod_phase::succeeded : pod_phase::failed;
}

void fail_without_code(pod_record& pod, std::string_view reason) {
    pod.phase = pod_phase::failed;
    pod.scheduled = true;
    pod.ready = false;
    pod.reason = reason;
    for (container_record& c : pod.containers) {
        c.state = container_state::waiting;
    }
}

void fail_init(pod_record& pod, instant at) {
    container_record init;
    init.name = "prepare";
    init.init = true;
    init.state = container_state::terminated;
    init.exit_code = 3;
    init.reason = "Error";
    init.finished = at;
    pod.containers.push_back(std::move(init));
    pod.scheduled = true;
    pod.phase = pod_phase::failed;
}

}  // namespace signalbox::test
