// SPDX-License-Identifier: Apache-2.0
//
// One pod on this machine: carries out what its state machine says, and tells it what came of that.
#pragma once

#include "kubelet/life/container_run.hpp"
#include "kubelet/life/launch.hpp"
#include "kubelet/life/node_services.hpp"
#include "kubelet/machine/pod_machine.hpp"
#include "pods/behaviour.hpp"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace signalbox::op::kubelet {

struct handler_target;

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

    const pod_spec& pod() const { return machine_.pod(); }
    const std::string& sandbox() const { return sandbox_; }
    const pod_machine& machine() const { return machine_; }
    const object_names& references() const { return references_; }
    /// The present run, or the last; null before the first.
    std::shared_ptr<container_run> run_of(const std::string& container) const;
    /// Log of a run; `previous`: of that before. Empty if there was none.
    std::filesystem::path log_of(const std::string& container, bool previous) const;

private:
    using self_ptr = std::shared_ptr<pod_worker>;

    // pod_worker.cpp: commands, and what is written to the API server
    moment now() const;
    void act();
    void wake_at(std::optional<k8sio::steady_time> at);
    void carry_out(const pod_commands::prepare&);
    void carry_out(const pod_commands::refresh&);
    void carry_out(const pod_commands::start& command);
    void carry_out(const pod_commands::terminate& command);
    void carry_out(const pod_commands::kill& command);
    void carry_out(const pod_commands::call_hook& command);
    void carry_out(const pod_commands::ask_probe& command);
    void carry_out(const pod_commands::write_status& command);
    void carry_out(const pod_commands::remove_object&);
    void carry_out(const pod_commands::delete_by_fault& command);
    void carry_out(const pod_commands::cut_network&);
    void carry_out(const pod_commands::tell& command);
    void carry_out(const pod_commands::complain& command);
    void carry_out(const pod_commands::count_start&);
    void carry_out(const pod_commands::release&);
    void carry_out(const pod_commands::forget&);
    static boost::asio::awaitable<void> write_status(self_ptr self, std::string patch);
    static boost::asio::awaitable<void> remove_object(self_ptr self);
    write_answer answer_of(const k8sio::result<std::string>& answer, const std::string& prefix);
    handler_target target(std::size_t i) const;
    void remove_folder(const std::filesystem::path& folder);

    // pod_start.cpp: making it, and listening to what runs
    static boost::asio::awaitable<void> prepare(self_ptr self);
    boost::asio::awaitable<outcome<void>> prepare_once();
    outcome<void> set_up_volumes(const object_data& objects);
    outcome<void> write_host_files();
    static boost::asio::awaitable<void> refresh(self_ptr self);
    static boost::asio::awaitable<void> start(self_ptr self, std::size_t i, int number);
    boost::asio::awaitable<outcome<std::shared_ptr<container_run>>> start_once(
        std::size_t i, int number
    );
    outcome<void> make_run_files(std::size_t i, int number, launch_request& request);
    void tell_unseen_files(const containers::container_spec& made);
    void started(std::size_t i, std::shared_ptr<container_run> run);
    static boost::asio::awaitable<void> pump(
        self_ptr self, std::shared_ptr<container_run> run, containers::output_stream from
    );
    void tell_lost_lines(const container_run& run) const;
    static boost::asio::awaitable<void> watch_end(
        self_ptr self, std::size_t i, std::shared_ptr<container_run> run
    );
    void ended(std::size_t i, container_run& run, const containers::exit_status& how);
    std::string message_of(std::size_t i, const container_run& run, int code) const;

    node_services& node_;
    pod_machine machine_;
    device_map devices_;
    pod_place place_;
    pod_folders folders_;
    object_names references_;
    std::vector<std::shared_ptr<container_run>> runs_;  // by container
    std::map<std::string, volume_place> volumes_;
    std::string sandbox_;
    k8sio::clock::timer_id timer_ = 0;
    std::optional<k8sio::steady_time> timer_at_;
};

}  // namespace signalbox::op::kubelet
