// SPDX-License-Identifier: Apache-2.0
//
// One coroutine reads what the client sends, and two carry each connection, one for each direction.
// A connection that takes no more lets the reader wait, and with it all the others: SPDY's windows
// would keep them apart, but kubectl's library knows none.
#include "server/streams/port_forward.hpp"

#include "k8sio/synchronization.hpp"
#include "server/streams/session_base.hpp"
#include "server/streams/spdy_framing.hpp"

#include <fmt/format.h>

#include <charconv>
#include <map>
#include <optional>
#include <utility>

namespace signalbox::k8sio::server {
namespace {

namespace asio = boost::asio;

constexpr std::size_t most_streams = 1024;
/// Bytes of a connection that wait for the port to take them, beside those of one message.
constexpr std::size_t most_waiting = 128 * 1024;

std::string_view header(const spdy_frame& frame, std::string_view name) {
    for (const auto& [key, value] : frame.headers) {
        if (key == name) {
            return value;
        }
    }
    return {};
}

std::optional<std::uint16_t> port_of(const spdy_frame& frame) {
    const std::string_view text = header(frame, "port");
    std::uint16_t port = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
    const bool whole = error == std::errc{} && end == text.data() + text.size();
    return whole && port > 0 ? std::optional(port) : std::nullopt;
}

/// One connection.
struct forward {
    explicit forward(const asio::any_io_executor& executor) : filled(executor), drained(executor) {}

    /// Nothing goes on in either direction.
    void end() {
        over = true;
        if (channel) {
            channel->close();
        }
        filled.notify();
        drained.notify();
    }

    std::string request;
    std::uint32_t data_stream = 0, error_stream = 0;  // 0: not there yet
    std::uint16_t port = 0;
    std::unique_ptr<byte_channel> channel;
    std::string waiting;  // for the port
    bool ended = false;   // behind `waiting`
    bool deaf = false;    // the port takes no more
    bool reset = false;   // by the client
    bool over = false;
    notification filled, drained;
};
using forward_ptr = std::shared_ptr<forward>;

class port_forward final : public session_base {
public:
    port_forward(
        asio::any_io_executor executor, pod_streams& pods, pod_ref pod, std::string protocol
    )
        : session_base(std::move(executor), std::move(protocol)),
          pods_(&pods),
          pod_(std::move(pod)) {}

    asio::awaitable<void> run(message_socket& socket) override {
        return run_task(shared_self(), socket);
    }

    void stop() override {
        gone_ = true;
        end_all();
    }

private:
    using self_ptr = std::shared_ptr<port_forward>;

    self_ptr shared_self() { return std::static_pointer_cast<port_forward>(shared_from_this()); }

    static asio::awaitable<void> run_task(self_ptr self, message_socket& socket) {
        spdy_frame frame;
        bool more = !self->gone_;
        while (more) {
            asio::awaitable<result<std::string_view>> reading = socket.read();
            const result<std::string_view> message = co_await std::move(reading);
            if (message.has_error()) {
                break;
            }
            self->reader_.feed(*message);
            while (!self->gone_ && self->reader_.next(frame)) {
                asio::awaitable<void> handling = handle(self, socket, frame);
                co_await std::move(handling);
            }
            more = !self->gone_ && !self->reader_.failed();
        }
        if (self->reader_.failed()) {
            asio::awaitable<void> telling =
                send_message(self, socket, spdy_writer::goaway(self->last_stream_));
            co_await std::move(telling);
        }
        self->stop();
        asio::awaitable<void> joining = join(self, self->children_);
        co_await std::move(joining);
    }

    static asio::awaitable<void> handle(
        self_ptr self, message_socket& socket, const spdy_frame& frame
    ) {
        std::string answer;
        forward_ptr to;
        if (frame.type == spdy_type::syn_stream) {
            answer = self->open(frame);
        } else if (frame.type == spdy_type::ping && frame.stream % 2 == 1) {
            answer = spdy_writer::ping(frame.stream);
        } else if (frame.type == spdy_type::rst_stream) {
            self->on_reset(frame.stream);
        } else if (frame.type == spdy_type::data) {
            to = self->take(frame);
        }
        if (!answer.empty()) {
            asio::awaitable<void> sending = send_message(self, socket, std::move(answer));
            co_await std::move(sending);
        }
        while (to && !to->over && !to->deaf && to->waiting.size() > most_waiting) {
            asio::awaitable<void> room = to->drained.wait();
            co_await std::move(room);
        }
        self->start_pairs(socket);
    }

    /// A new stream; what is answered.
    std::string open(const spdy_frame& frame) {
        const std::string_view type = header(frame, "streamtype");
        const auto port = port_of(frame);
        if (frame.stream % 2 == 0 || frame.stream <= last_stream_) {
            return spdy_writer::reset(frame.stream, spdy_reset::protocol_error);
        }
        last_stream_ = frame.stream;
        if (streams_.size() >= most_streams) {
            return spdy_writer::reset(frame.stream, spdy_reset::refused_stream);
        }
        if (!port || (type != "data" && type != "error")) {
            return spdy_writer::reset(frame.stream, spdy_reset::cancel);
        }
        const std::string request(header(frame, "requestid"));
        forward_ptr& pair = halves_[request];
        if (!pair) {
            pair = std::make_shared<forward>(executor_);
            pair->request = request;
        }
        std::uint32_t& half = type == "data" ? pair->data_stream : pair->error_stream;
        if (half != 0) {
            return spdy_writer::reset(frame.stream, spdy_reset::cancel);
        }
        half = frame.stream;
        if (type == "data") {
            pair->port = *port;
            pair->ended = frame.fin;
        }
        streams_.emplace(frame.stream, pair);
        if (pair->data_stream != 0 && pair->error_stream != 0) {
            to_start_.push_back(pair);
            halves_.erase(request);
        }
        return writer_.opening(spdy_type::syn_reply, frame.stream, {});
    }

