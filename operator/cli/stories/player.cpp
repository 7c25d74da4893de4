// SPDX-License-Identifier: Apache-2.0
#include "cli/stories/player.hpp"

#include "cli/stories/pod_life.hpp"
#include "manifests/json_edit.hpp"

#include <jobcore/schema.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <span>

namespace signalbox::op::stories {

namespace {

constexpr core::milliseconds a_day = std::chrono::hours(24);
/// A node that is lost is given up after this, as kube-controller-manager does it.
constexpr core::milliseconds until_given_up = std::chrono::minutes(5);
/// More moments than any story needs.
constexpr int most_moments = 100'000;

std::string pointer_of_edit(const core::diagnostic& finding) {
    return fmt::format("{}: {}", finding.pointer, finding.message);
}

class story_player {
public:
    story_player(const story& of, cluster& stage) : story_(of), stage_(stage) {}

    played play(bool to_the_end) {
        try {
            for (const story_step& step : story_.steps) {
                out_.stopped_at = step.pointer;
                if (!play_step(step) && !to_the_end) {
                    break;
                }
                actions_before_ = stage_.actions().size();
            }
        } catch (const story_stopped& why) {
            out_.end = verdict::stopped;
            out_.stopped = why.what();
        }
        if (out_.end != verdict::passed) {
            out_.explained = stage_.explain();
        }
        out_.timeline = stage_.timeline();
        out_.took = stage_.now() - story_begin();
        return std::move(out_);
    }

private:
    bool play_step(const story_step& step) {
        if (!step.events.empty()) {
            happen(step.events.front(), step.events);
        }
        std::vector<mismatch> wrong;
        const auto as_expected = [&] {
            wrong = compare(step.expects, look());
            return wrong.empty();
        };
        if (step.expects.empty() || until(as_expected, step.within + stage_.slack())) {
            return true;
        }
        out_.end = verdict::failed;
        std::ranges::move(wrong, std::back_inserter(out_.wrong));
        return false;
    }

    scene look() { return look_at(stage_, actions_before_); }

    // Time.

    /// Time goes on until that holds, for at most so long.
    bool until(const std::function<bool()>& holds, core::milliseconds within) {
        const core::instant end = stage_.now() + within;
        settle();
        for (int moment = 0; moment < most_moments; ++moment) {
            if (holds()) {
                return true;
            }
            const std::optional<core::instant> next = next_due();
            if (stage_.now() >= end) {
                return false;
            }
            if (!next || *next > end) {
                stage_.go_to(end);
                settle();
                return holds();
            }
            stage_.go_to(std::max(*next, stage_.now() + core::milliseconds(1)));
            live();
            settle();
        }
        throw story_stopped("time does not go on: too much happens");
    }

    std::optional<core::instant> next_due() {
        std::optional<core::instant> next = stage_.next_due();
        for (const auto& [uid, when] : starts_) {
            next = next ? std::min(*next, when) : when;
        }
        for (const auto& [name, when] : given_up_) {
            next = next ? std::min(*next, when) : when;
        }
        return next;
    }

    /// All that happens at this instant.
    void settle() {
        do {
            stage_.settle();
            note_new_pods();
        } while (live());
    }

    /// Pods that are new will start.
    void note_new_pods() {
        for (const child_object& child : stage_.children()) {
            if (child.kind != core::object_kind::pod) {
                continue;
            }
            const std::string uid = manifests::string_at(child.json, "/metadata/uid");
            if (known_.insert(uid).second && story_.start_after) {
                starts_[uid] = stage_.now() + *story_.start_after;
            }
        }
    }

