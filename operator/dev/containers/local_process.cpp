// SPDX-License-Identifier: Apache-2.0
#include "containers/local_process.hpp"

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <sys/ioctl.h>

#include <cerrno>
#include <csignal>

#include <fcntl.h>
#include <unistd.h>

namespace signalbox::op::containers {

namespace asio = boost::asio;

boost::system::result<process_pipes, int> make_pipes(const process_spec& spec) {
    process_pipes out;
    if (spec.terminal) {
        return out;
    }
    for (unique_fd* ours : {&out.input, &out.output, &out.errors}) {
        const bool is_input = ours == &out.input;
        if (is_input && !spec.input) {
            continue;
        }
        int ends[2] = {-1, -1};
        if (::pipe2(ends, O_CLOEXEC) != 0) {
            return errno;
        }
        ours->reset(ends[is_input ? 1 : 0]);
        out.theirs.emplace_back(ends[is_input ? 0 : 1]);
    }
    return out;
}

local_process::local_process(
    std::shared_ptr<node_link> link,
    process_id id,
    std::shared_ptr<process_end> end,
    process_pipes pipes,
    unique_fd terminal
)
    : link_(std::move(link)), id_(id), end_(std::move(end)), terminal_(terminal) {
    if (terminal_) {
        output_ = open(std::move(terminal));
        input_ = output_;
        return;
    }
    input_ = pipes.input ? open(std::move(pipes.input)) : nullptr;
    output_ = open(std::move(pipes.output));
    errors_ = open(std::move(pipes.errors));
}

local_process::~local_process() {
    kill();
    link_->forget(id_);
    for (const stream& each : {input_, output_, errors_}) {
        if (each) {
            boost::system::error_code ignored;
            each->close(ignored);
        }
    }
}

local_process::stream local_process::open(unique_fd fd) const {
    return std::make_shared<asio::posix::stream_descriptor>(link_->executor(), fd.release());
}

// A stream is held by the coroutine that uses it: the process may be destroyed meanwhile, which
// closes it and ends the operation.

asio::awaitable<std::size_t> local_process::read(output_stream from, asio::mutable_buffer to) {
    const stream of = from == output_stream::out ? output_ : errors_;
    if (!of) {
        co_return 0;
    }
    boost::system::error_code failed;  // of a terminal: EIO when the last program has closed it
    const std::size_t size =
        co_await of->async_read_some(to, asio::redirect_error(asio::use_awaitable, failed));
    co_return failed ? 0 : size;
}

asio::awaitable<bool> local_process::write(asio::const_buffer input) {
    const stream to = input_;
    if (!to) {
        co_return false;
    }
    boost::system::error_code failed;
    co_await asio::async_write(*to, input, asio::redirect_error(asio::use_awaitable, failed));
    co_return !failed;
}

void local_process::close_input() {
    if (input_ && !terminal_) {
        boost::system::error_code ignored;
        input_->close(ignored);
        input_.reset();
    }
}

void local_process::resize(std::uint16_t columns, std::uint16_t rows) {
    if (terminal_) {
        winsize size = {};
        size.ws_col = columns;
        size.ws_row = rows;
        ::ioctl(output_->native_handle(), TIOCSWINSZ, &size);
    }
}

asio::awaitable<exit_status> local_process::wait() {
    const std::shared_ptr<process_end> end = end_;
    co_await end->ended.wait();
    co_return end->status;
}

void local_process::signal(int number) {
    if (!end_->ended.is_set()) {
        link_->tell(signal_request{id_, number});
    }
}

void local_process::kill() {
    // Of a container, it goes to process 1 of its PID namespace, and the kernel ends all others.
    signal(SIGKILL);
}

}  // namespace signalbox::op::containers
