// SPDX-License-Identifier: Apache-2.0
#include "machine_pods.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <array>
#include <csignal>
#include <cstring>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

namespace signalbox::k8sio::server::test {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

const auto as_values = asio::as_tuple(asio::use_awaitable);

api_error of_code(errc code, std::string message) {
    api_error e;
    e.code = code;
    e.message = std::move(message);
    return e;
}

template <class Stream>
asio::awaitable<result<std::string>> read_piece(Stream& from) {
    std::string piece(64 * 1024, '\0');
    const auto done = co_await from.async_read_some(asio::buffer(piece), as_values);
    const error_code error = std::get<0>(done);
    if (error == asio::error::operation_aborted || error == asio::error::bad_descriptor) {
        co_return of_code(errc::cancelled, {});
    }
    // EIO: the last process of a terminal is gone.
    const bool end = error == asio::error::eof || error.value() == EIO;
    if (error && !end) {
        co_return of_code(errc::connection_lost, error.message());
    }
    piece.resize(end ? 0 : std::get<1>(done));
    co_return piece;
}

template <class Stream>
asio::awaitable<result<void>> write_piece(Stream& to, std::string_view bytes) {
    const auto buffer = asio::buffer(bytes.data(), bytes.size());
    const auto done = co_await asio::async_write(to, buffer, as_values);
    const error_code error = std::get<0>(done);
    if (error) {
        co_return of_code(errc::connection_lost, error.message());
    }
    co_return result<void>();
}

class file_log final : public byte_source {
public:
    file_log(const asio::any_io_executor& executor, std::string first, const std::string& path)
        : first_(std::move(first)), file_(executor) {
        const int fd = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        error_code ignored;
        if (fd >= 0) {
            file_.assign(fd, ignored);
        }
    }
    asio::awaitable<result<std::string>> read_some() override {
        std::string first = std::exchange(first_, {});
        if (!first.empty() || !file_.is_open()) {
            co_return first;
        }
        co_return co_await read_piece(file_);
    }
    void close() override {
        error_code ignored;
        file_.close(ignored);
        first_.clear();
    }

private:
    std::string first_;
    asio::posix::stream_descriptor file_;
};

class port_channel final : public byte_channel {
public:
    explicit port_channel(tcp::socket socket) : socket_(std::move(socket)) {}
    asio::awaitable<result<std::string>> read_some() override { return read_piece(socket_); }
    asio::awaitable<result<void>> write(std::string_view bytes) override {
        return write_piece(socket_, bytes);
    }
    void finish_writing() override {
        error_code ignored;
        socket_.shutdown(tcp::socket::shutdown_send, ignored);
    }
    void close() override {
        error_code ignored;
        socket_.close(ignored);
    }

private:
    tcp::socket socket_;
};

/// The ends of a process's streams that are ours, or -1; a terminal is `in` and `out`.
struct ends {
    int in = -1, out = -1, err = -1, pid = -1;
};

[[noreturn]] void become(const std::vector<std::string>& command, std::array<int, 3> streams) {
    ::setsid();
    for (int i = 0; i < 3; ++i) {
        ::dup2(streams[static_cast<std::size_t>(i)], i);
    }
    if (::isatty(0) != 0) {
        ::ioctl(0, TIOCSCTTY, 0);
    }
    std::vector<char*> words;
    for (const std::string& word : command) {
        words.push_back(const_cast<char*>(word.c_str()));
    }
    words.push_back(nullptr);
    ::execvp(words[0], words.data());
    ::_exit(127);
}

ends start(const process_options& options) {
    ends ours;
    std::array<int, 3> theirs{};
    if (options.tty) {
        ours.out = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
        ::grantpt(ours.out);
        ::unlockpt(ours.out);
        ours.in = ::dup(ours.out);
        const int terminal = ::open(::ptsname(ours.out), O_RDWR | O_NOCTTY | O_CLOEXEC);
        theirs = {terminal, terminal, terminal};
    } else {
        std::array<int, 2> in{}, out{}, err{};
        if (::pipe2(in.data(), O_CLOEXEC) + ::pipe2(out.data(), O_CLOEXEC) +
                ::pipe2(err.data(), O_CLOEXEC) !=
            0) {
            return ours;
        }
        theirs = {in[0], out[1], err[1]};
        ours.in = in[1];
        ours.out = out[0];
        ours.err = err[0];
    }
    ours.pid = ::fork();
    if (ours.pid == 0) {
        become(options.command, theirs);
    }
    for (const int fd : theirs) {
        ::close(fd);
    }
    return ours;
}

class machine_process final : public container_process {
public:
    machine_process(const asio::any_io_executor& executor, const ends& of, bool wants_input)
        : pid_(of.pid),
          in_(executor, of.in),
          out_(executor, of.out),
          err_(executor),
          end_(executor, static_cast<int>(::syscall(SYS_pidfd_open, of.pid, 0))) {
        if (of.err >= 0) {
            err_.assign(of.err);
        }
        if (!wants_input) {
            finish_writing();
        }
    }
    ~machine_process() override { reap(); }

