// SPDX-License-Identifier: Apache-2.0
//
// Every event in every state of a pod's machine; with it alone, in virtual time.
#include "pod_script.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <functional>
#include <map>

using namespace signalbox;
using namespace signalbox::op;
using namespace signalbox::op::test;
using namespace std::chrono_literals;
using kubelet::hook_kind;
using kubelet::probe_kind;
using kubelet::write_answer;

namespace {

const kubelet::handler_result good{true, ""}, bad{false, "no"};

/// One container that has everything.
kubelet::pod_spec full_pod() {
    return spec_of(
        R"("containers":[{"name":"c","image":"i","command":["x"],)"
        R"("startupProbe":{"exec":{"command":["s"]},"failureThreshold":1},)"
        R"("readinessProbe":{"exec":{"command":["r"]},"failureThreshold":1},)"
        R"("livenessProbe":{"exec":{"command":["l"]},"failureThreshold":1},)"
        R"("lifecycle":{"postStart":{"exec":{"command":["b"]}},"preStop":{"exec":{"command":["e"]}}}}])"
    );
}

struct named_state {
    std::string name;
    std::function<void(pod_script&)> reach;  // from `preparing`, with a status that is written
};

void delete_pod_object(pod_script& s) {
    kubelet::pod_spec gone = s.machine.pod();
    gone.deleting = true;
    s.machine.on_object(s.now, gone);
}

void be_starting(pod_script& s) {
    s.machine.on_prepared(s.now);
    s.settle();
}
void be_in_hook(pod_script& s) {
    be_starting(s);
    s.machine.on_started(s.now, 0);
    s.settle();
}
void be_starting_up(pod_script& s) {
    be_in_hook(s);
    s.machine.on_hook(s.now, 0, 0, hook_kind::post_start, good);
    s.settle();
}
void be_up(pod_script& s) {
    be_starting_up(s);
    s.machine.on_probe(s.now, 0, 0, probe_kind::startup, good);
    s.settle();
}

const std::vector<named_state>& states_of_life() {
    static const std::vector<named_state> out{
        {"unprepared",
         [](pod_script& s) {
             s.machine.on_prepare_failed(s.now, kubelet::refusal("FailedMount", "no"));
         }},
        {"preparing", [](pod_script&) {}},
        {"starting", be_starting},
        {"waiting",
         [](pod_script& s) {
             be_starting(s);
             const kubelet::refusal why("CreateContainerConfigError", "no");
             s.machine.on_start_failed(s.now, 0, why);
         }},
        {"in hook", be_in_hook},
        {"starting up", be_starting_up},
        {"up", be_up},
        {"refreshing",
         [](pod_script& s) {
             be_up(s);
             s.machine.on_references(s.now);
         }},
        {"killed",
         [](pod_script& s) {
             be_up(s);
             s.machine.on_probe(s.now, 0, 0, probe_kind::liveness, bad);
         }},
        {"stopping, preparing", delete_pod_object},
        {"stopping, starting",
         [](pod_script& s) {
             be_starting(s);
             delete_pod_object(s);
         }},
        {"stopping",
         [](pod_script& s) {
             be_up(s);
             delete_pod_object(s);
         }},
        {"released",
         [](pod_script& s) {
             be_up(s);
             delete_pod_object(s);
             s.end(143);
         }},
    };
    return out;
}

struct named_event {
    std::string name;
    std::function<void(pod_script&)> happens;
};

const std::vector<named_event>& events_of_life() {
    static const std::vector<named_event> out{
        {"time", [](pod_script& s) { s.machine.on_time(s.now); }},
        {"label",
         [](pod_script& s) {
             kubelet::pod_spec changed = s.machine.pod();
             changed.labels["x"] = "1";
             s.machine.on_object(s.now, changed);
         }},
        {"deleted", delete_pod_object},
        {"object gone", [](pod_script& s) { s.machine.on_object_gone(s.now); }},
        {"abandoned", [](pod_script& s) { s.machine.abandon(s.now); }},
        {"references", [](pod_script& s) { s.machine.on_references(s.now); }},
        {"prepared", [](pod_script& s) { s.machine.on_prepared(s.now); }},
        {"prepare failed",
         [](pod_script& s) { s.machine.on_prepare_failed(s.now, kubelet::refusal("A", "b")); }},
        {"refreshed", [](pod_script& s) { s.machine.on_refreshed(s.now); }},
        {"started", [](pod_script& s) { s.machine.on_started(s.now, 0); }},
        {"not created",
         [](pod_script& s) { s.machine.on_start_failed(s.now, 0, kubelet::refusal("A", "b")); }},
        {"not started",
         [](pod_script& s) {
             s.machine.on_start_failed(s.now, 0, kubelet::refusal("StartError", "b"));
         }},
        {"postStart",
         [](pod_script& s) { s.machine.on_hook(s.now, 0, 0, hook_kind::post_start, good); }},
        {"postStart failed",
         [](pod_script& s) { s.machine.on_hook(s.now, 0, 0, hook_kind::post_start, bad); }},
        {"preStop",
         [](pod_script& s) { s.machine.on_hook(s.now, 0, 0, hook_kind::pre_stop, good); }},
        {"preStop failed",
         [](pod_script& s) { s.machine.on_hook(s.now, 0, 0, hook_kind::pre_stop, bad); }},
        {"startup",
         [](pod_script& s) { s.machine.on_probe(s.now, 0, 0, probe_kind::startup, good); }},
        {"startup failed",
         [](pod_script& s) { s.machine.on_probe(s.now, 0, 0, probe_kind::startup, bad); }},
        {"readiness",
         [](pod_script& s) { s.machine.on_probe(s.now, 0, 0, probe_kind::readiness, good); }},
        {"readiness failed",
         [](pod_script& s) { s.machine.on_probe(s.now, 0, 0, probe_kind::readiness, bad); }},
        {"liveness",
         [](pod_script& s) { s.machine.on_probe(s.now, 0, 0, probe_kind::liveness, good); }},
        {"liveness failed",
         [](pod_script& s) { s.machine.on_probe(s.now, 0, 0, probe_kind::liveness, bad); }},
        {"probe of a run before",
         [](pod_script& s) { s.machine.on_probe(s.now, 0, -1, probe_kind::liveness, bad); }},
        {"hook of a run before",
         [](pod_script& s) { s.machine.on_hook(s.now, 0, -1, hook_kind::post_start, bad); }},
        {"ended", [](pod_script& s) { s.end(1); }},
    };
    return out;
}

/// `state | event | commands`, for all that do something.
std::string table_of(
    const std::vector<named_state>& states,
    const std::vector<named_event>& events,
    const std::function<void(pod_script&)>& then
) {
    std::string out;
    for (const named_state& state : states) {
        for (const named_event& event : events) {
            pod_script s(full_pod());
            s.settle();
            state.reach(s);
            then(s);
            event.happens(s);
            if (const std::string done = s.take(pod_script::events::told); !done.empty()) {
                out += fmt::format("{} | {} | {}\n", state.name, event.name, done);
            }
        }
    }
    return out;
}

void settled(pod_script& s) {
    s.settle();
}
void taken(pod_script& s) {
    s.take();
}

}  // namespace

