// SPDX-License-Identifier: Apache-2.0
#include "kubelet/node/streams.hpp"

#include "kubelet/node/log_source.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <fmt/format.h>

#include <array>

namespace signalbox::op::kubelet {

namespace {

namespace asio = boost::asio;
using k8sio::result;
using k8sio::server::byte_channel;
using k8sio::server::byte_source;
using k8sio::server::container_process;
using k8sio::server::pod_failure;
using k8sio::server::pod_ref;
using k8sio::server::process_output;

constexpr auto in_tuple = asio::as_tuple(asio::use_awaitable);
constexpr std::size_t read_at_once = 32 * 1024;
/// Of the output that an attached client has not read: one that is slower is let go.
constexpr std::size_t backlog_limit = 4 * 1024 * 1024;
constexpr int bad_request = 400;

containers::output_stream stream_of(process_output of) {
    return of == process_output::out ? containers::output_stream::out
                                     : containers::output_stream::err;
}

/// A process of its own in a container.
class exec_session final : public container_process {
public:
    exec_session(std::shared_ptr<container_run> run, std::unique_ptr<containers::process> process)
        : run_(std::move(run)), process_(std::move(process)) {}

    asio::awaitable<result<std::string>> read_some(process_output of) override {
        std::string buffer(read_at_once, '\0');
        auto into = asio::buffer(buffer);
        const std::size_t size = co_await process_->read(stream_of(of), into);
        buffer.resize(size);
        co_return result<std::string>(std::move(buffer));
    }
    asio::awaitable<result<void>> write(std::string_view bytes) override {
        const asio::const_buffer input(bytes.data(), bytes.size());
        const bool taken = co_await process_->write(input);
        co_return taken ? result<void>() : result<void>(pod_failure("no one reads it any more"));
    }
    void finish_writing() override { process_->close_input(); }
    void resize(std::uint16_t columns, std::uint16_t rows) override {
        process_->resize(columns, rows);
    }
    asio::awaitable<result<int>> wait() override {
        containers::process& process = *process_;
        const containers::exit_status status = co_await process.wait();
        co_return result<int>(status.code);
    }
    void close() override { process_->kill(); }

private:
    std::shared_ptr<container_run> run_;
    std::unique_ptr<containers::process> process_;
};

/// Hears the container's own process.
class attached_output final : public output_listener {
public:
    explicit attached_output(asio::any_io_executor executor) : out(executor), err(executor) {}

    struct output {
        explicit output(asio::any_io_executor executor) : news(executor) {}
        std::string text;
        k8sio::notification news;
    };
    output& of(containers::output_stream which) {
        return which == containers::output_stream::out ? out : err;
    }
    void hear(containers::output_stream from, std::string_view bytes) override {
        output& o = of(from);
        too_slow = too_slow || o.text.size() + bytes.size() > backlog_limit;
        if (!too_slow) {
            o.text += bytes;
        }
        o.news.notify();
    }
    void end() override {
        ended = true;
        out.news.notify();
        err.news.notify();
    }

    output out, err;
    bool ended = false, too_slow = false;
};

class attach_session final : public container_process {
public:
    attach_session(asio::any_io_executor executor, std::shared_ptr<container_run> run)
        : run_(std::move(run)), heard_(std::make_shared<attached_output>(executor)) {
        run_->listeners.emplace_back(heard_);
    }

    asio::awaitable<result<std::string>> read_some(process_output of) override {
        attached_output::output& o = heard_->of(stream_of(of));
        while (o.text.empty() && !heard_->ended && !heard_->too_slow) {
            co_await o.news.wait();
        }
        if (o.text.empty() && heard_->too_slow) {
            co_return result<std::string>(pod_failure("the client reads too slowly"));
        }
        co_return result<std::string>(std::exchange(o.text, std::string()));
    }
    asio::awaitable<result<void>> write(std::string_view bytes) override {
        const asio::const_buffer input(bytes.data(), bytes.size());
        if (run_->ended || !(run_->made.process.input || run_->made.process.terminal)) {
            co_return result<void>(pod_failure("the container has no standard input"));
        }
        const bool taken = co_await run_->process->write(input);
        co_return taken ? result<void>() : result<void>(pod_failure("no one reads it any more"));
    }
    /// The container's input stays open for the next client.
    void finish_writing() override {}
    void resize(std::uint16_t columns, std::uint16_t rows) override {
        if (!run_->ended) {
            run_->process->resize(columns, rows);
        }
    }
    asio::awaitable<result<int>> wait() override {
        const int none = 0;
        co_return result<int>(none);
    }
    void close() override { heard_->end(); }

private:
    std::shared_ptr<container_run> run_;
    std::shared_ptr<attached_output> heard_;
};

class port_channel final : public byte_channel {
public:
    explicit port_channel(containers::byte_stream stream) : stream_(std::move(stream)) {}

