// SPDX-License-Identifier: Apache-2.0
//
// One container of a pod as a state machine: its runs, hooks and probes. No I/O, no clock.
//
//     waiting ── start ── starting ── on_started ── running ── stop ── stopping
//        ^                   |                         |                  |
//        |                   |  on_start_failed        |  on_ended        |  on_ended
//        +───────────────────+─────────────────────────+──────────────────+──> ended
#pragma once

#include "kubelet/machine/pod_command.hpp"
#include "kubelet/machine/restart.hpp"
#include "kubelet/pod/refusal.hpp"

#include <jobcore/time.hpp>
#include <k8sio/time.hpp>

#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace signalbox::op::kubelet {

/// When something happens.
struct moment {
    k8sio::steady_time steady{};  ///< what delays and deadlines go by
    core::instant server{};       ///< what is reported
};

/// The earlier of two times; nothing: never.
std::optional<k8sio::steady_time> earlier_of(
    std::optional<k8sio::steady_time> a, std::optional<k8sio::steady_time> b
);

/// What a container's fate depends on beside itself, and where its commands go.
struct container_scene {
    const pod_spec& pod;
    std::size_t index;  ///< of the container
    moment now;
    bool restarts;     ///< the pod has not been told to end
    bool mains_ended;  ///< all main containers have ended for good
    std::vector<pod_command>& out;
    const container_spec& spec() const { return pod.containers[index]; }
};

namespace container_states {

/// It starts when its turn comes, and not before `due`.
struct waiting {
    k8sio::steady_time due{};
};
struct starting {};

/// A probe: when it is asked, and what its answers were.
struct probing {
    probe_count count;
    std::optional<k8sio::steady_time> due;  ///< nothing: an answer is awaited
    k8sio::steady_time next{};              ///< the answer does not make it due before
};
/// The postStart hook is under way: no probe is asked.
struct in_hook {};
/// The startup probe has not succeeded yet: no other is asked.
struct starting_up {
    probing startup;
};
struct up {
    std::optional<probing> readiness, liveness;
};

struct run_facts {
    int number = 0;
    k8sio::steady_time since{};
    std::string killed_as;  ///< reason of its end, in place of what the exit code says
};
struct running {
    run_facts run;
    std::variant<in_hook, starting_up, up> phase;
};
/// It was told to end.
struct stopping {
    run_facts run;
    std::optional<k8sio::steady_time> kill_at;  ///< nothing: it was killed
};
struct ended {};

}  // namespace container_states

class container_life {
public:
    using state = std::variant<
        container_states::waiting,
        container_states::starting,
        container_states::running,
        container_states::stopping,
        container_states::ended>;

    explicit container_life(const container_spec& spec);
    /// Takes over what the status of an earlier process says of it.
    void restore(const container_scene& scene, const former_container& before);

    void start(const container_scene& scene);
    void on_started(const container_scene& scene);
    /// After on_started(), unless it was stopped at once: the hook, then the probes.
    void begin_checks(const container_scene& scene);
    void on_start_failed(const container_scene& scene, const refusal& why);
    void on_hook(
        const container_scene& scene, int run, hook_kind which, const handler_result& result
    );
    void on_probe(
        const container_scene& scene, int run, probe_kind which, const handler_result& result
    );
    void on_ended(const container_scene& scene, const run_end& how);
    /// Asks the probes that are due, and kills what has outlasted its grace.
    void on_time(const container_scene& scene);
    /// What it lacked may be there.
    void try_again(const container_scene& scene);

    /// Tells a running one to end; without grace it is killed.
    void stop(const container_scene& scene, std::chrono::nanoseconds grace);
    /// One that was told to end has no longer than this.
    void shorten(const container_scene& scene, std::chrono::nanoseconds grace);
    /// True if there was a process to be killed.
    bool kill_as(const container_scene& scene, const std::string& reason);
    void kill(const container_scene& scene);

    template <class S>
    bool is() const {
        return std::holds_alternative<S>(state_);
    }
    /// Starting, running or stopping.
    bool active() const;
    bool succeeded() const;
    /// Containers behind an init container wait for this: its end, or, of a sidecar, its start.
    bool lets_pass(const container_spec& spec) const;
    bool may_start(k8sio::steady_time now) const;
    /// When something is due, except for waiting(): that has to have its turn.
    std::optional<k8sio::steady_time> wake() const;
    /// When a waiting one may start.
    std::optional<k8sio::steady_time> start_due() const;

    const pods::container_status& status() const { return status_; }
    int runs() const { return runs_; }  ///< so far

private:
    void begin_probes(const container_scene& scene);
    void come_up(const container_scene& scene);
    void restart_unhealthy(const container_scene& scene, probe_kind which);
    void stop_with(const container_scene& scene, std::chrono::nanoseconds grace);
    void end(const container_scene& scene, k8sio::steady_time since, pods::container_state how);
    const container_states::run_facts* run() const;

    state state_;
    pods::container_status status_;
    restart_delay delay_;
    bool started_up_ = false;  // of a sidecar: it has been up, and is restarted if it ends
    int runs_ = 0;
};

}  // namespace signalbox::op::kubelet
