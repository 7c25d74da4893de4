// SPDX-License-Identifier: Apache-2.0
#include "containers/local_runtime.hpp"

#include "containers/control_groups.hpp"
#include "containers/instance_folder.hpp"
#include "containers/local_process.hpp"
#include "containers/node_launch.hpp"
#include "containers/node_link.hpp"
#include "containers/uplink.hpp"

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <csignal>
#include <fstream>
#include <optional>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace signalbox::op::containers {

namespace {

namespace asio = boost::asio;

class runtime final : public local_runtime {
public:
    runtime(asio::any_io_executor executor, instance_folder folder, launched_node node)
        : executor_(executor),
          folder_(std::move(folder)),
          link_(std::make_shared<node_link>(executor, std::move(node.socket))),
          pid_(node.pid),
          pidfd_(std::move(node.pidfd)) {
        link_->begin();
    }

    ~runtime() override {
        link_->close();
        if (pid_ > 0) {
            ::kill(pid_, SIGKILL);
            ::waitpid(pid_, nullptr, 0);
        }
    }

    asio::awaitable<container_error> start(node_config config, bool offline) {
        const std::shared_ptr<node_link> link = link_;
        link->tell(config);
        co_await link->started.wait();
        for (const std::string& left : folder_.left) {
            link->tell(remove_files_request{0, left});
        }
        if (!link->ready.refused.empty()) {
            co_return container_error{"NoNamespaces", link->ready.refused};
        }
        std::ofstream noted(folder_.path + noted_groups);
        for (const std::string& group : link->ready.cgroups) {
            noted << group << '\n';
        }
        if (!offline) {
            uplink_.emplace(executor_).start(pid_, link_);
        }
        co_return container_error{};
    }

    const std::string& folder() const override { return folder_.path; }

    asio::awaitable<result<sandbox>> make_sandbox(sandbox_spec spec) override {
        make_sandbox_request request;
        request.spec = std::move(spec);
        if (uplink_) {
            co_await uplink_->decided();  // so that its first program finds the way out
        }
        const node_reply reply = co_await link_->ask(std::move(request), no_fds());
        if (!reply.answer.error.reason.empty() || reply.answer.values.size() != 2) {
            co_return reply.answer.error;
        }
        co_return sandbox{reply.answer.values[0], reply.answer.values[1]};
    }

    void remove_sandbox(const std::string& id) override { link_->tell(remove_sandbox_request{id}); }

    void cut(const std::string& id, bool off) override { link_->tell(cut_request{id, off}); }

    asio::awaitable<result<std::unique_ptr<process>>> run(container_spec spec) override {
        run_request request;
        const process_spec& program = spec.process;
        request.spec = spec;
        co_return co_await start_process(std::move(request), program);
    }

    asio::awaitable<result<std::unique_ptr<process>>> exec(process& in, process_spec spec)
        override {
        exec_request request;
        request.container = static_cast<local_process&>(in).id();
        request.spec = spec;
        co_return co_await start_process(std::move(request), spec);
    }

    asio::awaitable<result<byte_stream>> connect(
        const std::string& sandbox, std::string address, std::uint16_t port
    ) override {
        connect_request request;
        request.sandbox = sandbox;
        request.address = address;
        request.port = port;
        node_reply reply = co_await link_->ask(std::move(request), no_fds());
        if (!reply.answer.error.reason.empty()) {
            co_return reply.answer.error;
        }
        const asio::generic::stream_protocol tcp(AF_INET, IPPROTO_TCP);
        byte_stream stream(executor_, tcp, reply.fd.release());
        boost::system::error_code failed;
        co_await stream.async_wait(
            byte_stream::wait_write, asio::redirect_error(asio::use_awaitable, failed)
        );
        int number = 0;
        socklen_t size = sizeof number;
        ::getsockopt(stream.native_handle(), SOL_SOCKET, SO_ERROR, &number, &size);
        if (failed || number != 0) {
            number = failed ? failed.value() : number;
            co_return container_error{
                "ConnectError",
                fmt::format("dial tcp {}:{}: connect: {}", address, port, error_words(number))};
        }
        co_return stream;
    }

    asio::awaitable<void> remove_files(std::string folder) override {
        remove_files_request request;
        request.folder = std::move(folder);
        co_await link_->ask(std::move(request), no_fds());
    }