    /// What kubelet and node controller have to do now. True if they did anything.
    bool live() {
        std::set<std::string> due;
        std::erase_if(starts_, [&](const auto& start) {
            return start.second <= stage_.now() && due.insert(start.first).second;
        });
        bool changed = false;
        for (const child_object& child :
             due.empty() ? std::vector<child_object>() : stage_.children()) {
            const std::string uid = manifests::string_at(child.json, "/metadata/uid");
            const auto pod = due.contains(uid) ? core::decode_pod(child.json) : std::nullopt;
            if (pod && pod->phase == core::pod_phase::pending && !pod->deletion) {
                change(child.name, pod_started(child.json, stage_.now()));
                changed = true;
            }
        }
        std::set<std::string> lost;
        std::erase_if(given_up_, [&](const auto& node) {
            return node.second <= stage_.now() && lost.insert(node.first).second;
        });
        for (const std::string& name : lost) {
            if (stage_.change_child(core::object_kind::pod, name, pod_tainted()).empty()) {
                stage_.tell(fmt::format("the node of {} is given up", name));
                stage_.remove_child(core::object_kind::pod, name, false);
                changed = true;
            }
        }
        return changed;
    }

    // What happens.

    /// `all` are of the verb of the first, `e`.
    void happen(const story_event& e, std::span<const story_event> all) {
        if (e.what != verb::refuse) {  // it may be about the first write of all
            settle();
        }
        switch (e.what) {
            case verb::run:
                run(e.span.value_or(a_day));
                return;
            case verb::wait:
                until([] { return false; }, e.span.value_or(core::milliseconds(0)));
                return;
            case verb::edit:
                edit(e);
                break;
            case verb::annotate:
                stage_.tell("annotations are changed");
                must(stage_.change_job(e.patch));
                break;
            case verb::refuse:
                stage_.refuse(e.refusal);
                return;
            case verb::remove:
                remove_object(e);
                break;
            case verb::change:
                change_object(e);
                break;
            case verb::serve:
                for (const core::object_kind kind : e.kinds) {
                    stage_.tell(fmt::format("{} is served", core::to_string(kind)));
                    stage_.serve(kind);
                }
                break;
            case verb::restart_operator:
                stage_.tell("the operator dies, and another process starts");
                stage_.restart_operator();
                break;
            default:  // at one instant, then the operator sees it
                for (const story_event& each : all) {
                    for (const std::string& replica : each.replicas) {
                        happen_to(each, pod_of(replica));
                    }
                }
        }
        settle();
    }

    void happen_to(const story_event& e, const cast_pod& pod) {
        const std::string& name = pod.record.name;
        const core::instant now = stage_.now();
        switch (e.what) {
            case verb::starts:
                stage_.tell(pod.replica + " starts");
                change(name, pod_started(pod.json, now));
                return;
            case verb::fails:
                must_run(pod);
                stage_.tell(fmt::format("{} exits with {}", pod.replica, e.code));
                if (!e.log.empty()) {
                    stage_.write_log(name, e.log);
                }
                change(name, pod_ended(pod.json, {e.code, e.reason, e.message}, now));
                return;
            case verb::succeeds:
                must_run(pod);
                stage_.tell(pod.replica + " exits with 0");
                change(name, pod_ended(pod.json, {}, now));
                return;
            case verb::evicted:
                must_run(pod);
                stage_.tell(pod.replica + " is evicted");
                change(name, pod_ended(pod.json, {137, "", "", true}, now));
                return;
            case verb::vanishes:
                stage_.tell(pod.replica + " is deleted, and gone");
                must(stage_.remove_child(core::object_kind::pod, name, true));
                return;
            case verb::stays_terminating:
                stage_.tell(pod.replica + " will stay terminating when it is deleted");
                stage_.stay_terminating(name);
                return;
            case verb::node_lost:
                stage_.tell("the node of " + pod.replica + " is lost");
                stage_.stay_terminating(name);
                change(name, pod_unready());
                given_up_[name] = now + e.span.value_or(until_given_up);
                return;
            case verb::cannot_start:
                stage_.tell(fmt::format("{} cannot start: {}", pod.replica, e.reason));
                starts_.erase(pod.record.uid);
                change(
                    name,
                    pod_cannot_start(
                        pod.json, e.reason.empty() ? "ImagePullBackOff" : e.reason, e.message
                    )
                );
                return;
            default:
                stage_.tell(pod.replica + " cannot be scheduled");
                starts_.erase(pod.record.uid);
                change(name, pod_unschedulable(e.message));
        }
    }