    /// Begins connections behind the answers to their streams: data before them would be lost.
    void start_pairs(message_socket& socket) {
        for (const forward_ptr& each : std::exchange(to_start_, {})) {
            spawn(carry(shared_self(), socket, each), children_);
        }
    }

    /// Data; gives the connection that it is for.
    forward_ptr take(const spdy_frame& frame) {
        const auto it = streams_.find(frame.stream);
        if (it == streams_.end() || it->second->data_stream != frame.stream || it->second->ended) {
            return nullptr;
        }
        forward& to = *it->second;
        to.ended = frame.fin;
        if (!to.over && !to.deaf) {
            to.waiting += frame.data;
        }
        to.filled.notify();
        return it->second;
    }

    void on_reset(std::uint32_t stream) {
        const auto it = streams_.find(stream);
        if (it == streams_.end()) {
            return;
        }
        const forward_ptr of = it->second;
        if (halves_.erase(of->request) != 0) {
            streams_.erase(it);
        }
        of->reset = true;
        of->end();
    }

    static asio::awaitable<void> carry(self_ptr self, message_socket& socket, forward_ptr of) {
        std::string error;
        if (!of->over) {
            asio::awaitable<result<std::unique_ptr<byte_channel>>> connecting =
                self->pods_->connect(self->pod_, of->port);
            result<std::unique_ptr<byte_channel>> connected = co_await std::move(connecting);
            if (connected.has_error()) {
                error = connected.error().message;
            } else {
                of->channel = std::move(*connected);
            }
        }
        if (of->over && of->channel) {
            of->channel->close();
        }
        if (of->channel) {
            self->spawn(carry_to_port(of), self->children_);
            asio::awaitable<std::string> carrying = carry_from_port(self, socket, of);
            error = co_await std::move(carrying);
        }
        asio::awaitable<void> ending = finish(self, socket, of, std::move(error));
        co_await std::move(ending);
    }

    /// Until the port has no more; gives what went wrong.
    static asio::awaitable<std::string> carry_from_port(
        self_ptr self, message_socket& socket, forward_ptr of
    ) {
        std::string error;
        bool more = true;
        while (more) {
            asio::awaitable<result<std::string>> reading = of->channel->read_some();
            const result<std::string> piece = co_await std::move(reading);
            if (piece.has_error() && !of->over) {
                error = piece.error().message;
            }
            more = piece.has_value() && !piece->empty() && !of->over;
            if (more) {
                asio::awaitable<void> sending =
                    send_message(self, socket, spdy_writer::data(of->data_stream, *piece));
                co_await std::move(sending);
            }
        }
        co_return error;
    }

    static asio::awaitable<void> carry_to_port(forward_ptr of) {
        std::string bytes;
        while (!of->over && !of->deaf) {
            bytes = std::exchange(of->waiting, {});
            if (!bytes.empty()) {
                of->drained.notify();
                asio::awaitable<result<void>> writing = of->channel->write(bytes);
                const result<void> done = co_await std::move(writing);
                of->deaf = done.has_error();
            } else if (of->ended) {
                of->channel->finish_writing();
                of->deaf = true;
            } else {
                asio::awaitable<void> more = of->filled.wait();
                co_await std::move(more);
            }
        }
        of->waiting.clear();
        of->drained.notify();
    }

    /// Ends both streams; an error goes to its own.
    static asio::awaitable<void> finish(
        self_ptr self, message_socket& socket, forward_ptr of, std::string error
    ) {
        std::string last;
        of->end();
        if (!error.empty()) {
            error = fmt::format(
                "error forwarding port {} to pod {}, uid {}: {}",
                of->port,
                self->pod_.name,
                self->pod_.uid,
                error
            );
        }
        if (!of->reset) {
            last = error.empty() ? spdy_writer::data(of->data_stream, {}, true)
                                 : spdy_writer::reset(of->data_stream, spdy_reset::cancel);
        }
        last = spdy_writer::data(of->error_stream, error, true) + last;
        self->streams_.erase(of->data_stream);
        self->streams_.erase(of->error_stream);
        asio::awaitable<void> telling = send_message(self, socket, std::move(last));
        co_await std::move(telling);
    }

    void end_all() {
        const auto all = streams_;
        for (const auto& each : all) {
            each.second->end();
        }
    }

    pod_streams* pods_;
    pod_ref pod_;
    spdy_reader reader_;
    spdy_writer writer_;
    int children_ = 0;
    std::uint32_t last_stream_ = 0;
    std::map<std::uint32_t, forward_ptr> streams_;
    std::map<std::string, forward_ptr> halves_;  // by request id: of one stream so far
    std::vector<forward_ptr> to_start_;
};

}  // namespace

const std::vector<std::string>& forward_protocols() {
    static const std::vector<std::string> all = {"SPDY/3.1+portforward.k8s.io"};
    return all;
}

std::shared_ptr<socket_session> make_port_forward(
    asio::any_io_executor executor, pod_streams& pods, pod_ref pod, std::string protocol
) {
    return std::make_shared<port_forward>(
        std::move(executor), pods, std::move(pod), std::move(protocol)
    );
}

}  // namespace signalbox::k8sio::server