    std::string node_address() const override { return link_->ready.address; }

    result<int> name_server_socket() override {
        if (!link_->name_server) {
            return container_error{
                "NoNameServer", fmt::format("port 53 of {} cannot be had", link_->ready.address)};
        }
        return link_->name_server.release();
    }

    result<int> service_socket() override {
        if (!link_->service) {
            return container_error{
                "NoService", fmt::format("no port of {} can be had", link_->ready.address)};
        }
        return link_->service.release();
    }

    std::vector<std::string> shortcomings() const override {
        std::vector<std::string> out = link_->ready.shortcomings;
        if (uplink_ && !uplink_->trouble().empty()) {
            out.push_back(uplink_->trouble());
        }
        return out;
    }

    asio::awaitable<void> stop() override {
        const std::shared_ptr<node_link> link = link_;
        link->close();
        if (pid_ <= 0) {
            co_return;
        }
        // It has ended when everything in its PID namespace has.
        asio::posix::stream_descriptor end(executor_, pidfd_.release());
        boost::system::error_code ignored;
        co_await end.async_wait(
            asio::posix::stream_descriptor::wait_read,
            asio::redirect_error(asio::use_awaitable, ignored)
        );
        ::waitpid(std::exchange(pid_, 0), nullptr, 0);
        uplink_.reset();
        for (const std::string& group : link->ready.cgroups) {
            remove_groups(group);
        }
        remove_tree(folder_.path);
    }

private:
    static std::vector<unique_fd> no_fds() { return {}; }

    template <class Request>
    asio::awaitable<result<std::unique_ptr<process>>> start_process(
        Request request, const process_spec& program
    ) {
        auto pipes = make_pipes(program);
        if (!pipes) {
            co_return container_error{
                "CreateContainerError", "cannot make a pipe: " + error_words(pipes.error())};
        }
        std::vector<unique_fd> theirs = std::move(pipes->theirs);
        const std::shared_ptr<process_end> end = link_->new_process(request.process);
        const process_id id = request.process;
        node_reply reply = co_await link_->ask(std::move(request), std::move(theirs));
        if (!reply.answer.error.reason.empty()) {
            link_->forget(id);
            co_return reply.answer.error;
        }
        std::unique_ptr<process> started =
            std::make_unique<local_process>(link_, id, end, std::move(*pipes), std::move(reply.fd));
        co_return started;
    }

    asio::any_io_executor executor_;
    instance_folder folder_;
    std::shared_ptr<node_link> link_;
    std::optional<uplink> uplink_;
    pid_t pid_;
    unique_fd pidfd_;
};

/// The node's own and the containers' pipes are many.
std::uint64_t raise_open_files() {
    rlimit files = {};
    ::getrlimit(RLIMIT_NOFILE, &files);
    const rlim_t before = std::exchange(files.rlim_cur, files.rlim_max);
    ::setrlimit(RLIMIT_NOFILE, &files);
    return before;
}

}  // namespace

asio::awaitable<result<std::unique_ptr<local_runtime>>> make_local_runtime(
    asio::any_io_executor executor, local_options options
) {
    node_config config;
    ::signal(SIGPIPE, SIG_IGN);
    config.user = ::geteuid();
    config.group = ::getegid();
    // Root of a user namespace has few users, so that containers need the user's way too.
    config.user_mode = config.user != 0 || in_user_namespace();
    config.open_files = raise_open_files();
    config.processes = options.processes;
    config.network = free_network();
    result<instance_folder> folder = make_instance_folder(options.folder);
    if (!folder) {
        co_return folder.error();
    }
    result<launched_node> node = launch_node(config.user_mode);
    if (!node) {
        remove_tree(folder->path);
        co_return node.error();
    }
    config.folder = folder->path;
    config.cgroup_name = "signalbox-" + folder->path.substr(folder->path.find_last_of('/') + 1);
    auto made = std::make_unique<runtime>(executor, std::move(*folder), std::move(*node));
    const container_error refused = co_await made->start(config, options.offline);
    if (!refused.reason.empty()) {
        co_await made->stop();
        co_return refused;
    }
    std::unique_ptr<local_runtime> out = std::move(made);
    co_return out;
}

}  // namespace signalbox::op::containers
