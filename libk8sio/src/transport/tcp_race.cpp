// SPDX-License-Identifier: Apache-2.0
#include "transport/tcp_race.hpp"

#include "client/wakeable_sleep.hpp"
#include "protocol/dial.hpp"

#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace signalbox::k8sio {

namespace asio = boost::asio;

namespace {

using tcp = asio::ip::tcp;

/// What handlers know of the race; it may be over when they run.
struct race {
    sleep_waker* waker = nullptr;
    struct attempt {
        attempt(asio::any_io_executor executor, tcp::endpoint to) : socket(executor), where(to) {}
        tcp::socket socket;
        tcp::endpoint where;
        std::optional<boost::system::error_code> outcome;
        bool told = false;  // the machine knows of its failure
    };
    std::vector<std::unique_ptr<attempt>> attempts;

    void begin(asio::any_io_executor executor, tcp::endpoint to, std::shared_ptr<race> self) {
        attempts.push_back(std::make_unique<attempt>(std::move(executor), to));
        attempt* made = attempts.back().get();
        made->socket.async_connect(to, [self, made](boost::system::error_code error) {
            made->outcome = error;
            if (self->waker != nullptr) {
                self->waker->wake();
            }
        });
    }
    attempt* winner() const {
        for (const auto& each : attempts) {
            if (each->outcome && !*each->outcome) {
                return each.get();
            }
        }
        return nullptr;
    }
    void tell(protocol::dial& machine, steady_time now) {
        for (const auto& each : attempts) {
            if (each->outcome && *each->outcome && !std::exchange(each->told, true)) {
                machine.failed(now);
            }
        }
    }
    /// The rest is given up. Handlers still hold it.
    void end() {
        waker = nullptr;
        for (const auto& each : attempts) {
            boost::system::error_code ignored;
            each->socket.close(ignored);
        }
    }
};

std::string describe(const race& tried) {
    std::string text;
    for (const auto& each : tried.attempts) {
        text += text.empty() ? "" : ", ";
        text += each->where.address().to_string() + ": ";
        text += each->outcome ? each->outcome->message() : "no answer";
    }
    return text;
}

}  // namespace

asio::awaitable<result<tcp::socket>> connect_to_any(
    asio::any_io_executor executor,
    clock& time,
    const std::vector<tcp::endpoint>& endpoints,
    steady_time until,
    std::vector<tcp::endpoint>& losers
) {
    const auto all = std::make_shared<race>();
    protocol::dial machine(endpoints.size(), until);
    bool cancelled = false;
    while (!cancelled && all->winner() == nullptr) {
        all->tell(machine, time.steady_now());
        const protocol::dial::step step = machine.next(time.steady_now());
        if (step == protocol::dial::step::finish) {
            break;
        }
        if (step == protocol::dial::step::start) {
            all->begin(executor, endpoints[all->attempts.size()], all);
            continue;
        }
        sleep_waker waker;
        all->waker = &waker;
        const wake_reason reason = co_await sleep_until(time, machine.wake_at(), waker);
        all->waker = nullptr;
        cancelled = reason == wake_reason::cancelled;
    }
    std::optional<tcp::socket> won;
    race::attempt* winner = all->winner();
    for (const auto& each : all->attempts) {
        if (each.get() == winner) {
            won.emplace(std::move(each->socket));
        } else {
            losers.push_back(each->where);
        }
    }
    const std::string story = describe(*all);
    all->end();
    if (won && !cancelled) {
        co_return std::move(*won);
    }
    api_error error;
    error.code = cancelled ? errc::cancelled : errc::connect;
    error.message = story;
    co_return error;
}

}  // namespace signalbox::k8sio
