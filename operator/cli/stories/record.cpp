// SPDX-License-Identifier: Apache-2.0
#include "cli/stories/record.hpp"

#include "cli/stories/cluster.hpp"
#include "manifests/json_edit.hpp"
#include "manifests/stored_object.hpp"
#include "manifests/yaml_writer.hpp"

#include <jobcore/strings.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace signalbox::op::stories {

namespace {

/// A story repeats no more incidents than this.
constexpr std::int32_t most_incidents = 20;

/// What a server added, and the status.
std::string as_written(const std::string& job) {
    return manifests::without(
        manifests::without_server_metadata(job),
        {"/status",
         "/metadata/namespace",
         "/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration"}
    );
}

std::string indented(std::string_view yaml) {
    std::string out;
    while (!yaml.empty()) {
        const std::size_t end = std::min(yaml.find('\n'), yaml.size());
        out += end == 0 ? "\n" : fmt::format("  {}\n", yaml.substr(0, end));
        yaml.remove_prefix(std::min(end + 1, yaml.size()));
    }
    return out;
}

/// `worker-1` of `mnist-40c14-worker-1`, with or without the suffix of a renamed pod; empty if no
/// type of the job fits.
std::string replica_in(std::string_view pod, const core::job_plan& plan) {
    for (const core::type_plan& type : plan.types) {
        const std::string middle = fmt::format("-{}-", type.name);
        const std::size_t at = pod.rfind(middle);
        if (at == std::string_view::npos) {
            continue;
        }
        const std::string_view rest = pod.substr(at + middle.size());
        const std::string_view index = rest.substr(0, rest.find('-'));
        if (core::read_whole_number(index)) {
            return fmt::format("{}-{}", type.name, index);
        }
    }
    return {};
}

std::string list_of(std::vector<std::string> replicas) {
    std::ranges::sort(replicas);
    return fmt::format("[{}]", fmt::join(replicas, ", "));
}

class story_writer {
public:
    explicit story_writer(const cli::recorded_job& recorded)
        : r_(recorded), status_(recorded.job.status) {}

    std::string write() {
        out_ = fmt::format(
            "---\n"
            "# From a recording. What happened is what its status still tells: put it right, and "
            "let\n"
            "# `signalbox test --update` write what the operator does.\n"
            "apiVersion: {}\nkind: {}\nstory: {}\njob:\n{}",
            story_version,
            story_kind,
            core::json_string(fmt::format("{} as it was recorded", r_.job.meta.name)),
            indented(manifests::to_yaml(as_written(r_.json)))
        );
        if (!all_started()) {
            out_ += "settings:\n  startAfter: never\n";
        }
        out_ += "steps:\n";
        if (r_.job.compiled->plan) {
            incidents();
            present();
        }
        expect();
        return std::move(out_);
    }

private:
    const core::job_plan& plan() const { return *r_.job.compiled->plan; }

    bool is_present(const core::pod_record& pod) const {
        return pod.attempt == status_.attempt && pod.index >= 0;
    }

    bool all_started() const {
        return std::ranges::none_of(r_.pods, [&](const core::pod_record& pod) {
            return is_present(pod) && pod.phase == core::pod_phase::pending;
        });
    }

    std::vector<std::string> all_replicas() const {
        std::vector<std::string> out;
        for (const core::type_plan& type : plan().types) {
            for (std::int32_t i = 0; i < type.wanted; ++i) {
                out.push_back(fmt::format("{}-{}", type.name, i));
            }
        }
        return out;
    }

    void run() {
        out_ += all_started() ? "- run\n" : fmt::format("- starts: {}\n", list_of(all_replicas()));
    }

    /// The last one is known; those before were like it, as far as anybody knows.
    void incidents() {
        const auto& last = status_.restarts.last;
        if (!last) {
            return;
        }
        std::vector<std::string> lost;
        for (const core::incident_pod& pod : last->pods) {
            if (std::string replica = replica_in(pod.name, plan()); !replica.empty()) {
                lost.push_back(std::move(replica));
            }
        }
        if (lost.empty()) {
            lost.push_back(all_replicas().front());
        }
        const std::string free = fmt::format("- evicted: {}\n", list_of(lost));
        const std::int32_t disruptions = std::min(status_.restarts.disruptions, most_incidents);
        const std::int32_t failures = std::min(status_.backoff_count, most_incidents);
        repeat(last->counted ? disruptions : failures, last->counted ? free : failure(*last, lost));
        repeat(last->counted ? failures : disruptions, last->counted ? failure(*last, lost) : free);
    }

    static std::string failure(
        const core::incident_record& last, const std::vector<std::string>& lost
    ) {
        std::int32_t code = 1;
        for (const core::incident_pod& pod : last.pods) {
            code = pod.exit_code.value_or(0) > 0 ? *pod.exit_code : code;
        }
        const std::string message =
            last.message.empty() ? "" : ", message: " + core::json_string(last.message);
        return fmt::format("- fails: {{pod: {}, code: {}{}}}\n", list_of(lost), code, message);
    }

    void repeat(std::int32_t times, const std::string& step) {
        for (std::int32_t i = 0; i < times; ++i) {
            run();
            out_ += step;
        }
    }

    /// What became of the pods that there are.
    void present() {
        std::vector<std::string> running;
        std::string ends;
        for (const core::pod_record& pod : r_.pods) {
            const std::string replica = replica_of(pod);
            if (!is_present(pod) || replica.empty()) {
                continue;
            }
            if (pod.phase != core::pod_phase::pending) {
                running.push_back(replica);
            }
            ends += end_of(pod, replica);
        }
        if (!all_started()) {
            out_ += running.empty() ? "" : fmt::format("- starts: {}\n", list_of(running));
        } else if (!running.empty()) {
            out_ += "- run\n";
        }
        out_ += ends;
    }

    static std::string end_of(const core::pod_record& pod, const std::string& replica) {
        if (pod.phase == core::pod_phase::succeeded) {
            return fmt::format("- succeeds: {}\n", replica);
        }
        for (const core::container_record& c : pod.containers) {
            const std::string_view reason = c.reason;
            if (pod.phase == core::pod_phase::failed && c.exit_code > 0) {
                const std::string_view message = c.message;
                return fmt::format(
                    "- fails: {{pod: {}, code: {}{}{}}}\n",
                    replica,
                    c.exit_code,
                    reason.empty() ? "" : fmt::format(", reason: {}", core::json_string(reason)),
                    message.empty() ? "" : fmt::format(", message: {}", core::json_string(message))
                );
            }
            if (pod.phase == core::pod_phase::pending && !reason.empty() &&
                reason != "ContainerCreating" && reason != "PodInitializing") {
                return fmt::format(
                    "- cannotStart: {{pod: {}, reason: {}}}\n", replica, core::json_string(reason)
                );
            }
        }
        return pod.unschedulable ? fmt::format("- unschedulable: {}\n", replica) : "";
    }

    void expect() {
        out_ += fmt::format(
            "- expect:\n    within: 1m\n    phase: {}\n",
            status_.phase == core::job_phase::none ? "\"\"" : core::to_string(status_.phase)
        );
        if (!status_.reason.empty()) {
            out_ += fmt::format("    reason: {}\n", status_.reason);
        }
        out_ += fmt::format(
            "    retries: {}\n    attempt: {}\n", status_.backoff_count, status_.attempt
        );
    }

    const cli::recorded_job& r_;
    const core::job_status& status_;
    std::string out_;
};

}  // namespace

std::string story_of(const cli::recorded_job& recorded) {
    return story_writer(recorded).write();
}

}  // namespace signalbox::op::stories
