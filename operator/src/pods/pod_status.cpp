// SPDX-License-Identifier: Apache-2.0
#include "pods/pod_status.hpp"

#include <fmt/format.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

namespace signalbox::op::pods {

namespace {

constexpr int sigterm_code = 143;
constexpr int sigkill_code = 137;

void end(pod_report& r, const pod_facts& pod, const behaviour& does, int code, core::instant now) {
    r.state = containers_state::ended;
    r.ready = false;
    r.exit_code = code;
    r.finished = now;
    r.sidecars_run = pod.containers.size() > 1 && !does.sidecars_end;
    if (!r.sidecars_run) {
        r.phase = code == 0 ? "Succeeded" : "Failed";
    }
}

class patch_writer {
public:
    patch_writer(const pod_report& report, const pod_facts& pod, core::instant now)
        : r_(report), pod_(pod), now_(core::format_time(now)) {}

    std::string write() {
        out_.StartObject();
        out_.Key("metadata");
        out_.StartObject();
        field("uid", pod_.uid);
        out_.EndObject();
        out_.Key("status");
        out_.StartObject();
        field("phase", r_.phase);
        field_if("reason", r_.reason);
        field_if("message", r_.message);
        if (!r_.ip.empty()) {
            field("hostIP", "192.0.2.1");
            field("podIP", r_.ip);
        }
        if (r_.scheduled) {
            field("startTime", core::format_time(r_.accepted.value_or(core::instant{})));
        }
        conditions();
        statuses("initContainerStatuses", pod_.init_containers, true);
        statuses("containerStatuses", pod_.containers, false);
        out_.EndObject();
        out_.EndObject();
        return {buffer_.GetString(), buffer_.GetSize()};
    }

private:
    void field(const char* key, std::string_view value) {
        out_.Key(key);
        out_.String(value.data(), static_cast<rapidjson::SizeType>(value.size()));
    }
    void field_if(const char* key, std::string_view value) {
        if (!value.empty()) {
            field(key, value);
        }
    }
    void flag(const char* key, bool value) {
        out_.Key(key);
        out_.Bool(value);
    }

    void condition(
        const char* type, bool holds, std::string_view reason = {}, std::string_view message = {}
    ) {
        out_.StartObject();
        field("type", type);
        field("status", holds ? "True" : "False");
        field("lastTransitionTime", now_);
        field_if("reason", reason);
        field_if("message", message);
        out_.EndObject();
    }

    void conditions() {
        out_.Key("conditions");
        out_.StartArray();
        if (!r_.scheduled) {
            condition(
                "PodScheduled",
                false,
                "Unschedulable",
                "0/4 nodes are available: 4 Insufficient nvidia.com/gpu. (simulated)"
            );
        } else {
            condition("PodScheduled", true);
            condition("Initialized", r_.initialized);
            const char* why = r_.ready                              ? ""
                              : r_.state == containers_state::ended ? "PodCompleted"
                                                                    : "ContainersNotReady";
            condition("ContainersReady", r_.ready, why);
            condition("Ready", r_.ready, why);
        }
        if (!r_.disruption.empty()) {
            condition("DisruptionTarget", true, r_.disruption, r_.message);
        }
        out_.EndArray();
    }

    void statuses(const char* key, const std::vector<container_facts>& list, bool init) {
        if (list.empty() || !r_.scheduled) {
            return;
        }
        out_.Key(key);
        out_.StartArray();
        for (std::size_t i = 0; i < list.size(); ++i) {
            status(list[i], init, !init && i == pod_.training);
        }
        out_.EndArray();
    }

    void status(const container_facts& c, bool init, bool training) {
        out_.StartObject();
        field("name", c.name);
        field("image", c.image);
        field("imageID", "");
        out_.Key("restartCount");
        out_.Int(0);
        out_.Key("state");
        out_.StartObject();
        const bool runs = init ? init_state(c) : regular_state(training);
        out_.EndObject();
        flag("ready", runs && (init || r_.ready));
        flag("started", runs);
        out_.EndObject();
    }

    /// Writes the state; true if it is running.
    bool regular_state(bool training) {
        switch (r_.state) {
            case containers_state::waiting:
                return waiting("ContainerCreating");
            case containers_state::image_error:
                return waiting(training ? r_.exit_reason : "ContainerCreating", r_.exit_message);
            case containers_state::init:
                return waiting("PodInitializing");
            case containers_state::running:
                return running();
            case containers_state::ended:
                break;
        }
        if (r_.init_failed) {
            return waiting("PodInitializing");
        }
        if (!training && r_.sidecars_run) {
            return running();
        }
        return training ? terminated(r_.exit_code, r_.exit_reason, r_.exit_message)
                        : terminated(0, {}, {});
    }