    void run(core::milliseconds within) {
        const auto runs = [this] {
            const scene there = look();
            const auto waits = [](const cast_pod& pod) {
                return pod.record.phase == core::pod_phase::pending;
            };
            std::int64_t wanted = 0;
            for (const core::task_status& task : there.status.tasks) {
                wanted += task.wanted;
            }
            return core::is_final(there.status.phase) ||
                   (there.status.phase == core::job_phase::running &&
                    std::ssize(there.pods) >= wanted && std::ranges::none_of(there.pods, waits));
        };
        if (!until(runs, within)) {
            throw story_stopped("the job does not run: it is " + summary_of(stage_.job()));
        }
    }

    void edit(const story_event& e) {
        std::string why;
        if (story_.validates) {
            const std::string before = stage_.job();
            const std::string after = manifests::merge_patch(before, e.patch);
            core::parsed_job parsed_after = core::parse_job(after);
            core::add_findings(parsed_after.findings, core::validate_update(before, after));
            for (const core::diagnostic& finding : parsed_after.findings) {
                if (finding.level == core::severity::error) {
                    why += (why.empty() ? "" : "; ") + pointer_of_edit(finding);
                }
            }
        }
        if (why.empty()) {
            why = stage_.change_job(e.patch);
        }
        if (why.empty()) {
            stage_.tell("the specification is changed");
        } else {
            stage_.tell("the change of the specification is refused: " + why);
        }
        if (why.empty() != e.refused.empty() || why.find(e.refused) == std::string::npos) {
            throw story_stopped(
                why.empty() ? fmt::format("the edit is taken, and not refused: {}", e.refused)
                            : fmt::format("the edit is refused: {}", why)
            );
        }
    }

    std::string name_of_object(const story_event& e) {
        std::vector<std::string> names;
        const std::string name = with_hash(e.name, stage_.job());
        for (const child_object& child : stage_.children()) {
            if (child.kind == e.kind && (name.empty() || name == child.name)) {
                names.push_back(child.name);
            }
        }
        if (names.size() != 1) {
            throw story_stopped(fmt::format(
                "one {} {} is expected; there are: {}",
                core::to_string(e.kind),
                name,
                names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "))
            ));
        }
        return names.front();
    }

    void remove_object(const story_event& e) {
        const std::string name = name_of_object(e);
        stage_.tell(fmt::format("somebody deletes {} {}", core::to_string(e.kind), name));
        must(stage_.remove_child(e.kind, name, false));
    }

    void change_object(const story_event& e) {
        const std::string name = name_of_object(e);
        stage_.tell(fmt::format("somebody changes {} {}", core::to_string(e.kind), name));
        must(stage_.change_child(e.kind, name, e.patch));
    }

    cast_pod pod_of(const std::string& replica) {
        scene there = look();
        const auto pod = std::ranges::find(there.pods, replica, &cast_pod::replica);
        if (pod == there.pods.end()) {
            std::vector<std::string> all;
            std::ranges::transform(there.pods, std::back_inserter(all), &cast_pod::replica);
            throw story_stopped(fmt::format(
                "there is no pod of {}; there are: {}",
                replica,
                all.empty() ? "none" : fmt::format("{}", fmt::join(all, ", "))
            ));
        }
        return std::move(*pod);
    }

    static void must_run(const cast_pod& pod) {
        if (pod.record.phase != core::pod_phase::running) {
            throw story_stopped(fmt::format(
                "the pod of {} does not run: it is {}",
                pod.replica,
                core::to_string(pod.record.phase)
            ));
        }
    }

    void change(const std::string& pod, const std::string& patch) {
        must(stage_.change_child(core::object_kind::pod, pod, patch));
    }

    static void must(const std::string& why) {
        if (!why.empty()) {
            throw story_stopped(why);
        }
    }

    const story& story_;
    cluster& stage_;
    played out_;
    std::size_t actions_before_ = 0;
    std::set<std::string> known_;                    ///< UIDs of pods
    std::map<std::string, core::instant> starts_;    ///< by UID
    std::map<std::string, core::instant> given_up_;  ///< nodes, by the name of the pod
};

}  // namespace

played play(const story& of, cluster& stage, bool to_the_end) {
    return story_player(of, stage).play(to_the_end);
}

}  // namespace signalbox::op::stories
