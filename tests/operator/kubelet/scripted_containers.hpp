// SPDX-License-Identifier: Apache-2.0
//
// A container runtime that runs nothing: a test says what each process does.
#pragma once

#include "containers/container_runtime.hpp"

#include <k8sio/clock.hpp>
#include <k8sio/synchronization.hpp>

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace signalbox::op::test {

/// What one process does.
struct process_script {
    std::optional<containers::container_error> refused;
    std::chrono::nanoseconds lasts = std::chrono::hours(1000);
    int code = 0;
    bool oom = false;
    std::string says, complains;  ///< at its beginning
    std::string message;          ///< termination message
    bool ignores_term = false;
    std::chrono::nanoseconds stops_after{0};  ///< from TERM to its end, with 143
};

class scripted_process final : public containers::process {
public:
    scripted_process(
        boost::asio::any_io_executor executor, k8sio::clock& time, process_script script
    );
    ~scripted_process() override;

    boost::asio::awaitable<std::size_t> read(
        containers::output_stream from, boost::asio::mutable_buffer to
    ) override;
    boost::asio::awaitable<bool> write(boost::asio::const_buffer input) override;
    void close_input() override {}
    void resize(std::uint16_t, std::uint16_t) override {}
    boost::asio::awaitable<containers::exit_status> wait() override;
    void signal(int number) override;
    void kill() override;

    void end(int code);
    void say(std::string text);
    bool ended() const { return status_.has_value(); }
    std::vector<int> signals;
    std::string input;
    std::function<void()> destroyed;

private:
    struct output {
        explicit output(boost::asio::any_io_executor executor) : news(executor) {}
        std::string text;
        k8sio::notification news;
    };
    void wake();

    boost::asio::any_io_executor executor_;
    k8sio::clock& time_;
    process_script script_;
    output out_, err_;
    std::vector<std::shared_ptr<k8sio::notification>> waiting_;
    std::optional<containers::exit_status> status_;
    k8sio::clock::timer_id timer_ = 0;
};

class scripted_containers final : public containers::container_runtime {
public:
    scripted_containers(boost::asio::any_io_executor executor, k8sio::clock& time)
        : executor_(executor), time_(time) {}

    /// What a container does, by what is asked for.
    std::function<process_script(const containers::container_spec&)> script;
    /// What an exec does.
    std::function<process_script(const containers::process_spec&)> exec_script;
    std::function<bool(std::uint16_t port)> listens;  ///< for connect()
    /// What one who was connected to answers to a request of HTTP; then it closes the connection.
    std::function<std::string(const std::string& request)> serves;
    std::optional<containers::container_error> no_sandbox;
    std::chrono::nanoseconds sandbox_takes{0};
    int name_server = -1;  ///< a socket; none: there is no network for names

    std::vector<containers::container_spec> runs;
    std::vector<scripted_process*> processes;  ///< of runs; those that have been destroyed are null
    std::set<std::string> sandboxes, cut_off;
    std::vector<std::string> hostnames;
    std::vector<bool> own_users;  ///< of the sandboxes
    bool stopped = false;

    boost::asio::awaitable<containers::result<containers::sandbox>> make_sandbox(
        containers::sandbox_spec spec
    ) override;
    void remove_sandbox(const std::string& id) override { sandboxes.erase(id); }
    void cut(const std::string& id, bool off) override;
    boost::asio::awaitable<containers::result<std::unique_ptr<containers::process>>> run(
        containers::container_spec spec
    ) override;
    boost::asio::awaitable<containers::result<std::unique_ptr<containers::process>>> exec(
        containers::process& in, containers::process_spec spec
    ) override;
    boost::asio::awaitable<containers::result<containers::byte_stream>> connect(
        const std::string& sandbox, std::string address, std::uint16_t port
    ) override;
    std::string node_address() const override { return "10.88.0.1"; }
    containers::result<int> name_server_socket() override;
    containers::result<int> service_socket() override {
        return containers::container_error{"NoService", "there is no network here"};
    }
    std::vector<std::string> shortcomings() const override { return {}; }
    boost::asio::awaitable<void> stop() override;

private:
    boost::asio::any_io_executor executor_;
    k8sio::clock& time_;
    int made_ = 0;
};

}  // namespace signalbox::op::test