    bool init_state(const container_facts& c) {
        switch (r_.state) {
            case containers_state::waiting:
            case containers_state::image_error:
                return waiting("PodInitializing");
            case containers_state::init:
                return running();
            case containers_state::running:
                return c.keeps_running ? running() : terminated(0, {}, {});
            case containers_state::ended:
                break;
        }
        return r_.init_failed ? terminated(r_.exit_code, r_.exit_reason, r_.exit_message)
                              : terminated(0, {}, {});
    }

    bool waiting(std::string_view reason, std::string_view message = {}) {
        out_.Key("waiting");
        out_.StartObject();
        field("reason", reason);
        field_if("message", message);
        out_.EndObject();
        return false;
    }

    bool running() {
        out_.Key("running");
        out_.StartObject();
        field("startedAt", core::format_time(r_.started.value_or(core::instant{})));
        out_.EndObject();
        return true;
    }

    bool terminated(int code, std::string_view reason, std::string_view message) {
        out_.Key("terminated");
        out_.StartObject();
        out_.Key("exitCode");
        out_.Int(code);
        field("reason", !reason.empty() ? reason : code == 0 ? "Completed" : "Error");
        field_if("message", message);
        if (r_.started) {
            field("startedAt", core::format_time(*r_.started));
        }
        field("finishedAt", r_.finished ? core::format_time(*r_.finished) : now_);
        out_.EndObject();
        return false;
    }

    const pod_report& r_;
    const pod_facts& pod_;
    std::string now_;
    rapidjson::StringBuffer buffer_;
    rapidjson::Writer<rapidjson::StringBuffer> out_{buffer_};
};

}  // namespace

void apply(
    pod_report& r, step what, const pod_facts& pod, const behaviour& does, core::instant now
) {
    if (r.scheduled && !r.accepted) {
        r.accepted = now;
    }
    switch (what) {
        case step::bind:
            r.scheduled = true;
            break;
        case step::no_node:
            r.scheduled = false;
            break;
        case step::image_error:
            r.state = containers_state::image_error;
            r.exit_reason = does.image_error;
            r.exit_message = "the image cannot be pulled (simulated)";
            break;
        case step::start_init:
            r.state = containers_state::init;
            r.started = now;
            break;
        case step::fail_init:
            r.init_failed = true;
            r.exit_reason.clear();
            r.exit_message = does.message;
            end(r, pod, does, does.init_exit_code, now);
            r.phase = "Failed";
            r.sidecars_run = false;
            break;
        case step::start:
        case step::start_unready:
            r.state = containers_state::running;
            r.phase = "Running";
            r.initialized = true;
            r.ready = what == step::start;
            r.started = now;
            r.exit_reason.clear();
            r.exit_message.clear();
            break;
        case step::become_ready:
            r.ready = true;
            break;
        case step::end:
            r.exit_reason = does.reason;
            r.exit_message = does.message;
            end(r, pod, does, does.exit_code, now);
            break;
        case step::end_oom:
            r.exit_reason = "OOMKilled";
            r.exit_message = does.message;
            end(r, pod, does, sigkill_code, now);
            break;
        case step::evict:
            r.reason = "Evicted";
            r.message = "The node was low on resource: memory. (simulated)";
            r.disruption = "TerminationByKubelet";
            end(r, pod, does, sigkill_code, now);
            r.phase = "Failed";
            r.sidecars_run = false;
            break;
        case step::preempt:
            r.disruption = "PreemptionByScheduler";
            r.message = "preempted by a pod of higher priority (simulated)";
            break;
        case step::lose_node:
            r.phase = "Unknown";
            r.reason = "NodeLost";
            r.ready = false;
            break;
        case step::finish_deletion:
            if (r.state == containers_state::running) {
                end(r, pod, does, sigterm_code, now);
            }
            r.sidecars_run = false;
            r.phase =
                r.state == containers_state::ended && r.exit_code == 0 ? "Succeeded" : "Failed";
            break;
        case step::remove:
        case step::vanish:
            break;
    }
}

std::string status_patch(const pod_report& report, const pod_facts& pod, core::instant now) {
    return patch_writer(report, pod, now).write();
}

}  // namespace signalbox::op::pods