TEST_CASE("every event in every state of a pod does what is listed here, and no other anything") {
    CHECK(
        table_of(states_of_life(), events_of_life(), settled) ==
        R"(unprepared | label | prepare
unprepared | deleted | release, write Failed
unprepared | object gone | release, forget
unprepared | abandoned | release
unprepared | references | prepare
unprepared | preStop failed | tell FailedPreStopHook
preparing | deleted | write Failed
preparing | prepared | start 0
preparing | prepare failed | tell A
preparing | preStop failed | tell FailedPreStopHook
starting | label | refresh
starting | references | refresh
starting | started | tell Pulled, tell Created, tell Started, count, hook 0 postStart, write Running
starting | not created | tell Failed, write Pending
starting | not started | tell Failed, start 0, write Running
starting | preStop failed | tell FailedPreStopHook
waiting | label | refresh, start 0
waiting | deleted | release, write Failed
waiting | object gone | release, forget
waiting | abandoned | release
waiting | references | refresh, start 0
waiting | preStop failed | tell FailedPreStopHook
in hook | label | refresh
in hook | deleted | tell Killing, hook 0 preStop
in hook | object gone | kill 0
in hook | abandoned | kill 0
in hook | references | refresh
in hook | postStart | probe 0 startup
in hook | postStart failed | tell FailedPostStartHook, tell Killing, hook 0 preStop
in hook | preStop failed | tell FailedPreStopHook
in hook | ended | start 0, write Running
starting up | label | refresh
starting up | deleted | tell Killing, hook 0 preStop
starting up | object gone | kill 0
starting up | abandoned | kill 0
starting up | references | refresh
starting up | preStop failed | tell FailedPreStopHook
starting up | startup | probe 0 readiness, probe 0 liveness, write Running
starting up | startup failed | tell Unhealthy, tell Killing, hook 0 preStop
starting up | ended | start 0, write Running
up | label | refresh
up | deleted | tell Killing, hook 0 preStop
up | object gone | kill 0
up | abandoned | kill 0
up | references | refresh
up | preStop failed | tell FailedPreStopHook
up | readiness | write Running
up | readiness failed | tell Unhealthy
up | liveness failed | tell Unhealthy, tell Killing, hook 0 preStop
up | ended | start 0, write Running
refreshing | deleted | tell Killing, hook 0 preStop
refreshing | object gone | kill 0
refreshing | abandoned | kill 0
refreshing | preStop failed | tell FailedPreStopHook
refreshing | readiness | write Running
refreshing | readiness failed | tell Unhealthy
refreshing | liveness failed | tell Unhealthy, tell Killing, hook 0 preStop
refreshing | ended | start 0, write Running
killed | label | refresh
killed | object gone | kill 0
killed | abandoned | kill 0
killed | references | refresh
killed | preStop | terminate 0
killed | preStop failed | tell FailedPreStopHook, terminate 0
killed | ended | start 0, write Running
stopping, preparing | prepared | release, remove
stopping, preparing | prepare failed | release, remove
stopping, preparing | preStop failed | tell FailedPreStopHook
stopping, starting | started | tell Pulled, tell Created, tell Started, count, hook 0 postStart, )"
        R"(tell Killing, hook 0 preStop, write Running
stopping, starting | not created | release, write Failed
stopping, starting | not started | release, write Failed
stopping, starting | preStop failed | tell FailedPreStopHook
stopping | object gone | kill 0
stopping | abandoned | kill 0
stopping | preStop | terminate 0
stopping | preStop failed | tell FailedPreStopHook, terminate 0
stopping | ended | release, write Failed
released | preStop failed | tell FailedPreStopHook
)"
    );
}

