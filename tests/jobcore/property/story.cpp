// SPDX-License-Identifier: Apache-2.0
#include "property/story.hpp"

#include "property/server_side.hpp"
#include "signalbox_test/jobcore_builders.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>

namespace signalbox::test {

using namespace core;

namespace {

constexpr std::array<std::string_view, static_cast<std::size_t>(happening::count)> names{
    "nothing",
    "pods_run",
    "one_runs",
    "scheduled",
    "ready_lost",
    "exits",
    "asked_to_delete",
    "deletions_finish",
    "vanishes",
    "disrupted",
    "unknown",
    "evicted",
    "fails_without_code",
    "init_fails",
    "cannot_pull",
    "loses_labels",
    "is_duplicated",
    "foreign_pod",
    "child_vanishes",
    "child_edited",
    "child_replaced",
    "child_terminates",
    "tensorboard_ready",
    "name_taken",
    "mood_changes",
    "capability_changes",
    "pause_toggles",
    "resize",
    "budget_edit",
    "deadline_edit",
    "spec_breaks",
    "deletes_slow_down",
};

/// How often each thing happens, of all the numbers together.
struct weight {
    happening what;
    int share;
};
constexpr weight weights[] = {
    {happening::nothing, 6},
    {happening::pods_run, 30},
    {happening::one_runs, 8},
    {happening::scheduled, 2},
    {happening::ready_lost, 2},
    {happening::exits, 14},
    {happening::asked_to_delete, 5},
    {happening::deletions_finish, 14},
    {happening::vanishes, 5},
    {happening::disrupted, 4},
    {happening::unknown, 3},
    {happening::evicted, 2},
    {happening::fails_without_code, 2},
    {happening::init_fails, 2},
    {happening::cannot_pull, 2},
    {happening::loses_labels, 2},
    {happening::is_duplicated, 2},
    {happening::foreign_pod, 1},
    {happening::child_vanishes, 3},
    {happening::child_edited, 2},
    {happening::child_replaced, 2},
    {happening::child_terminates, 2},
    {happening::tensorboard_ready, 2},
    {happening::name_taken, 1},
    {happening::mood_changes, 4},
    {happening::capability_changes, 3},
    {happening::pause_toggles, 5},
    {happening::resize, 6},
    {happening::budget_edit, 1},
    {happening::deadline_edit, 1},
    {happening::spec_breaks, 1},
    {happening::deletes_slow_down, 3},
};

happening draw_happening(dice& d) {
    static const int total = [] {
        int sum = 0;
        for (const weight& w : weights) {
            sum += w.share;
        }
        return sum;
    }();
    int at = d.roll(total);
    for (const weight& w : weights) {
        at -= w.share;
        if (at < 0) {
            return w.what;
        }
    }
    return happening::nothing;
}

int draw_wait(dice& d) {
    constexpr int waits[] = {0, 0, 1, 500, 1000, 5000, 15000, 20000, 61000, 700000};
    return d.once_in(3) ? d.roll(20000) : d.one_of(waits);
}

template <class List>
auto* pick(List& list, std::uint32_t number) {
    if (list.empty()) {
        return static_cast<decltype(&list.front())>(nullptr);
    }
    auto it = list.begin();
    std::advance(it, static_cast<std::ptrdiff_t>(number % list.size()));
    return &*it;
}

container_record* training_container(const cluster& c, pod_record& pod) {
    if (!c.compiled_well()) {
        return pod.containers.empty() ? nullptr : &pod.containers.front();
    }
    for (const type_plan& type : c.plan().types) {
        for (container_record& r : pod.containers) {
            if (type.name == pod.type && r.name == type.training_container) {
                return &r;
            }
        }
    }
    return pod.containers.empty() ? nullptr : &pod.containers.front();
}

void run(const cluster& c, pod_record& pod) {
    if (!has_ended(pod) && !pod.deletion) {
        start(pod, c.now);
    }
}

void end(const cluster& c, pod_record& pod, int code, const char* message) {
    container_record* training = training_container(c, pod);
    if (!has_ended(pod) && training != nullptr) {
        test::end(pod, *training, code, c.now, message);
    }
}

void exits(cluster& c, pod_record& pod, std::uint32_t value) {
    constexpr int codes[] = {0, 0, 1, 137, 143, 7, 75, 254, 1};
    const std::size_t at = value % std::size(codes);
    const bool bootstrap = codes[at] == 75;
    const bool torchrun_note = at == 8;
    end(c,
        pod,
        codes[at],
        bootstrap       ? "signalbox: worker-1 cannot be reached"
        : torchrun_note ? R"({"message":{"message":"boom","errorCode":143}})"
                        : "");
}

void ask_deletion(const cluster& c, pod_record& pod, std::uint32_t grace) {
    if (!pod.deletion) {
        pod.grace_seconds = grace % 40;
        pod.deletion = c.now + seconds(pod.grace_seconds);
    }
}

void lose_labels(pod_record& pod, std::uint32_t which) {
    pod.labels_complete = false;
    if (which % 2 == 0) {
        pod.type = "";
        pod.index = -1;
    }
    if (which % 3 == 0 || pod.attempt < 0) {
        pod.attempt = 0;
        pod.round = 0;
    }
}

void happen_to_pod(cluster& c, pod_record& pod, const step& s) {
    switch (s.what) {
        case happening::one_runs:
            return run(c, pod);
        case happening::scheduled:
            pod.scheduled = s.b % 2 == 0;
            pod.unschedulable = !pod.scheduled && pod.phase == pod_phase::pending;
            return;
        case happening::ready_lost:
            pod.ready = false;
            return;
        case happening::exits:
            return exits(c, pod, s.b);
        case happening::asked_to_delete:
            return ask_deletion(c, pod, s.b);
        case happening::disrupted:
            pod.disruption_target = true;
            return s.b % 4 == 0 ? void() : ask_deletion(c, pod, 5);
        case happening::unknown:
            pod.phase = has_ended(pod) ? pod.phase : pod_phase::unknown;
            return;
        case happening::evicted:
            end(c, pod, 137, "");
            pod.reason = "Evicted";
            return;
        case happening::fails_without_code:
            return has_ended(pod)
                       ? void()
                       : fail_without_code(
                             pod, s.b % 2 == 0 ? "NodeShutdown" : "UnexpectedAdmissionError"
                         );
        case happening::init_fails:
            return pod.phase == pod_phase::pending ? fail_init(pod, c.now) : void();
        case happening::cannot_pull:
            if (pod.phase == pod_phase::pending && !pod.containers.empty()) {
                pod.containers.front().reason = "ImagePullBackOff";
            }
            return;
        case happening::loses_labels:
            return lose_labels(pod, s.b);
        default:
            return;
    }
}

/// A second pod on an index, as a lost answer and an old view could leave it.
void duplicate(cluster& c, const pod_record& pod) {
    pod_record twin = pod;
    twin.name += "-r9";
    twin.uid += "-twin";
    const auto same = [&](const pod_record& p) { return p.name == twin.name; };
    if (std::ranges::none_of(c.pods, same)) {
        c.pods.push_back(std::move(twin));
    }
}

void foreign_pod(cluster& c, const pod_record& pod) {
    pod_record other = pod;
    other.owner_uid = "somebody-else";
    other.uid += "-foreign";
    other.name += "x";
    c.pods.push_back(std::move(other));
}

void happen_to_child(cluster& c, child_record& child, const step& s) {
    switch (s.what) {
        case happening::child_edited:
            child.fingerprint += 1 + s.b % 5;
            return;
        case happening::child_replaced:
            child.data_fingerprint += 1;
            return;
        case happening::child_terminates:
            child.deleting = true;
            return;
        case happening::tensorboard_ready:
            child.ready = s.b % 3 != 0;
            child.reason = child.ready ? "" : "Starting";
            return;
        case happening::child_vanishes: {
            const std::string uid = child.uid;
            c.children.remove_if([&](const child_record& r) { return r.uid == uid; });
            return;
        }
        default:
            return;
    }
}

void change_mood(cluster& c, std::uint32_t value) {
    constexpr mood moods[] = {
        mood::good,
        mood::good,
        mood::good,
        mood::quota,
        mood::forbidden,
        mood::invalid,
        mood::refuses_objects};
    if (c.server == mood::namespace_terminating) {
        return;  // there is no way back
    }
    c.server = value % 40 == 39 ? mood::namespace_terminating : moods[value % std::size(moods)];
}

void change_capability(cluster& c, std::uint32_t value) {
    constexpr served states[] = {served::yes, served::no, served::unknown};
    const object_kind kind = value % 2 == 0 ? object_kind::pod_group : object_kind::tensorboard;
    c.served.set(kind, states[value / 2 % 3]);
}

void take_name(cluster& c, const step& s) {
    if (s.b % 3 == 0) {
        c.foreign.clear();
        return;
    }
    if (!c.compiled_well()) {
        return;
    }
    const job_plan& plan = c.plan();
    if (s.b % 3 == 1 && !plan.objects.empty()) {
        const planned_object& o = plan.objects[s.a % plan.objects.size()];
        c.foreign.insert({o.kind, object_name(o, std::max(c.job.status.attempt, 1))});
    } else {
        const std::size_t type = s.a % plan.types.size();
        c.foreign.insert({object_kind::pod, pod_name(plan, {type, 0, 1, 0, 0})});
    }
}

void edit(cluster& c, const step& s) {
    switch (s.what) {
        case happening::pause_toggles:
            c.wish.pause = !c.wish.pause;
            break;
        case happening::resize:
            if (!c.wish.elastic) {
                return;
            }
            c.wish.elastic->expected =
                c.wish.elastic->min +
                static_cast<int>(
                    s.b % static_cast<std::uint32_t>(c.wish.elastic->max - c.wish.elastic->min + 1)
                );
            break;
        case happening::budget_edit:
            if (c.wish.kind != job_kind::colossalai) {
                c.wish.run_policy["backoffLimit"] = std::to_string(s.b % 5);
            }
            break;
        case happening::deadline_edit:
            if (s.b % 2 == 0) {
                c.wish.run_policy.erase("activeDeadlineSeconds");
            } else {
                c.wish.run_policy["activeDeadlineSeconds"] = std::to_string(1 + s.b % 900);
            }
            break;
        case happening::spec_breaks:
            c.wish.broken = !c.wish.broken;
            break;
        default:
            return;
    }
    c.reload();
}

void finish_deletions(cluster& c) {
    c.pods.remove_if([](const pod_record& p) { return p.deletion.has_value(); });
    c.children.remove_if([](const child_record& r) { return r.deleting; });
}

}  // namespace

std::string to_string(happening h) {
    return std::string(names[static_cast<std::size_t>(h)]);
}

std::string to_string(const step& s) {
    return "after " + std::to_string(s.wait_ms) + " ms " + to_string(s.what) + "(" +
           std::to_string(s.a) + "," + std::to_string(s.b) + ")" +
           (s.lost == 0 ? "" : " lost=" + std::to_string(s.lost)) + (s.defers ? " defers" : "");
}

story draw_story(std::uint64_t seed, int steps) {
    dice d(seed);
    story out{draw_job(d), {}};
    out.job.pause = d.once_in(12);
    for (int i = 0; i < steps; ++i) {
        step s;
        s.what = draw_happening(d);
        s.a = static_cast<std::uint32_t>(d.roll(1000));
        s.b = static_cast<std::uint32_t>(d.roll(1000));
        s.wait_ms = draw_wait(d);
        s.lost = d.once_in(3) ? d.bits() & d.bits() : 0;
        s.defers = d.once_in(4);
        out.steps.push_back(s);
    }
    return out;
}

void happen(cluster& c, const step& s) {
    c.now += milliseconds(s.wait_ms);
    switch (s.what) {
        case happening::nothing:
            return;
        case happening::pods_run:
            for (pod_record& p : c.pods) {
                run(c, p);
            }
            return;
        case happening::deletions_finish:
            return finish_deletions(c);
        case happening::vanishes:
            if (const pod_record* p = pick(c.pods, s.a)) {
                c.pods.remove_if([uid = p->uid](const pod_record& x) { return x.uid == uid; });
            }
            return;
        case happening::is_duplicated:
        case happening::foreign_pod:
            if (const pod_record* p = pick(c.pods, s.a)) {
                s.what == happening::foreign_pod ? foreign_pod(c, *p) : duplicate(c, *p);
            }
            return;
        case happening::name_taken:
            return take_name(c, s);
        case happening::mood_changes:
            return change_mood(c, s.b);
        case happening::capability_changes:
            return change_capability(c, s.b);
        case happening::deletes_slow_down:
            c.slow_deletes = s.b % 2 == 0;
            return;
        default:
            break;
    }
    if (pod_record* p = pick(c.pods, s.a)) {
        happen_to_pod(c, *p, s);
    }
    if (child_record* child = pick(c.children, s.a)) {
        happen_to_child(c, *child, s);
    }
    edit(c, s);
}

void calm(cluster& c) {
    c.server = mood::good;
    c.foreign.clear();
    c.slow_deletes = false;
    c.served = all_served();
    if (c.wish.pause || c.wish.broken) {
        c.wish.pause = c.wish.broken = false;
        c.reload();
    }
    finish_deletions(c);
    for (pod_record& p : c.pods) {
        run(c, p);
    }
}

}  // namespace signalbox::test