    asio::awaitable<result<std::string>> read_some(process_output of) override {
        return read_piece(of == process_output::out ? out_ : err_);
    }
    asio::awaitable<result<void>> write(std::string_view bytes) override {
        return write_piece(in_, bytes);
    }
    void finish_writing() override {
        error_code ignored;
        in_.close(ignored);
    }
    void resize(std::uint16_t columns, std::uint16_t rows) override {
        winsize size{};
        size.ws_col = columns;
        size.ws_row = rows;
        ::ioctl(out_.native_handle(), TIOCSWINSZ, &size);
    }
    asio::awaitable<result<int>> wait() override {
        const auto done =
            co_await end_.async_wait(asio::posix::stream_descriptor::wait_read, as_values);
        if (std::get<0>(done)) {
            co_return of_code(errc::cancelled, {});
        }
        co_return reap();
    }
    void close() override {
        if (pid_ > 0) {
            ::kill(pid_, SIGKILL);  // it may not have its group yet
            ::kill(-pid_, SIGKILL);
        }
        error_code ignored;
        for (auto* each : {&in_, &out_, &err_, &end_}) {
            each->close(ignored);
        }
    }

private:
    int reap() {
        int status = 0;
        if (pid_ > 0 && ::waitpid(pid_, &status, 0) == pid_) {
            pid_ = -1;
        }
        return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    }

    int pid_;
    asio::posix::stream_descriptor in_, out_, err_, end_;
};

}  // namespace

machine_pods::machine_pods(asio::any_io_executor executor, std::string folder)
    : executor_(std::move(executor)), folder_(std::move(folder)) {
    ::signal(SIGPIPE, SIG_IGN);
    ::signal(SIGCHLD, SIG_DFL);
}

result<std::unique_ptr<byte_source>> machine_pods::open_log(
    const pod_ref& pod, const log_options& options
) {
    if (options.previous) {
        return status_error(
            400,
            "BadRequest",
            fmt::format(
                "previous terminated container \"{}\" in pod \"{}\" not found",
                options.container,
                pod.name
            )
        );
    }
    const auto since = options.since ? options.since->time_since_epoch() : wall_time::duration{};
    std::string first = fmt::format(
        "{}/{} follow={} timestamps={} tail={} since={}\n",
        pod.name,
        options.container,
        options.follow,
        options.timestamps,
        options.tail_lines.value_or(-1),
        std::chrono::duration_cast<std::chrono::seconds>(since).count()
    );
    std::unique_ptr<byte_source> log =
        std::make_unique<file_log>(executor_, std::move(first), folder_ + "/" + pod.name + ".log");
    return log;
}

asio::awaitable<result<std::unique_ptr<container_process>>> machine_pods::exec(
    const pod_ref& pod, const process_options& options
) {
    std::unique_ptr<container_process> process;
    if (options.command.empty() || pod.name == "ended") {
        co_return status_error(400, "BadRequest", "container not running (" + pod.name + ")");
    }
    process = std::make_unique<machine_process>(executor_, start(options), options.in);
    co_return process;
}

asio::awaitable<result<std::unique_ptr<container_process>>> machine_pods::attach(
    const pod_ref& pod, const process_options& options
) {
    process_options own = options;
    own.command = {
        "sh",
        "-c",
        "echo \"$0 listens\"; while read line; do echo \"heard $line\"; done",
        pod.name};
    std::unique_ptr<container_process> process =
        std::make_unique<machine_process>(executor_, start(own), options.in);
    co_return process;
}

asio::awaitable<result<std::unique_ptr<byte_channel>>> machine_pods::connect(
    const pod_ref&, std::uint16_t port
) {
    tcp::socket socket(executor_);
    const tcp::endpoint there(asio::ip::address_v4::loopback(), port);
    const auto done = co_await socket.async_connect(there, as_values);
    const error_code error = std::get<0>(done);
    if (error) {
        co_return of_code(
            errc::connect,
            fmt::format(
                "failed to connect to localhost:{} inside the pod: {}", port, error.message()
            )
        );
    }
    std::unique_ptr<byte_channel> channel = std::make_unique<port_channel>(std::move(socket));
    co_return channel;
}

}  // namespace signalbox::k8sio::server::test