TEST_CASE("every answer and every end in every state of a pod's report") {
    const auto released = [](pod_script& s) {
        be_up(s);
        delete_pod_object(s);
        s.end(143);
    };
    const std::vector<named_state> states{
        {"idle", be_up},
        {"writing",
         [](pod_script& s) {
             be_up(s);
             s.machine.on_probe(s.now, 0, 0, probe_kind::readiness, good);
             s.take();
         }},
        {"write later",
         [](pod_script& s) {
             be_up(s);
             s.machine.on_probe(s.now, 0, 0, probe_kind::readiness, good);
             s.take();
             s.machine.on_written(s.now, write_answer::failed);
         }},
        {"removing", [&](pod_script& s) { released(s), s.settle(); }},
        {"remove later",
         [&](pod_script& s) {
             released(s);
             s.settle();
             s.machine.on_removed(s.now, write_answer::failed);
         }},
        {"silent",
         [&](pod_script& s) {
             released(s);
             s.settle();
             s.machine.on_removed(s.now, write_answer::done);
         }},
        {"silent, awaits an answer",
         [&](pod_script& s) {
             released(s);
             s.settle();
             s.machine.on_object_gone(s.now);
         }},
        {"forgotten",
         [&](pod_script& s) {
             released(s);
             s.settle();
             s.machine.on_removed(s.now, write_answer::done);
             s.machine.on_object_gone(s.now);
         }},
    };
    std::vector<named_event> events{
        {"half a second", [](pod_script& s) { s.pass(500ms), s.machine.on_time(s.now); }},
        {"object gone", [](pod_script& s) { s.machine.on_object_gone(s.now); }},
        {"abandoned", [](pod_script& s) { s.machine.abandon(s.now); }},
    };
    const std::map<std::string, write_answer> answers{
        {"done", write_answer::done},
        {"gone", write_answer::gone},
        {"failed", write_answer::failed}};
    for (const auto& [name, answer] : answers) {
        const write_answer said = answer;
        events.push_back({"write " + name, [said](pod_script& s) {
                              s.machine.on_written(s.now, said);
                          }});
        events.push_back({"remove " + name, [said](pod_script& s) {
                              s.machine.on_removed(s.now, said);
                          }});
    }
    CHECK(table_of(states, events, taken) == R"(idle | object gone | kill 0
idle | abandoned | kill 0
writing | object gone | kill 0
writing | abandoned | kill 0
write later | half a second | write Running
write later | object gone | kill 0
write later | abandoned | kill 0
remove later | half a second | remove
remove later | object gone | forget
silent | object gone | forget
silent, awaits an answer | write done | forget
silent, awaits an answer | remove done | forget
silent, awaits an answer | write failed | forget
silent, awaits an answer | remove failed | forget
silent, awaits an answer | write gone | forget
silent, awaits an answer | remove gone | forget
)");
}

