// SPDX-License-Identifier: Apache-2.0
//
// One coroutine reads what the client sends and one each output of the process; run() starts and
// joins them.
#include "server/streams/container_session.hpp"

#include "server/streams/pod_refusal.hpp"
#include "server/streams/session_base.hpp"
#include "server/values/json.hpp"

#include <fmt/format.h>

#include <limits>
#include <optional>
#include <utility>

namespace signalbox::k8sio::server {
namespace {

namespace asio = boost::asio;

/// The first byte of a message.
enum channel : char {
    input_channel = 0,
    output_channel = 1,
    error_channel = 2,
    status_channel = 3,
    resize_channel = 4,
    close_channel = static_cast<char>(255),  ///< v5: the second byte is the channel that ends
};

constexpr const char* closing_protocol = "v5.channel.k8s.io";

/// How a command ended, as the kubelet tells it.
std::string status_of_exit(int code) {
    if (code == 0) {
        return R"({"metadata":{},"status":"Success"})";
    }
    refusal r;
    r.code = 0;
    r.reason = "NonZeroExitCode";
    r.message = fmt::format(
        "command terminated with non-zero exit code: command terminated with exit code {}", code
    );
    r.causes.push_back({"ExitCode", std::to_string(code), ""});
    return status_text(r);
}

std::optional<std::uint16_t> side_of(const json::value& size, const char* name) {
    const auto side = json::int_at(size, {name});
    return side && *side > 0 && *side <= std::numeric_limits<std::uint16_t>::max()
               ? std::optional(static_cast<std::uint16_t>(*side))
               : std::nullopt;
}

class container_session final : public session_base {
public:
    container_session(
        asio::any_io_executor executor,
        pod_streams& pods,
        container_verb verb,
        pod_ref pod,
        process_options options,
        std::string protocol
    )
        : session_base(std::move(executor), std::move(protocol)),
          pods_(&pods),
          verb_(verb),
          pod_(std::move(pod)),
          options_(std::move(options)) {}

    asio::awaitable<void> run(message_socket& socket) override {
        return run_task(std::static_pointer_cast<container_session>(shared_from_this()), socket);
    }

    void stop() override {
        gone_ = true;
        if (process_) {
            process_->close();
        }
    }

private:
    using self_ptr = std::shared_ptr<container_session>;

    static asio::awaitable<void> run_task(self_ptr self, message_socket& socket) {
        std::string status;
        // The client waits for a message before it takes the session for open.
        asio::awaitable<void> greeting = send(self, socket, self->lowest_channel(), {});
        co_await std::move(greeting);
        if (self->gone_) {
            co_return;
        }
        asio::awaitable<result<std::unique_ptr<container_process>>> starting =
            self->verb_ == container_verb::exec ? self->pods_->exec(self->pod_, self->options_)
                                                : self->pods_->attach(self->pod_, self->options_);
        result<std::unique_ptr<container_process>> started = co_await std::move(starting);
        if (started.has_error()) {
            status = status_text(refusal_of(started.error()));
        } else {
            self->process_ = std::move(*started);
            self->spawn(read_client(self, socket), self->readers_);
            asio::awaitable<std::string> ending = carry_outputs(self, socket);
            status = co_await std::move(ending);
        }
        asio::awaitable<void> telling = send(self, socket, status_channel, status);
        co_await std::move(telling);
        if (!self->gone_) {
            asio::awaitable<void> finishing = socket.finish();
            co_await std::move(finishing);
        }
        self->stop();
        asio::awaitable<void> joining = join(self, self->readers_);
        co_await std::move(joining);
        self->process_.reset();
    }

