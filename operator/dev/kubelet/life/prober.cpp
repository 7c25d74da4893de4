// SPDX-License-Identifier: Apache-2.0
#include "kubelet/life/prober.hpp"

#include "kubelet/life/launch.hpp"

#include <jobcore/strings.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace signalbox::op::kubelet {

namespace {

namespace asio = boost::asio;

constexpr auto as_pair = asio::as_tuple(asio::use_awaitable);
/// Of what a command or a server says, for the message.
constexpr std::size_t text_limit = 10 * 1024;

/// One try. Whoever comes first ends it: what it does, or its time.
class attempt : public std::enable_shared_from_this<attempt> {
public:
    attempt(
        node_services& node,
        handler what,
        handler_target target,
        std::chrono::nanoseconds timeout,
        std::function<void(handler_result)> done
    )
        : node_(node),
          what_(std::move(what)),
          target_(std::move(target)),
          timeout_(timeout),
          done_(std::move(done)) {}

    void begin() {
        if (timeout_.count() > 0) {
            const std::weak_ptr<attempt> self = weak_from_this();
            timer_ = node_.time().schedule(node_.now() + timeout_, [self] {
                if (const auto alive = self.lock()) {
                    alive->time_is_up();
                }
            });
        }
        switch (what_.what) {
            case handler::kind::exec:
                node_.spawn(run_command(shared_from_this()));
                return;
            case handler::kind::tcp:
            case handler::kind::http:
                node_.spawn(connect(shared_from_this()));
                return;
            case handler::kind::sleep:
                node_.spawn(wait(shared_from_this()));
                return;
            case handler::kind::none:
            case handler::kind::unknown:
                break;
        }
        const auto self = shared_from_this();
        asio::post(node_.executor, [self] {
            self->finish(false, "probes of this kind are not carried out here");
        });
    }

private:
    void finish(bool success, std::string text) {
        if (ended_) {
            return;
        }
        ended_ = true;
        node_.time().cancel(timer_);
        const auto done = std::move(done_);
        done({success, std::move(text)});
    }

    void time_is_up() {
        const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(timeout_).count();
        switch (what_.what) {
            case handler::kind::exec:
                finish(
                    false,
                    fmt::format(
                        "command timed out: \"{}\" timed out after {}s",
                        fmt::join(what_.command, " "),
                        seconds
                    )
                );
                break;
            case handler::kind::http:
                finish(
                    false,
                    fmt::format(
                        "Get \"{}\": context deadline exceeded (Client.Timeout exceeded while "
                        "awaiting headers)",
                        url()
                    )
                );
                break;
            default:
                finish(false, fmt::format("dial tcp {}: i/o timeout", endpoint()));
        }
        if (command_) {
            command_->kill();
        }
        boost::system::error_code ignored;
        if (socket_) {
            socket_->close(ignored);
        }
    }

    std::string host() const { return what_.host.empty() ? target_.address : what_.host; }
    std::uint16_t port() const { return port_number(what_.port, *target_.container); }
    std::string endpoint() const { return fmt::format("{}:{}", host(), port()); }
    std::string path() const { return what_.path.starts_with('/') ? what_.path : "/" + what_.path; }
    std::string url() const { return fmt::format("http://{}{}", endpoint(), path()); }

    static asio::awaitable<void> run_command(std::shared_ptr<attempt> self) {
        containers::process_spec spec = exec_spec(self->target_.run->made, self->what_.command);
        if (self->target_.run->ended) {
            self->finish(false, "the container has ended");
            co_return;
        }
        auto made =
            co_await self->node_.containers.exec(*self->target_.run->process, std::move(spec));
        if (made.has_error()) {
            self->finish(false, made.error().message);
            co_return;
        }
        self->command_ = std::move(*made);
        if (self->ended_) {
            self->command_->kill();
        }
        self->node_.spawn(read_output(self, containers::output_stream::err));
        co_await read_all(self, containers::output_stream::out);
        const containers::exit_status status = co_await self->command_->wait();
        self->finish(status.code == 0, std::move(self->output_));
    }

    static asio::awaitable<void> read_output(
        std::shared_ptr<attempt> self, containers::output_stream from
    ) {
        const auto keep = self;
        co_await read_all(keep, from);
    }