    asio::awaitable<result<std::string>> read_some() override {
        std::string buffer(read_at_once, '\0');
        auto into = asio::buffer(buffer);
        const auto [failed, size] = co_await stream_.async_read_some(into, in_tuple);
        if (failed && failed != asio::error::eof) {
            co_return result<std::string>(pod_failure(failed.message()));
        }
        buffer.resize(size);
        co_return result<std::string>(std::move(buffer));
    }
    asio::awaitable<result<void>> write(std::string_view bytes) override {
        const asio::const_buffer output(bytes.data(), bytes.size());
        const auto [failed, size] = co_await asio::async_write(stream_, output, in_tuple);
        co_return failed ? result<void>(pod_failure(failed.message())) : result<void>();
    }
    void finish_writing() override {
        boost::system::error_code ignored;
        stream_.shutdown(asio::socket_base::shutdown_send, ignored);
    }
    void close() override {
        boost::system::error_code ignored;
        stream_.close(ignored);
    }

private:
    containers::byte_stream stream_;
};

}  // namespace

std::shared_ptr<pod_worker> node_streams::worker_of(const pod_ref& pod) const {
    return node_ == nullptr ? nullptr : find_(pod.uid);
}

std::shared_ptr<container_run> node_streams::running(
    const pod_ref& pod, const std::string& container
) const {
    const std::shared_ptr<pod_worker> worker = worker_of(pod);
    const auto run = worker ? worker->run_of(container) : nullptr;
    return run && !run->ended ? run : nullptr;
}

result<std::unique_ptr<byte_source>> node_streams::open_log(
    const pod_ref& pod, const k8sio::server::log_options& options
) {
    using answer = result<std::unique_ptr<byte_source>>;
    const auto refused = [](std::string message) {
        return answer(k8sio::status_error(bad_request, "BadRequest", std::move(message)));
    };
    const std::shared_ptr<pod_worker> worker = worker_of(pod);
    if (!worker) {
        return refused(fmt::format("pod {} does not run on this node", pod.name));
    }
    const std::filesystem::path path = worker->log_of(options.container, options.previous);
    if (path.empty() && options.previous) {
        return refused(fmt::format(
            "previous terminated container \"{}\" in pod \"{}\" not found",
            options.container,
            pod.name
        ));
    }
    if (path.empty()) {
        std::string why = "ContainerCreating";
        for (std::size_t i = 0; i < worker->pod().containers.size(); ++i) {
            const std::string& reason = worker->machine().container(i).status().now.reason;
            if (worker->pod().containers[i].name == options.container && !reason.empty()) {
                why = reason;
            }
        }
        return refused(fmt::format(
            "container \"{}\" in pod \"{}\" is waiting to start: {}",
            options.container,
            pod.name,
            why
        ));
    }
    const bool follows = options.follow && !options.previous;
    return make_log_source(
        node_->executor, path, options, follows ? worker->run_of(options.container) : nullptr
    );
}

asio::awaitable<result<std::unique_ptr<container_process>>> node_streams::exec(
    const pod_ref& pod, const k8sio::server::process_options& options
) {
    const std::shared_ptr<container_run> run = running(pod, options.container);
    using answer = result<std::unique_ptr<container_process>>;
    if (!run) {
        co_return answer(pod_failure(fmt::format("container not found (\"{}\")", options.container))
        );
    }
    containers::process_spec spec = exec_spec(run->made, options.command);
    spec.input = options.in;
    spec.terminal = options.tty;
    if (options.tty) {
        spec.env.emplace_back("TERM=xterm");
    }
    auto made = co_await node_->containers.exec(*run->process, std::move(spec));
    if (made.has_error()) {
        co_return answer(pod_failure(made.error().message));
    }
    co_return answer(std::make_unique<exec_session>(run, std::move(*made)));
}

asio::awaitable<result<std::unique_ptr<container_process>>> node_streams::attach(
    const pod_ref& pod, const k8sio::server::process_options& options
) {
    const std::shared_ptr<container_run> run = running(pod, options.container);
    using answer = result<std::unique_ptr<container_process>>;
    if (!run) {
        co_return answer(pod_failure(fmt::format("container not found (\"{}\")", options.container))
        );
    }
    co_return answer(std::make_unique<attach_session>(node_->executor, run));
}

asio::awaitable<result<std::unique_ptr<byte_channel>>> node_streams::connect(
    const pod_ref& pod, std::uint16_t port
) {
    const std::shared_ptr<pod_worker> worker = worker_of(pod);
    using answer = result<std::unique_ptr<byte_channel>>;
    if (!worker || worker->sandbox().empty()) {
        co_return answer(pod_failure(fmt::format("pod {} does not run", pod.name)));
    }
    const std::string sandbox = worker->sandbox();
    std::string address = "127.0.0.1";
    auto made = co_await node_->containers.connect(sandbox, std::move(address), port);
    if (made.has_error()) {
        co_return answer(pod_failure(made.error().message));
    }
    co_return answer(std::make_unique<port_channel>(std::move(*made)));
}

}  // namespace signalbox::op::kubelet