    /// Until the outputs have ended; gives the Status of the end.
    static asio::awaitable<std::string> carry_outputs(self_ptr self, message_socket& socket) {
        result<int> code = 0;
        if (self->gone_) {
            self->process_->close();
        }
        if (self->options_.out) {
            self->spawn(carry(self, socket, process_output::out, output_channel), self->writers_);
        }
        if (self->options_.err) {
            self->spawn(carry(self, socket, process_output::err, error_channel), self->writers_);
        }
        asio::awaitable<void> joining = join(self, self->writers_);
        co_await std::move(joining);
        // The pod's status tells the exit code of a container's own process.
        if (self->verb_ == container_verb::exec && !self->failure_) {
            asio::awaitable<result<int>> waiting = self->process_->wait();
            code = co_await std::move(waiting);
        }
        if (code.has_error()) {
            self->failure_ = code.error();
        }
        co_return self->failure_ ? status_text(refusal_of(*self->failure_)) : status_of_exit(*code);
    }

    static asio::awaitable<void> carry(
        self_ptr self, message_socket& socket, process_output from, channel to
    ) {
        bool more = true;
        while (more) {
            asio::awaitable<result<std::string>> reading = self->process_->read_some(from);
            const result<std::string> piece = co_await std::move(reading);
            if (piece.has_error() && !self->failure_) {
                self->failure_ = piece.error();
                self->process_->close();
            }
            more = piece.has_value() && !piece->empty();
            if (more) {
                asio::awaitable<void> sending = send(self, socket, to, *piece);
                co_await std::move(sending);
            }
        }
    }

    static asio::awaitable<void> read_client(self_ptr self, message_socket& socket) {
        bool more = true;
        while (more) {
            asio::awaitable<result<std::string_view>> reading = socket.read();
            const result<std::string_view> message = co_await std::move(reading);
            more = message.has_value();
            if (!more) {
                self->stop();
            } else if (!message->empty() && message->front() == input_channel) {
                asio::awaitable<void> writing = write_input(self, message->substr(1));
                co_await std::move(writing);
            } else if (!message->empty()) {
                self->on_control(message->front(), message->substr(1));
            }
        }
    }

    static asio::awaitable<void> write_input(self_ptr self, std::string_view bytes) {
        result<void> done = result<void>();
        if (!self->input_open() || bytes.empty()) {
            co_return;
        }
        asio::awaitable<result<void>> writing = self->process_->write(bytes);
        done = co_await std::move(writing);
        self->input_ended_ = self->input_ended_ || done.has_error();
    }

    void on_control(char of, std::string_view text) {
        if (of == resize_channel && options_.tty) {
            json::arena a;
            json::value size;
            if (json::parse(size, text, a)) {
                return;
            }
            const auto columns = side_of(size, "Width");
            const auto rows = side_of(size, "Height");
            if (columns && rows) {
                process_->resize(*columns, *rows);
            }
        } else if (of == close_channel && protocol() == closing_protocol && text.size() == 1 && text.front() == input_channel && input_open()) {
            input_ended_ = true;
            process_->finish_writing();
        }
    }

    bool input_open() const { return options_.in && !input_ended_ && !gone_; }

    channel lowest_channel() const {
        return options_.out ? output_channel : options_.err ? error_channel : status_channel;
    }

    static asio::awaitable<void> send(
        self_ptr self, message_socket& socket, channel to, std::string_view bytes
    ) {
        std::string message(1, to);
        message += bytes;
        return send_message(std::move(self), socket, std::move(message));
    }

    pod_streams* pods_;
    container_verb verb_;
    pod_ref pod_;
    process_options options_;
    std::unique_ptr<container_process> process_;
    int readers_ = 0;
    int writers_ = 0;
    bool input_ended_ = false;
    std::optional<api_error> failure_;
};

}  // namespace

const std::vector<std::string>& container_protocols() {
    static const std::vector<std::string> all = {closing_protocol, "v4.channel.k8s.io"};
    return all;
}

std::shared_ptr<socket_session> make_container_session(
    asio::any_io_executor executor,
    pod_streams& pods,
    container_verb verb,
    pod_ref pod,
    process_options options,
    std::string protocol
) {
    return std::make_shared<container_session>(
        std::move(executor), pods, verb, std::move(pod), std::move(options), std::move(protocol)
    );
}

}  // namespace signalbox::k8sio::server
