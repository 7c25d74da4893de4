// SPDX-License-Identifier: Apache-2.0
//
// What there is at one moment of a story.
#include "cli/log_lines.hpp"
#include "cli/stories/expectations.hpp"

#include <jobcore/decide.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace signalbox::op::stories {

namespace {

/// Of two pods of a replica the one that is meant.
bool is_newer(const core::pod_record& a, const core::pod_record& b) {
    const auto order = [](const core::pod_record& pod) {
        const core::instant made = pod.creation.value_or(core::instant());
        return std::tuple(pod.attempt, pod.round, made, std::string_view(pod.name));
    };
    return order(a) > order(b);
}

}  // namespace

std::string replica_of(const core::pod_record& pod) {
    return pod.type.empty() || pod.index < 0 ? "" : cli::replica_name(pod);
}

std::string summary_of(std::string_view job_json) {
    if (job_json.empty()) {
        return "deleted";
    }
    const core::job_status status = core::parse_status(job_json);
    std::string out(core::to_string(status.phase));
    if (out.empty()) {
        out = "without a status";
    }
    return status.reason.empty() ? out : fmt::format("{} ({})", out, status.reason);
}

bool is_of(const refusal_rule& rule, const done_action& write, core::object_kind kind) {
    return rule.times != 0 && (!rule.kind || *rule.kind == kind) &&
           (rule.verb.empty() || rule.verb == write.verb) &&
           (rule.name.empty() || rule.name == write.name) &&
           (rule.replica.empty() || rule.replica == write.replica);
}

bool cast_pod::active() const {
    const bool ended =
        record.phase == core::pod_phase::succeeded || record.phase == core::pod_phase::failed;
    return !ended && !record.deletion;
}

std::string with_hash(std::string text, std::string_view job_json) {
    constexpr std::string_view word = "HASH";
    if (text.find(word) == std::string::npos) {
        return text;
    }
    const auto job = core::read_job(job_json);
    const std::string base = job && job->compiled->plan ? job->compiled->plan->base_name : "";
    const std::string hash = base.substr(std::min(base.rfind('-') + 1, base.size()));
    for (std::size_t at = text.find(word); at != std::string::npos;
         at = text.find(word, at + hash.size())) {
        text.replace(at, word.size(), hash);
    }
    return text;
}

scene look_at(cluster& stage, std::size_t actions_before) {
    scene out;
    out.now = stage.now();
    out.slack = stage.slack();
    const std::string job = stage.job();
    out.deleted = job.empty();
    out.job = parsed(out.deleted ? "{}" : job);
    out.status = core::parse_status(job);
    out.children = stage.children();
    for (const child_object& child : out.children) {
        auto pod = child.kind == core::object_kind::pod ? core::decode_pod(child.json)
                                                        : std::optional<core::pod_record>();
        if (!pod || replica_of(*pod).empty()) {
            continue;
        }
        const std::string replica = replica_of(*pod);
        const auto same = std::ranges::find(out.pods, replica, &cast_pod::replica);
        if (same == out.pods.end()) {
            out.pods.push_back({replica, std::move(*pod), child.json});
        } else if (is_newer(*pod, same->record)) {
            *same = {replica, std::move(*pod), child.json};
        }
    }
    std::ranges::sort(out.pods, {}, &cast_pod::replica);
    out.events = stage.events();
    out.actions =
        std::span(stage.actions()).subspan(std::min(actions_before, stage.actions().size()));
    out.explained = stage.explain();
    return out;
}

}  // namespace signalbox::op::stories
