// SPDX-License-Identifier: Apache-2.0
//
// One pod on this machine: does what steps_of() says, and reports what has become of it.
#pragma once

#include "kubelet/life/container_run.hpp"
#include "kubelet/life/launch.hpp"
#include "kubelet/life/node_services.hpp"
#include "kubelet/life/pod_state.hpp"
#include "pods/behaviour.hpp"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace signalbox::op::kubelet {

struct handler_target;

/// Ids of accelerators, by container.
using device_map = std::map<std::string, std::string>;

/// Lifetimes: its tasks keep it; node_services must outlive those (node_services::idle()).
class pod_worker : public std::enable_shared_from_this<pod_worker> {
public:
    /// `faults`: what is to befall the pod, from the start of its containers.
    pod_worker(node_services& node, pod_spec pod, device_map devices, pods::behaviour faults);
    ~pod_worker();

    void begin();
    /// The object has changed.
    void update(const pod_spec& now);
    /// The object is gone: nothing is left to report.
    void object_gone();
    /// A ConfigMap or Secret that the pod refers to has come or changed.
    void object_changed();
    /// The process ends: everything is killed, and nothing reported.
    void abandon();

    const pod_spec& pod() const { return pod_; }
    const std::string& sandbox() const { return sandbox_; }
    const pod_state& state() const { return state_; }
    const object_names& references() const { return references_; }
    /// The present run, or the last; null before the first.
    std::shared_ptr<container_run> run_of(const std::string& container) const;
    /// Log of a run; `previous`: of that before. Empty if there was none.
    std::filesystem::path log_of(const std::string& container, bool previous) const;

private:
    struct slot {
        std::shared_ptr<container_run> run;
        std::optional<probe_count> startup, readiness, liveness;
        k8sio::clock::timer_id probe_timers[3] = {0, 0, 0};
        std::optional<std::chrono::seconds> probe_grace;
        int runs = 0;  ///< so far
    };
    enum class probe_kind { startup, readiness, liveness };

    // pod_worker.cpp: what happens next
    void sync();
    void wake_at(std::optional<k8sio::steady_time> at);
    void stop_container(std::size_t i);
    void send_signal(std::size_t i);
    void kill_at(container_run& run, k8sio::steady_time at);
    void finish();
    void report();
    static boost::asio::awaitable<void> write_status(std::shared_ptr<pod_worker> self);
    static boost::asio::awaitable<void> remove_object(std::shared_ptr<pod_worker> self);
    void forget();
    void remove_folder(const std::filesystem::path& folder);
    void clear_timers();
    void end_pod(std::string reason, std::string message);

    // pod_start.cpp: making it
    static boost::asio::awaitable<void> prepare(std::shared_ptr<pod_worker> self);
    boost::asio::awaitable<outcome<void>> prepare_once();
    outcome<void> set_up_volumes(const object_data& objects);
    outcome<void> write_host_files();
    static boost::asio::awaitable<void> refresh(std::shared_ptr<pod_worker> self);
    static boost::asio::awaitable<void> start(std::shared_ptr<pod_worker> self, std::size_t i);
    boost::asio::awaitable<outcome<std::shared_ptr<container_run>>> start_once(std::size_t i);
    outcome<void> make_run_files(std::size_t i, int number, std::string& passwd, bool& own_passwd);
    void start_failed(std::size_t i, const refusal& why);
    void started(std::size_t i, std::shared_ptr<container_run> run);
    static boost::asio::awaitable<void> pump(
        std::shared_ptr<pod_worker> self,
        std::shared_ptr<container_run> run,
        containers::output_stream from
    );
    void tell_lost_lines(const container_run& run) const;
    static boost::asio::awaitable<void> watch_end(
        std::shared_ptr<pod_worker> self, std::size_t i, std::shared_ptr<container_run> run
    );
    void ended(std::size_t i, container_run& run, const containers::exit_status& how);
    std::string message_of(std::size_t i, const container_run& run, int code) const;

    // pod_probes.cpp: hooks, probes and faults
    void after_start(std::size_t i);
    void start_probes(std::size_t i);
    void start_later_probes(std::size_t i);
    void schedule_probe(std::size_t i, probe_kind kind, std::chrono::nanoseconds delay);
    void run_probe(std::size_t i, probe_kind kind);
    void probed(std::size_t i, probe_kind kind, const std::string& failure, bool success);
    void stop_probes(std::size_t i);
    void restart_unhealthy(std::size_t i, probe_kind kind);
    handler_target target(std::size_t i) const;
    void schedule_faults();
    void schedule(const pods::behaviour& faults);
    void read_new_faults(const string_map& annotations);
    void fault_at(const std::optional<duration>& at, void (pod_worker::*what)());
    void evict();
    void preempt();
    void remove_by_fault();
    void vanish();
    void lose_node();
    void kill_training();
    void kill_for_memory();
    void kill_main(const std::string& reason);

    node_services& node_;
    pod_spec pod_;
    device_map devices_;
    pods::behaviour faults_;
    pod_state state_;
    pod_place place_;
    pod_folders folders_;
    object_names references_;
    std::vector<slot> slots_;
    std::map<std::string, volume_place> volumes_;
    std::string sandbox_;
    k8sio::clock::timer_id wake_timer_ = 0, deadline_timer_ = 0, prepare_timer_ = 0;
    std::vector<k8sio::clock::timer_id> fault_timers_;
    std::chrono::nanoseconds prepare_delay_{0};
    bool preparing_ = false, refreshing_ = false, refresh_again_ = false;
    bool faults_set_ = false;
    bool released_ = false;   ///< what it had of the node
    bool removing_ = false;   ///< the object's deletion is finished by us
    bool gone_ = false;       ///< the object
    bool abandoned_ = false;  ///< nothing is reported any more
    bool writing_ = false;
    pods::pod_status wanted_, reported_;
    bool ever_reported_ = false;
};

}  // namespace signalbox::op::kubelet