TEST_CASE("what changes while a status is written is written behind it, all at once") {
    pod_script s(full_pod());
    CHECK(s.take() == "prepare, write Pending");
    s.machine.on_network("10.0.0.2");
    s.machine.on_prepared(s.now);
    s.machine.on_started(s.now, 0);
    CHECK(s.take() == "start 0, count, hook 0 postStart");
    s.machine.on_written(s.now, write_answer::done);
    CHECK(s.take() == "write Running");
    const auto& write = std::get<kubelet::pod_commands::write_status>(s.last.back());
    CHECK(write.status.pod_ip == "10.0.0.2");
    s.machine.on_written(s.now, write_answer::done);
    CHECK(s.take().empty());
}

TEST_CASE("a status that fails is tried again with what is true by then") {
    pod_script s(full_pod());
    s.machine.on_written(s.now, write_answer::failed);
    s.take();
    be_starting(s);
    s.machine.on_started(s.now, 0);
    CHECK(s.take() == "count, hook 0 postStart");
    s.pass(499ms);
    s.machine.on_time(s.now);
    CHECK(s.take().empty());
    CHECK(s.machine.wake() == s.now.steady + 1ms);
    s.pass(1ms);
    s.machine.on_time(s.now);
    CHECK(s.take() == "write Running");
}

TEST_CASE("what cannot be prepared is tried again, each time later, and at once if something comes"
) {
    pod_script s(full_pod());
    s.settle();
    std::vector<std::int64_t> delays;
    for (int i = 0; i < 9; ++i) {
        s.machine.on_prepare_failed(s.now, kubelet::refusal("FailedMount", "no"));
        const std::string written = i == 0 ? ", write Pending" : "";
        CHECK(s.take(pod_script::events::told) == "tell FailedMount" + written);
        s.machine.on_written(s.now, kubelet::write_answer::done);
        const auto wait = s.machine.wake().value() - s.now.steady;
        delays.push_back(std::chrono::duration_cast<std::chrono::milliseconds>(wait).count());
        s.pass(wait);
        s.machine.on_time(s.now);
        CHECK(s.take() == "prepare");
    }
    CHECK(
        delays == std::vector<std::int64_t>{500, 1000, 2000, 4000, 8000, 16000, 32000, 60000, 60000}
    );
    s.machine.on_prepare_failed(s.now, kubelet::refusal("FailedMount", "no"));
    s.pass(1s);
    s.machine.on_references(s.now);
    CHECK(s.take() == "prepare");
    CHECK_FALSE(s.machine.wake().has_value());
}

TEST_CASE("containers wait with what their volumes wait for, as long as they do") {
    pod_script s(spec_of(R"("initContainers":[{"name":"i"}],"containers":[{"name":"c"}])"));
    s.settle();
    const auto waits = [&] {
        const pods::container_state& init = s.machine.status().init_containers.at(0).now;
        CHECK(s.machine.status().containers.at(0).now.reason == "PodInitializing");
        CHECK(s.machine.status().containers.at(0).now.message.empty());
        return init.reason + ": " + init.message;
    };
    s.machine.on_prepare_failed(s.now, kubelet::refusal("FailedMount", "no secret"));
    CHECK(waits() == "CreateContainerConfigError: no secret");
    s.machine.on_references(s.now);
    s.machine.on_prepare_failed(s.now, kubelet::refusal("FailedCreatePodSandBox", "no network"));
    CHECK(waits() == "ContainerCreating: ");
    s.machine.on_references(s.now);
    s.machine.on_prepare_failed(s.now, kubelet::refusal("FailedMount", "no secret"));
    s.machine.on_references(s.now);
    s.machine.on_prepared(s.now);
    CHECK(waits() == "ContainerCreating: ");
}