    static asio::awaitable<void> read_all(
        std::shared_ptr<attempt> self, containers::output_stream from
    ) {
        std::array<char, 4096> buffer{};
        while (true) {
            auto into = asio::buffer(buffer);
            const std::size_t size = co_await self->command_->read(from, into);
            if (size == 0) {
                break;
            }
            const std::size_t room = text_limit - self->output_.size();
            self->output_.append(buffer.data(), std::min(size, room));
        }
    }

    static asio::awaitable<void> connect(std::shared_ptr<attempt> self) {
        std::string host = self->host();
        const std::uint16_t port = self->port();
        if (self->what_.scheme == "HTTPS") {
            self->finish(false, "HTTPS probes are not carried out here");
            co_return;
        }
        const std::string sandbox = self->target_.sandbox;
        auto made = co_await self->node_.containers.connect(sandbox, std::move(host), port);
        if (made.has_error()) {
            const bool http = self->what_.what == handler::kind::http;
            const std::string why =
                fmt::format("dial tcp {}: {}", self->endpoint(), made.error().message);
            self->finish(false, http ? fmt::format("Get \"{}\": {}", self->url(), why) : why);
            co_return;
        }
        if (self->what_.what == handler::kind::tcp || self->ended_) {
            self->finish(true, {});
            co_return;
        }
        self->socket_ = std::make_unique<containers::byte_stream>(std::move(*made));
        co_await ask(self);
    }

    std::string request() const {
        std::string out = fmt::format("GET {} HTTP/1.1\r\n", path());
        const bool own_host = std::ranges::any_of(what_.headers, [](const auto& h) {
            return h.first == "Host" || h.first == "host";
        });
        if (!own_host) {
            out += fmt::format("Host: {}\r\n", endpoint());
        }
        for (const auto& [name, value] : what_.headers) {
            out += fmt::format("{}: {}\r\n", name, value);
        }
        return out + "User-Agent: kube-probe/1.34\r\nAccept: */*\r\nConnection: close\r\n\r\n";
    }

    static asio::awaitable<void> ask(std::shared_ptr<attempt> self) {
        const std::string request = self->request();
        const auto text = asio::buffer(request);
        const auto [unsent, sent] = co_await asio::async_write(*self->socket_, text, as_pair);
        std::string answer;
        std::array<char, 4096> buffer{};
        while (!unsent && answer.find("\r\n") == std::string::npos && answer.size() < buffer.size()
        ) {
            auto into = asio::buffer(buffer);
            const auto [failed, size] = co_await self->socket_->async_read_some(into, as_pair);
            if (failed) {
                break;
            }
            answer.append(buffer.data(), size);
        }
        const std::size_t space = answer.find(' ');
        const auto code =
            space == std::string::npos
                ? std::nullopt
                : core::read_whole_number(std::string_view(answer).substr(space + 1, 3));
        constexpr int lowest_good = 200, lowest_bad = 400;
        if (!answer.starts_with("HTTP/") || !code) {
            self->finish(false, fmt::format("Get \"{}\": the answer is not HTTP", self->url()));
        } else if (*code >= lowest_good && *code < lowest_bad) {
            self->finish(true, {});
        } else {
            self->finish(false, fmt::format("HTTP probe failed with statuscode: {}", *code));
        }
    }

    static asio::awaitable<void> wait(std::shared_ptr<attempt> self) {
        const std::chrono::nanoseconds time = self->what_.duration;
        co_await k8sio::sleep_for(self->node_.time(), time);
        self->finish(true, {});
    }

    node_services& node_;
    handler what_;
    handler_target target_;
    std::chrono::nanoseconds timeout_;
    std::function<void(handler_result)> done_;
    k8sio::clock::timer_id timer_ = 0;
    std::unique_ptr<containers::process> command_;
    std::unique_ptr<containers::byte_stream> socket_;
    std::string output_;
    bool ended_ = false;
};

}  // namespace

std::uint16_t port_number(const std::string& port, const container_spec& container) {
    if (const auto number = core::read_whole_number<std::uint16_t>(port)) {
        return *number;
    }
    const auto it =
        std::ranges::find(container.ports, port, &std::pair<std::string, std::int32_t>::first);
    return it == container.ports.end() ? std::uint16_t{0} : static_cast<std::uint16_t>(it->second);
}

void carry_out(
    node_services& node,
    const handler& what,
    const handler_target& target,
    std::chrono::nanoseconds timeout,
    std::function<void(handler_result)> done
) {
    std::make_shared<attempt>(node, what, target, timeout, std::move(done))->begin();
}

}  // namespace signalbox::op::kubelet
