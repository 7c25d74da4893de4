// SPDX-License-Identifier: Apache-2.0
//
// What a pod's state machine wants done. Values: carrying them out is pod_worker's.
#pragma once

#include "kubelet/pod/pod_spec.hpp"
#include "pods/pod_status.hpp"

#include <chrono>
#include <cstddef>
#include <iosfwd>
#include <string>
#include <string_view>
#include <variant>

namespace signalbox::op::kubelet {

enum class hook_kind { post_start, pre_stop };
enum class probe_kind { startup, readiness, liveness };

/// What the pod has for it; `handler::kind::none` if nothing.
const handler& hook_of(const container_spec& container, hook_kind which);
/// Null if the container has none.
const probe* probe_of(const container_spec& container, probe_kind which);

/// Containers are numbers of pod_spec::containers; `run` is the number of a container's run, from
/// 0.
namespace pod_commands {

/// Make volumes, network and files; then on_network(), and on_prepared() or on_prepare_failed().
struct prepare {
    friend bool operator==(const prepare&, const prepare&) = default;
};
/// Bring the files of volumes up to date; then on_refreshed().
struct refresh {
    friend bool operator==(const refresh&, const refresh&) = default;
};
/// Then on_started() or on_start_failed().
struct start {
    std::size_t container = 0;
    int run = 0;
    friend bool operator==(const start&, const start&) = default;
};
/// SIGTERM to its first process.
struct terminate {
    std::size_t container = 0;
    friend bool operator==(const terminate&, const terminate&) = default;
};
/// SIGKILL to all of it.
struct kill {
    std::size_t container = 0;
    friend bool operator==(const kill&, const kill&) = default;
};
/// Then on_hook().
struct call_hook {
    std::size_t container = 0;
    int run = 0;
    hook_kind which = hook_kind::post_start;
    std::chrono::nanoseconds timeout{0};  ///< 0: none
    friend bool operator==(const call_hook&, const call_hook&) = default;
};
/// Then on_probe().
struct ask_probe {
    std::size_t container = 0;
    int run = 0;
    probe_kind which = probe_kind::startup;
    friend bool operator==(const ask_probe&, const ask_probe&) = default;
};
/// Then on_written().
struct write_status {
    pods::pod_status status;
    friend bool operator==(const write_status&, const write_status&) = default;
};
/// The kubelet's part of a deletion: the object goes. Then on_removed().
struct remove_object {
    friend bool operator==(const remove_object&, const remove_object&) = default;
};
/// A fault: a user deletes the object. Its answer is not awaited.
struct delete_by_fault {
    bool at_once = false;  ///< without grace
    friend bool operator==(const delete_by_fault&, const delete_by_fault&) = default;
};
struct cut_network {
    friend bool operator==(const cut_network&, const cut_network&) = default;
};
/// An event of the pod.
struct tell {
    bool warning = false;
    std::string reason, message;
    friend bool operator==(const tell&, const tell&) = default;
};
/// To the user of the program.
struct complain {
    std::string text;
    friend bool operator==(const complain&, const complain&) = default;
};
/// Its first main container has started: it counts as a pod that began.
struct count_start {
    friend bool operator==(const count_start&, const count_start&) = default;
};
/// Nothing of it runs, and nothing will: give back what it has of the node.
struct release {
    friend bool operator==(const release&, const release&) = default;
};
/// Object and containers are gone: nothing is left to do, and its logs go.
struct forget {
    friend bool operator==(const forget&, const forget&) = default;
};

}  // namespace pod_commands

using pod_command = std::variant<
    pod_commands::prepare,
    pod_commands::refresh,
    pod_commands::start,
    pod_commands::terminate,
    pod_commands::kill,
    pod_commands::call_hook,
    pod_commands::ask_probe,
    pod_commands::write_status,
    pod_commands::remove_object,
    pod_commands::delete_by_fault,
    pod_commands::cut_network,
    pod_commands::tell,
    pod_commands::complain,
    pod_commands::count_start,
    pod_commands::release,
    pod_commands::forget>;

/// One short line: `start 0`, `tell Killing`, `write Running`.
std::string to_string(const pod_command& command);
std::ostream& operator<<(std::ostream& out, const pod_command& command);

/// How a hook or a probe went.
struct handler_result {
    bool success = false;
    std::string text;  ///< why not, in the kubelet's words
};

/// How a container's run ended.
struct run_end {
    int code = 0;
    bool oom_killed = false;
    std::string message;  ///< for its termination message
};

/// What the API server said to a write.
enum class write_answer {
    done,
    gone,    ///< the object is not there, or is another one
    failed,  ///< to be tried again
};

}  // namespace signalbox::op::kubelet
