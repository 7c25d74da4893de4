// SPDX-License-Identifier: Apache-2.0
#include "jobcore/children.hpp"

#include <algorithm>
#include <utility>

namespace signalbox::core {
namespace {

/// What decode_pod and decode_child read: they demand a UID, which nothing rendered has.
std::string with_some_uid(std::string object_json) {
    constexpr std::string_view metadata = "\"metadata\":{";
    const std::size_t at = object_json.find(metadata);
    if (at != object_json.npos) {
        object_json.insert(at + metadata.size(), R"("uid":"none yet",)");
    }
    return object_json;
}

pod_record new_pod(std::string_view object_json, std::string uid, instant now) {
    pod_record pod = decode_pod(object_json).value_or(pod_record());
    pod.uid = std::move(uid);
    pod.phase = pod_phase::pending;
    pod.creation = round_down_to_second(now);
    for (container_record& c : pod.containers) {
        c.state = container_state::waiting;
    }
    return pod;
}

template <class Records>
auto find_uid(Records& records, std::string_view uid) {
    return std::ranges::find_if(records, [&](const auto& r) { return r.uid == uid; });
}

}  // namespace

std::variant<pod_record, child_record> record_of(
    const job_object& job, const decision& made, const action& a, std::string uid, instant now
) {
    const std::string text = with_some_uid(preview_action(job, made, a));
    if (a.object() == nullptr) {
        return new_pod(text, std::move(uid), now);
    }
    child_record child = decode_child(a.kind, text).value_or(child_record());
    child.uid = std::move(uid);
    child.creation = round_down_to_second(now);
    return child;
}

void note_start(pod_record& pod, instant now) {
    if (pod.phase != pod_phase::pending) {
        return;
    }
    pod.scheduled = pod.ready = true;
    pod.phase = pod_phase::running;
    for (container_record& c : pod.containers) {
        c.state = container_state::running;
        c.started = round_down_to_second(now);
    }
}

void note_end(pod_record& pod, std::int32_t exit_code, instant now) {
    if (pod.phase != pod_phase::running) {
        return;
    }
    pod.ready = false;
    pod.phase = exit_code == 0 ? pod_phase::succeeded : pod_phase::failed;
    for (container_record& c : pod.containers) {
        if (c.state == container_state::running) {
            c.state = container_state::terminated;
            c.exit_code = exit_code;
            c.reason = exit_code == 0 ? "Completed" : "Error";
            c.finished = round_down_to_second(now);
        }
    }
}

observed job_children::seen() {
    pod_views_.clear();
    other_views_.clear();
    for (const pod_record& pod : pods) {
        pod_views_.push_back(&pod);
    }
    for (const child_record& child : others) {
        other_views_.push_back(&child);
    }
    answers_.forget_disproved([&](object_kind kind, std::string_view name) {
        return has(kind, name);
    });
    observed out{pod_views_, other_views_, answers_.refusals(), answers_.absences(), served};
    out.admitted = answers_.admitted();
    out.logs = answers_.logs();
    out.readings = answers_.readings();
    out.reads_logs = reads_logs;
    return out;
}

outcome job_children::take(
    const job_object& job, const decision& made, const action& a, result_of_action what, instant now
) {
    if (auto* no = std::get_if<answer::refused>(&what)) {
        return *std::move(no);
    }
    if (auto* log = std::get_if<answer::said>(&what)) {
        return *std::move(log);
    }
    auto* yes = std::get_if<done>(&what);
    if (yes == nullptr) {
        return answer::unanswered{};
    }
    if (std::holds_alternative<read_object>(a.request)) {
        return answer::told{};  // nothing is known of a cluster
    }
    apply(job, made, a, std::move(yes->uid), now);
    const bool gone = a.what() == verb::confirm && !has(a.kind, a.name);
    return gone ? outcome(answer::absent{}) : outcome(answer::acknowledged{});
}

void job_children::apply(
    const job_object& job, const decision& made, const action& a, std::string uid, instant now
) {
    switch (a.what()) {
        case verb::create: {
            auto record = record_of(job, made, a, std::move(uid), now);
            if (auto* pod = std::get_if<pod_record>(&record)) {
                pods.push_back(std::move(*pod));
            } else {
                others.push_back(std::get<child_record>(std::move(record)));
            }
            break;
        }
        case verb::patch:
            if (const auto pod = find_uid(pods, a.uid()); pod != pods.end()) {
                pod->attempt = gone_attempt;  // the only patch of pods that there is
            } else if (const auto it = find_uid(others, a.uid());
                       it != others.end() && a.object() != nullptr) {
                // Immutable data cannot change, and nothing here made it serve.
                auto repaired = std::get<child_record>(record_of(job, made, a, it->uid, now));
                repaired.data_fingerprint = it->data_fingerprint;
                repaired.creation = it->creation;
                repaired.keys = it->keys;
                repaired.ready = it->ready;
                repaired.reason = it->reason;
                repaired.gang = it->gang;
                *it = std::move(repaired);
            }
            break;
        case verb::remove:
            pods.remove_if([&](const pod_record& p) { return p.uid == a.uid(); });
            others.remove_if([&](const child_record& c) { return c.uid == a.uid(); });
            break;
        case verb::confirm:
        case verb::read:
            break;  // reads alone
    }
}

bool job_children::has(object_kind kind, std::string_view name) const {
    const auto named = [&](const auto& record) { return record.name == name; };
    return kind == object_kind::pod ? std::ranges::any_of(pods, named)
                                    : std::ranges::any_of(others, [&](const child_record& c) {
                                          return c.kind == kind && named(c);
                                      });
}

}  // namespace signalbox::core