TEST_CASE("volumes that change while they are brought up to date are so once more") {
    pod_script s(full_pod());
    be_up(s);
    s.machine.on_references(s.now);
    CHECK(s.take() == "refresh");
    s.machine.on_references(s.now);
    s.machine.on_references(s.now);
    CHECK(s.take().empty());
    s.machine.on_refreshed(s.now);
    CHECK(s.take() == "refresh");
    s.machine.on_refreshed(s.now);
    CHECK(s.take().empty());
}

TEST_CASE("a probe is asked once a period, and behind its answer if that takes longer") {
    pod_script s(full_pod());
    be_up(s);
    CHECK_FALSE(s.machine.wake().has_value());  // answers are awaited
    s.pass(3s);
    s.machine.on_probe(s.now, 0, 0, probe_kind::readiness, good);
    CHECK(s.settle() == "write Running");
    CHECK(s.machine.wake() == s.now.steady + 7s);
    s.pass(7s);
    s.machine.on_time(s.now);
    CHECK(s.take() == "probe 0 readiness");
    s.pass(15s);
    s.machine.on_probe(s.now, 0, 0, probe_kind::readiness, good);
    CHECK(s.take() == "probe 0 readiness");
}

TEST_CASE("SIGTERM comes behind the hook, and SIGKILL with the grace, wherever that is from") {
    pod_script s(full_pod());
    be_up(s);
    s.pass(1s);
    const auto begun = s.now.steady;
    delete_pod_object(s);
    CHECK(s.take() == "hook 0 preStop");
    const auto& hook = std::get<kubelet::pod_commands::call_hook>(s.last.back());
    CHECK(hook.timeout == 30s);
    CHECK(s.machine.wake() == begun + 30s);
    s.pass(2s);
    s.machine.on_hook(s.now, 0, 0, hook_kind::pre_stop, good);
    CHECK(s.take() == "terminate 0");
    SECTION("the first") {
        s.pass(28s);
        s.machine.on_time(s.now);
        CHECK(s.take() == "kill 0");
        CHECK_FALSE(s.machine.wake().has_value());
    }
    SECTION("a shorter one of a second deletion, and no longer one") {
        for (const auto grace : {5s, 60s}) {
            kubelet::pod_spec again = s.machine.pod();
            again.grace = grace;
            s.machine.on_object(s.now, again);
            CHECK(s.machine.wake() == s.now.steady + 5s);
        }
    }
}

TEST_CASE("a pod is over its deadline by the start that its status tells") {
    kubelet::pod_spec pod = full_pod();
    pod.deadline = 10s;
    pod.started = core::instant{} - 4s;
    pod_script s(pod);
    be_up(s);
    CHECK(s.machine.wake() == s.now.steady + 6s);
    s.pass(6s);
    s.machine.on_time(s.now);
    CHECK(s.take(pod_script::events::told).find("tell Killing, hook 0 preStop") == 0);
    s.end(143);
    CHECK(s.machine.status().phase == "Failed");
    CHECK(s.machine.status().reason == "DeadlineExceeded");
    CHECK_FALSE(s.machine.wake().has_value());
}

TEST_CASE("faults befall a pod once, from its start, and none befalls one that ends") {
    pods::behaviour faults;
    faults.fail_at = 1s;
    faults.oom_at = 2s;
    faults.unknown_at = 3s;
    faults.preempt_at = 4s;
    faults.vanish_at = 5s;
    faults.evict_at = 6s;
    faults.delete_at = 7s;
    pod_script s(full_pod(), faults);
    s.pass(1h);
    be_up(s);
    const auto second = [&] {
        s.pass(1s);
        s.machine.on_time(s.now);
        return s.settle();
    };
    CHECK(second() == "kill 0");
    CHECK(second() == "kill 0");
    CHECK(second() == "cut, write Unknown");
    // First the status that says why.
    CHECK(second() == "write Unknown, delete");
    CHECK(second() == "delete at once");
    CHECK(second() == "hook 0 preStop, write Unknown");
    CHECK(second().empty());
    s.end(137);
    CHECK(s.machine.container(0).status().now.reason == "OOMKilled");
}
