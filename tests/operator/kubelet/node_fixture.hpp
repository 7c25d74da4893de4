// SPDX-License-Identifier: Apache-2.0
//
// The process runtime over scripted containers, against the embedded API server, in virtual time.
#pragma once

#include "kubelet/node/process_runtime.hpp"
#include "scripted_containers.hpp"

#include <k8sio/client.hpp>
#include <k8sio/server/api_server.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <catch2/catch.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace signalbox::op::test {

class node_fixture {
public:
    /// `claims` of the options is below its own folder. `name_server`: a socket, or none.
    explicit node_fixture(
        kubelet::process_options options = kubelet::process_options(), int name_server = -1
    );
    ~node_fixture();

    void settle();
    void run_for(std::chrono::nanoseconds duration);
    template <class T>
    T wait(boost::asio::awaitable<T> task) {
        std::optional<T> out;
        boost::asio::co_spawn(loop_, std::move(task), [&](std::exception_ptr, T value) {
            out.emplace(std::move(value));
        });
        settle();
        REQUIRE(out.has_value());
        return std::move(*out);
    }

    /// A pod `name` with these members of its spec.
    void create(const std::string& name, const std::string& spec, const std::string& meta = "");
    void create(const k8sio::resource_type& type, const std::string& body);
    void update_data(
        const k8sio::resource_type& type, const std::string& name, const std::string& data
    );
    void remove(const std::string& name, std::optional<std::int64_t> grace = std::nullopt);
    std::string pod(const std::string& name);  ///< empty if it is gone
    std::string field(const std::string& name, const std::string& pointer);
    std::string phase(const std::string& name) { return field(name, "/status/phase"); }
    /// `reason: message` of the pod's events, in order.
    std::vector<std::string> events(const std::string& name);
    bool has_event(const std::string& name, const std::string& text);
    /// Environment of the n-th container that was run.
    std::string env(std::size_t run, const std::string& name) const;
    const containers::mount_point* mount(std::size_t run, const std::string& target) const;

    /// The process of the n-th run.
    scripted_process& process(std::size_t run) {
        REQUIRE(containers_->processes.at(run) != nullptr);
        return *containers_->processes[run];
    }
    scripted_containers& containers() { return *containers_; }
    kubelet::process_runtime& runtime() { return *runtime_; }
    const std::vector<std::string>& complaints() const { return complaints_; }
    const std::filesystem::path& folder() const { return folder_; }
    k8sio::client& user() { return user_; }
    k8sio::server::api_server& server() { return server_; }
    boost::asio::io_context& loop() { return loop_; }
    void stop();

private:
    std::filesystem::path folder_;
    boost::asio::io_context loop_;
    k8sio::virtual_clock time_;
    k8sio::server::api_server server_;
    std::unique_ptr<k8sio::transport> node_transport_, user_transport_;
    k8sio::client node_api_, user_;
    std::vector<std::string> complaints_;
    scripted_containers* containers_ = nullptr;
    std::unique_ptr<kubelet::process_runtime> runtime_;
    bool ended_ = false;
};

/// A container `c` with a command and these further members.
std::string container(const std::string& more = "");

/// Members of the spec of a pod that has this container alone and does not restart it.
std::string one(const std::string& container_more = "", const std::string& spec_more = "");

process_script ends_after(std::chrono::nanoseconds time, int code);

}  // namespace signalbox::op::test
