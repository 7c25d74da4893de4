// SPDX-License-Identifier: Apache-2.0
#include "containers/node_link.hpp"

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <csignal>

#include <fcntl.h>

namespace signalbox::op::containers {

void event::set() {
    set_ = true;
    timer_.cancel();
}

boost::asio::awaitable<void> event::wait() {
    boost::system::error_code cancelled;
    while (!set_) {
        co_await timer_.async_wait(
            boost::asio::redirect_error(boost::asio::use_awaitable, cancelled)
        );
    }
}

node_link::node_link(boost::asio::any_io_executor executor, unique_fd socket)
    : started(executor),
      executor_(executor),
      socket_(std::move(socket)),
      waits_(executor, ::fcntl(socket_.fd(), F_DUPFD_CLOEXEC, 0)) {}

void node_link::begin() {
    wait_readable();
}

void node_link::close() {
    if (open_) {
        open_ = false;
        boost::system::error_code ignored;
        waits_.close(ignored);
        socket_.close();
        end_all();
    }
}

void node_link::tell(node_request what) {
    send(std::move(what), {});
}

std::shared_ptr<process_end> node_link::new_process(process_id& id) {
    id = ++last_process_;
    auto made = std::make_shared<process_end>(executor_);
    processes_[id] = made;
    return made;
}

void node_link::send(node_request what, std::vector<unique_fd> fds) {
    if (!open_) {
        end_all();
        return;
    }
    message out;
    out.bytes = encode(std::move(what));
    out.fds = std::move(fds);
    socket_.send(std::move(out));
    if (socket_.waiting() && !wants_write_) {
        wait_writable();
    }
}

void node_link::wait_writable() {
    wants_write_ = true;
    waits_.async_wait(
        boost::asio::posix::stream_descriptor::wait_write,
        [self = shared_from_this()](boost::system::error_code failed) {
            self->wants_write_ = false;
            if (!failed) {
                self->socket_.flush();
                if (self->socket_.waiting()) {
                    self->wait_writable();
                }
            }
        }
    );
}

void node_link::wait_readable() {
    waits_.async_wait(
        boost::asio::posix::stream_descriptor::wait_read,
        [self = shared_from_this()](boost::system::error_code failed) {
            if (!failed) {
                self->receive();
            }
        }
    );
}

void node_link::receive() {
    while (open_) {
        message got;
        const message_socket::state state = socket_.receive(got);
        if (state == message_socket::state::nothing) {
            wait_readable();
            return;
        }
        if (state == message_socket::state::closed) {
            close();
            return;
        }
        if (std::optional<node_report> report = decode_report(got.bytes)) {
            std::visit([&](auto& each) { handle(each, got.fds); }, *report);
        }
    }
}

void node_link::handle(node_ready& report, std::vector<unique_fd>& fds) {
    ready = std::move(report);
    std::size_t next = 0;
    const auto take = [&](bool there, unique_fd& to) {
        if (there && next < fds.size()) {
            to = std::move(fds[next++]);
        }
    };
    take(ready.refused.empty(), network);
    take(ready.has_name_server, name_server);
    take(ready.has_service, service);
    started.set();
}

void node_link::handle(node_answer& report, std::vector<unique_fd>& fds) {
    const auto it = asked_.find(report.ask);
    if (it == asked_.end()) {
        return;
    }
    it->second->reply.answer = std::move(report);
    if (!fds.empty()) {
        it->second->reply.fd = std::move(fds.front());
    }
    it->second->answered.set();
    asked_.erase(it);
}

void node_link::handle(node_exit& report, std::vector<unique_fd>&) {
    const auto it = processes_.find(report.process);
    if (it == processes_.end()) {
        return;
    }
    it->second->status = report.status;
    it->second->ended.set();
    processes_.erase(it);
}

void node_link::end_all() {
    if (!started.is_set()) {
        ready.refused = "the node process ended at its start";
        started.set();
    }
    for (auto& [id, waiting] : std::exchange(asked_, {})) {
        waiting->reply.answer.error = {"NodeGone", "the node process has ended"};
        waiting->answered.set();
    }
    for (auto& [id, end] : std::exchange(processes_, {})) {
        end->status = {128 + SIGKILL, SIGKILL, false};
        end->ended.set();
    }
}

}  // namespace signalbox::op::containers
