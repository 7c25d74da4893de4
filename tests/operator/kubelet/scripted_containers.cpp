// SPDX-License-Identifier: Apache-2.0
#include "scripted_containers.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/local/connect_pair.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <fstream>

namespace signalbox::op::test {

namespace asio = boost::asio;
using containers::output_stream;

namespace {

constexpr auto as_pair = asio::as_tuple(asio::use_awaitable);

asio::awaitable<void> answer(
    containers::byte_stream client, std::function<std::string(const std::string&)> serves
) {
    std::string request;
    auto into = asio::dynamic_buffer(request);
    const auto [failed, size] = co_await asio::async_read_until(client, into, "\r\n\r\n", as_pair);
    const std::string text = failed ? std::string() : serves(request);
    const auto from = asio::buffer(text);
    co_await asio::async_write(client, from, as_pair);
}

}  // namespace

scripted_process::scripted_process(
    asio::any_io_executor executor, k8sio::clock& time, process_script script
)
    : executor_(executor), time_(time), script_(std::move(script)), out_(executor), err_(executor) {
    out_.text = script_.says;
    err_.text = script_.complains;
    timer_ = time_.schedule(time_.steady_now() + script_.lasts, [this] { end(script_.code); });
}

scripted_process::~scripted_process() {
    time_.cancel(timer_);
    if (destroyed) {
        destroyed();
    }
}

asio::awaitable<std::size_t> scripted_process::read(output_stream from, asio::mutable_buffer to) {
    output& o = from == output_stream::out ? out_ : err_;
    while (o.text.empty() && !status_) {
        co_await o.news.wait();
    }
    const std::size_t size = std::min(o.text.size(), to.size());
    std::memcpy(to.data(), o.text.data(), size);
    o.text.erase(0, size);
    co_return size;
}

asio::awaitable<bool> scripted_process::write(asio::const_buffer bytes) {
    const std::string_view text(static_cast<const char*>(bytes.data()), bytes.size());
    input += text;
    co_return !status_;
}

asio::awaitable<containers::exit_status> scripted_process::wait() {
    const auto news = std::make_shared<k8sio::notification>(executor_);
    waiting_.push_back(news);
    while (!status_) {
        co_await news->wait();
    }
    co_return *status_;
}

void scripted_process::wake() {
    out_.news.notify();
    err_.news.notify();
    for (const auto& w : waiting_) {
        w->notify();
    }
}

void scripted_process::say(std::string text) {
    out_.text += text;
    out_.news.notify();
}

void scripted_process::end(int code) {
    if (status_) {
        return;
    }
    time_.cancel(timer_);
    status_ = containers::exit_status{code, code > 128 ? code - 128 : 0, script_.oom};
    wake();
}

void scripted_process::signal(int number) {
    signals.push_back(number);
    if (number == SIGTERM && !script_.ignores_term && !status_) {
        time_.cancel(timer_);
        timer_ = time_.schedule(time_.steady_now() + script_.stops_after, [this] { end(143); });
    }
}

void scripted_process::kill() {
    signals.push_back(SIGKILL);
    end(137);
}

asio::awaitable<containers::result<containers::sandbox>> scripted_containers::make_sandbox(
    containers::sandbox_spec spec
) {
    containers::sandbox out;
    const std::chrono::nanoseconds takes = sandbox_takes;
    if (takes.count() > 0) {
        co_await k8sio::sleep_for(time_, takes);
    }
    if (no_sandbox) {
        co_return *no_sandbox;
    }
    ++made_;
    out.id = "sandbox-" + std::to_string(made_);
    out.address = "10.88.0." + std::to_string(made_ + 1);
    sandboxes.insert(out.id);
    own_users.push_back(spec.own_users);
    hostnames.push_back(spec.hostname);
    co_return out;
}

void scripted_containers::cut(const std::string& id, bool off) {
    if (off) {
        cut_off.insert(id);
    } else {
        cut_off.erase(id);
    }
}

asio::awaitable<containers::result<std::unique_ptr<containers::process>>> scripted_containers::run(
    containers::container_spec spec
) {
    const process_script does = script ? script(spec) : process_script();
    if (does.refused) {
        co_return *does.refused;
    }
    if (!does.message.empty()) {
        for (const containers::mount_point& m : spec.mounts) {
            if (m.source.ends_with(".message")) {
                std::ofstream(m.source) << does.message;
            }
        }
    }
    auto made = std::make_unique<scripted_process>(executor_, time_, does);
    runs.push_back(std::move(spec));
    made->destroyed = [this, place = processes.size()] { processes[place] = nullptr; };
    processes.push_back(made.get());
    co_return std::unique_ptr<containers::process>(std::move(made));
}

asio::awaitable<containers::result<std::unique_ptr<containers::process>>> scripted_containers::exec(
    containers::process&, containers::process_spec spec
) {
    const process_script does = exec_script ? exec_script(spec) : process_script();
    if (does.refused) {
        co_return *does.refused;
    }
    co_return std::make_unique<scripted_process>(executor_, time_, does);
}

asio::awaitable<containers::result<containers::byte_stream>> scripted_containers::connect(
    const std::string&, std::string, std::uint16_t port
) {
    const bool refused = !listens || !listens(port);
    if (refused) {
        co_return containers::container_error{"ConnectError", "connect: connection refused"};
    }
    containers::byte_stream ours(executor_), theirs(executor_);
    if (serves) {
        asio::local::stream_protocol::socket one(executor_), other(executor_);
        asio::local::connect_pair(one, other);
        ours = std::move(one);
        theirs = std::move(other);
        asio::co_spawn(executor_, answer(std::move(theirs), serves), asio::detached);
    }
    co_return ours;
}

containers::result<int> scripted_containers::name_server_socket() {
    if (name_server < 0) {
        return containers::container_error{"NoNames", "there is no network here"};
    }
    return std::exchange(name_server, -1);
}

asio::awaitable<void> scripted_containers::stop() {
    const bool now = true;
    stopped = now;
    sandboxes.clear();
    co_return;
}

}  // namespace signalbox::op::test
