// SPDX-License-Identifier: Apache-2.0
//
// One pod of a kubelet as a state machine: it is told what happened, and says what is to be done.
// No I/O, no clock: times come in.
//
//     unprepared ── prepare ── preparing ── on_prepared ── prepared <─> refreshing
//         ^                        |                           |
//         +── on_prepare_failed ───+       a deletion, the deadline, an eviction; from all of them
//                                                              |
//                                            released <── stopping
//
// A pod whose containers have all ended by themselves is released too. What the API server is told
// of it goes on beside that, in report_states.
#pragma once

#include "kubelet/machine/container_order.hpp"
#include "kubelet/machine/fault_plan.hpp"
#include "kubelet/machine/pod_command.hpp"
#include "kubelet/machine/pod_report.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace signalbox::op::kubelet {

namespace pod_states {

/// Volumes and network are to be made at `due`.
struct unprepared {
    k8sio::steady_time due{};
    std::chrono::nanoseconds delay{0};  ///< behind the last failure
};
struct preparing {
    std::chrono::nanoseconds delay{0};
};
struct prepared {};
/// As prepared(), while the files of volumes are brought up to date.
struct refreshing {
    bool again = false;  ///< what they follow has changed since
};
/// Nothing is started any more.
struct stopping {
    bool preparing = false;  ///< what was under way is awaited
};
/// Nothing runs, and what it had of the node is given back.
struct released {};

}  // namespace pod_states

namespace report_states {

/// No request is under way.
struct idle {};
struct writing {
    pods::pod_status status;
};
struct write_later {
    k8sio::steady_time at;
};
struct removing {};
struct remove_later {
    k8sio::steady_time at;
};
/// Nothing is told any more: the object is gone or is another one, or the process ends.
struct silent {
    bool awaits_answer = false;  ///< of a request that was under way
    bool object_gone = false;    ///< the watch has shown it
};
/// All is done.
struct forgotten {};

}  // namespace report_states

class pod_machine {
public:
    /// `faults`: what is to befall the pod, from the start of its containers. on_time() begins.
    pod_machine(pod_spec pod, pods::behaviour faults, std::string host_address, const moment& now);

    /// What is to be done now, in this order; asked for after each on_...().
    std::vector<pod_command> take_commands() { return std::exchange(commands_, {}); }
    /// When on_time() is wanted though nothing happens.
    std::optional<k8sio::steady_time> wake() const;

    void on_time(const moment& now) { step(now); }
    /// The object has changed.
    void on_object(const moment& now, const pod_spec& spec);
    /// The object is gone: nothing is left to report.
    void on_object_gone(const moment& now);
    /// A ConfigMap or Secret that the pod refers to has come or changed.
    void on_references(const moment& now);
    /// The process ends: everything is killed, and nothing reported.
    void abandon(const moment& now);

    void on_network(std::string address) { report_.address = std::move(address); }
    void on_prepared(const moment& now);
    void on_prepare_failed(const moment& now, const refusal& why);
    void on_refreshed(const moment& now);
    void on_started(const moment& now, std::size_t container);
    void on_start_failed(const moment& now, std::size_t container, const refusal& why);
    void on_hook(
        const moment& now,
        std::size_t container,
        int run,
        hook_kind which,
        const handler_result& result
    );
    void on_probe(
        const moment& now,
        std::size_t container,
        int run,
        probe_kind which,
        const handler_result& result
    );
    void on_ended(const moment& now, std::size_t container, const run_end& how);
    void on_written(const moment& now, write_answer answer);
    void on_removed(const moment& now, write_answer answer);

    const pod_spec& pod() const { return pod_; }
    const container_life& container(std::size_t i) const { return containers_[i]; }
    const std::string& address() const { return report_.address; }
    /// The status that is reported, or is going to be.
    const pods::pod_status& status() const { return shown_; }
    /// It was told to end, or has: nothing is started any more.
    bool stops() const;
    bool released() const { return std::holds_alternative<pod_states::released>(state_); }

private:
    void step(const moment& now);
    void befall(const moment& now, fault what);
    void kill_training(const moment& now, const std::string& reason);
    void stop();
    void end_pod(std::string reason, std::string message);
    void start_and_stop(const moment& now);
    void prepare_if_due(const moment& now);
    void release();
    void report(const moment& now);
    void fall_silent(bool object_gone);
    void forget_if_done();
    bool is_over() const;
    bool is_silent() const;
    bool is_prepared() const;
    container_scene scene(const moment& now, std::size_t container);
    void tell(bool warning, std::string reason, std::string message);

    pod_spec pod_;
    container_lives containers_;
    fault_plan faults_;
    pod_report report_;
    std::optional<k8sio::steady_time> deadline_;
    std::variant<
        pod_states::unprepared,
        pod_states::preparing,
        pod_states::prepared,
        pod_states::refreshing,
        pod_states::stopping,
        pod_states::released>
        state_;
    std::variant<
        report_states::idle,
        report_states::writing,
        report_states::write_later,
        report_states::removing,
        report_states::remove_later,
        report_states::silent,
        report_states::forgotten>
        reporting_;
    pods::pod_status shown_;
    std::optional<pods::pod_status> reported_;  // the server has it
    std::vector<pod_command> commands_;
};

}  // namespace signalbox::op::kubelet
