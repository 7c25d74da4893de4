// SPDX-License-Identifier: Apache-2.0
#include "events.hpp"

#include "checks.hpp"
#include "configurations.hpp"
#include "damage.hpp"
#include "engine/facts/ledger.hpp"
#include "engine/facts/pod_facts.hpp"
#include "gang.hpp"
#include "property/server_side.hpp"

#include <algorithm>
#include <utility>

namespace signalbox::search {

using namespace core;

namespace {

constexpr std::int32_t bootstrap_gave_up = 75;

container_record* training_container_of(const world& w, pod_record& pod) {
    return const_cast<container_record*>(training_container(w, pod));
}

void end(world& w, pod_record& pod, std::int32_t code) {
    if (container_record* training = training_container_of(w, pod)) {
        const bool unreachable = code == bootstrap_gave_up;
        const std::string_view message =
            unreachable ? "signalbox: a worker cannot be reached" : std::string_view{};
        test::end(pod, *training, code, node_time(w), message);
    }
}

void lose_labels(pod_record& pod) {
    pod.labels_complete = false;
    pod.type = "";
    pod.index = -1;
    pod.attempt = 0;
    pod.round = 0;
}

/// What a choice does to the pod itself; pods that go are the caller's.
void change(world& w, pod_record& pod, const choice& c) {
    switch (c.what) {
        case op::start:
            return test::start(pod, node_time(w));
        case op::exits:
            return end(w, pod, c.value);
        case op::evict:
            end(w, pod, 137);
            pod.reason = "Evicted";
            return;
        case op::preempt:
        case op::node_dies:
            pod.disruption_target = true;
            pod.ready = false;
            return;
        case op::no_code:
            return test::fail_without_code(pod, "NodeShutdown");
        case op::init_fails:
            return test::fail_init(pod, node_time(w));
        case op::cannot_pull:
            pod.scheduled = true;
            pod.containers.front().reason = "ImagePullBackOff";
            return;
        case op::pull_works:
            pod.containers.front().reason = "";
            return;
        case op::unschedulable:
            pod.unschedulable = true;
            return;
        case op::lose_labels:
            return lose_labels(pod);
        case op::master_unknown:
            pod.phase = pod_phase::unknown;
            return;
        default:
            return;
    }
}

/// The end of this replica is on record as a good one: whatever befalls its pod costs nothing.
bool is_completed(const world& w, const pod_record& pod) {
    const index_set* done = engine::find_indexes(w.job->status.restarts.completed, pod.type);
    return done != nullptr && done->contains(pod.index);
}

/// A replica that runs sshd does not complete: its end is a failure, whatever its code (5.2).
bool serves(const world& w, const pod_record& pod) {
    const job_plan& plan = *w.context->job_of({.pause = w.spec.pause})->compiled->plan;
    const auto type = std::ranges::find(plan.types, pod.type, &type_plan::name);
    return type != plan.types.end() && type->serves(pod.index);
}

/// When the job was last in trouble, as far back as a rule asks.
void note_trouble(world& w) {
    constexpr milliseconds apart = seconds(61);
    history& past = w.past;
    if (!past.trouble || w.now - *past.trouble >= apart) {
        past.trouble_before = past.trouble;
        past.trouble = now_in_seconds(w);
    }
}

/// Whether what befalls the pod can cost an incident, and which kind of it at worst.
void remember(world& w, const pod_record& pod, const choice& c) {
    switch (c.what) {
        case op::exits:
            w.harm.any_exit = true;
            w.past.failures += c.value != 0 || serves(w, pod) ? 1 : 0;
            return;
        case op::evict:
        case op::init_fails:
            ++w.past.failures;
            return;
        case op::kill:
        case op::preempt:
        case op::node_dies:
        case op::no_code:
        case op::lose_labels:
        case op::mislabel:
        case op::unwatch:
        case op::vanish:
            w.past.disruptions += is_completed(w, pod) ? 0 : 1;
            return;
        default:
            return;
    }
}

bool apply_to_pod(world& w, const choice& c) {
    if (c.what < op::start || c.what > op::master_unknown || c.what == op::all_gone) {
        return false;
    }
    const history was = w.past;
    remember(w, *w.pods[c.at], c);
    if (w.past.failures + w.past.disruptions > was.failures + was.disruptions) {
        note_trouble(w);
    }
    if (c.what == op::gone || c.what == op::vanish) {
        remove_pod(w, c.at);
        return true;
    }
    if (c.what == op::mislabel) {
        damage_labels(w, c.at, static_cast<mislabel>(c.value));
        return true;
    }
    if (c.what == op::unwatch) {
        hide_pod(w, c.at);
        return true;
    }
    if (c.what == op::node_dies) {
        w.dead_nodes.push_back(w.pods[c.at]->uid);
    }
    change_pod(w, c.at, [&](pod_record& pod) { change(w, pod, c); });
    if (c.what == op::kill || c.what == op::preempt || c.what == op::node_dies) {
        ask_deletion(w, c.at);
    }
    return true;
}

void start_all(world& w) {
    // A gang is placed as a whole: what starts first holds no other back.
    std::vector<std::size_t> starting;
    for (std::size_t i = 0; i < w.pods.size(); ++i) {
        if (can_start(w, *w.pods[i])) {
            starting.push_back(i);
        }
    }
    for (const std::size_t i : starting) {
        change_pod(w, i, [&](pod_record& pod) { test::start(pod, node_time(w)); });
    }
}

void end_deletions(world& w) {
    for (std::size_t i = w.pods.size(); i-- > 0;) {
        if (w.pods[i]->deletion && !w.on_dead_node(*w.pods[i])) {
            remove_pod(w, i);
        }
    }
    std::erase_if(w.children, [&](const child_ptr& c) { return can_go(w, *c); });
}

bool apply_to_child(world& w, const choice& c) {
    switch (c.what) {
        case op::delete_child:
            w.past.disruptions += w.children[c.at]->kind == object_kind::secret ? 1 : 0;
            w.past.lost_quota = w.past.lost_quota || is_of_quota(*w.children[c.at]);
            if (outlives_deletion(w, *w.children[c.at])) {
                change_child(w, c.at, [](child_record& r) { r.deleting = true; });
            } else {
                w.children.erase(w.children.begin() + c.at);
            }
            return true;
        case op::edit_child:
            change_child(w, c.at, [](child_record& r) { r.fingerprint ^= 1; });
            return true;
        case op::replace_data:
            w.past.disruptions += w.children[c.at]->kind == object_kind::secret ? 1 : 0;
            change_child(w, c.at, [](child_record& r) { r.data_fingerprint ^= 1; });
            return true;
        case op::board_ready:
            for (std::size_t i = 0; i < w.children.size(); ++i) {
                if (is_board(*w.children[i])) {
                    change_child(w, i, [](child_record& r) { r.ready = true; });
                }
            }
            return true;
        case op::take_name: {
            const action& a = *writes_of(w)[c.at];
            w.foreign.push_back(foreign_key(a.kind, a.name));
            return true;
        }
        case op::free_names:
            w.foreign.clear();
            return true;
        default:
            return false;
    }
}

bool edit(world& w, const choice& c) {
    edits e = w.spec;
    switch (c.what) {
        case op::pause:
        case op::resume:
            e.pause = c.what == op::pause;
            break;
        case op::resize:
            e.size = static_cast<std::int8_t>(c.value);
            break;
        case op::change_limit:
            e.limit = static_cast<std::int8_t>(c.value);
            break;
        case op::change_deadline:
            e.deadline = static_cast<std::int8_t>(c.value);
            break;
        case op::change_spec:
            e.spec = static_cast<std::int8_t>(c.value);
            break;
        case op::break_spec:
        case op::mend_spec:
            e.broken = c.what == op::break_spec;
            break;
        case op::drop_board:
            e.no_board = true;
            break;
        default:
            return false;
    }
    ++w.past.edits;
    edit_spec(w, e);
    return true;
}

void report(world& w) {
    progress_message said;
    said.attempt = w.job->status.attempt;
    said.current_step = ++w.past.steps;
    take_message(w.reported, said, w.now);
    w.past.progress = w.now;
    w.past.progress_attempt = said.attempt;
}

/// Taken as the shell takes it (BEHAVIOUR.md 13.11): by what the process knows of the job.
void report_checkpoint(world& w, std::int32_t attempt) {
    const job_status& known = w.known_job->status;
    progress_message said;
    said.attempt = attempt;
    said.checkpoint_step = ++w.past.checkpoints;
    const bool present = attempt == known.attempt;
    if (!present && !may_save_work(known, attempt)) {
        return;
    }
    if (take_message(w.reported, said, w.now) && present) {
        w.past.progress = w.now;
        w.past.progress_attempt = attempt;
    }
}

void apply_to_server(world& w, const choice& c) {
    switch (c.what) {
        case op::refuse_pods:
            w.server = static_cast<mood>(c.value);
            return;
        case op::accept_pods:
            w.server = mood::good;
            return;
        case op::stop_serving:
        case op::serve: {
            ++w.past.edits;
            const served state = c.what == op::serve ? served::yes : served::no;
            w.served.set(c.value == 0 ? gang_kind(w) : object_kind::tensorboard, state);
            return;
        }
        case op::report:
            return report(w);
        case op::checkpoint:
            return report_checkpoint(w, w.pods[c.at]->attempt);
        case op::damage_status:
            return damage_status(w, damages_of(w).at(static_cast<std::size_t>(c.value)));
        case op::delete_job: {
            const bool fresh = w.known_job == w.job && !w.job_held;
            w.deleted = true;
            const job_ptr before = w.job;
            set_job(w, before->status);
            w.known_job = fresh ? w.job : w.known_job;
            return;
        }
        default:
            return;
    }
}

void apply_to_view(world& w, op what) {
    switch (what) {
        case op::hold_pods:
            w.known_pods = w.pods;
            return;
        case op::hold_children:
            w.known_children = w.children;
            return;
        case op::hold_job:
            w.job_held = true;
            return;
        case op::deliver:
            w.job_held = false;
            w.known_pods.reset();
            w.known_children.reset();
            w.known_job = w.job;
            return;
        default:
            return;
    }
}

void pass_time(world& w, const choice& c, instant wake_up) {
    constexpr milliseconds eleven_minutes = seconds(660);
    if (c.what == op::long_time) {
        w.now += eleven_minutes;
    } else if (c.what == op::time_back) {
        w.now -= seconds(20);
        w.past.set_back += seconds(20);
    } else if (c.what == op::set_clocks) {
        w.skew = seconds(c.value);
    } else if (c.what == op::half_way) {
        w.now = round_down_to_second(w.now + (wake_up - w.now) / 2);
    } else {
        w.now = wake_up;
    }
}

}  // namespace

const container_record* training_container(const world& w, const pod_record& pod) {
    const job_plan& plan = *w.context->job_of({.pause = w.spec.pause})->compiled->plan;
    for (const type_plan& type : plan.types) {
        if (type.name == pod.type) {
            return engine::training_container(pod, type.training_container);
        }
    }
    return nullptr;
}

void apply(world& w, const choice& c, outcome& out) {
    if (c.what <= op::refuse_unavailable) {
        run_pass(w, c, out);
    } else if (c.what >= op::wake) {
        // Whatever the process leaves as it is while time passes is a decision too.
        check_decision(w, decision_of(w), out.violations);
        const auto wake_up = decision_of(w).wake_up;
        pass_time(w, c, wake_up.value_or(w.now));
    } else if (c.what == op::all_start) {
        start_all(w);
    } else if (c.what == op::all_gone) {
        end_deletions(w);
    } else if (c.what >= op::queue_answers && c.what <= op::open_queue) {
        change_quota(w, c.what);
    } else if (!apply_to_pod(w, c) && !apply_to_child(w, c) && !edit(w, c)) {
        apply_to_view(w, c.what);
        apply_to_server(w, c);
    }
    w.decided.reset();
    if (out.violations.empty()) {
        check_counts(w, out.violations);
    }
}

}  // namespace signalbox::search
