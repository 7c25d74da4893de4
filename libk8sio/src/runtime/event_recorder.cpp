// SPDX-License-Identifier: Apache-2.0
//
// The queue and the one writer of Events. What to write is decided in protocol/event_series.
#include "k8sio/event_recorder.hpp"

#include "protocol/event_series.hpp"
#include "protocol/jitter.hpp"
#include "runtime/cancellable_task.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>

#include <deque>

namespace signalbox::k8sio {

namespace asio = boost::asio;

namespace {

constexpr int max_tries = 12;  // N2
constexpr std::chrono::seconds try_interval{10};
constexpr std::chrono::seconds flush_limit{3};

/// The server could not be reached, or is overloaded: worth another try (N2). A refusal is not.
bool is_passing(const api_error& error) {
    switch (classify(error)) {
        case retry_class::retry_now:
        case retry_class::retry_later:
        case retry_class::unknown_outcome:  // the name is fixed, a patch is absolute: may be
                                            // repeated
            return true;
        case retry_class::recompute:
        case retry_class::give_up:
        case retry_class::cancelled:
            return false;
    }
    return false;
}

/// N3: nothing is wrong if the namespace is on its way out.
bool is_silent(const api_error& error) {
    return error.http_status == 404 || error.has_cause("NamespaceTerminating");
}

}  // namespace

struct event_recorder::impl {
    impl(client& client_used, std::string component, std::size_t limit)
        : api(&client_used), series(std::move(component)), queue_limit(limit) {}

    client* api;
    protocol::event_series series;
    std::size_t queue_limit;
    std::deque<event_note> queue;
    std::uint64_t dropped = 0;
    std::string last_error;
    bool writing = false;
    bool stopping = false;
    std::optional<asio::steady_timer> wake;  // never expires: cancelled when there is work
    asio::cancellation_signal end_of_flush;
    clock::timer_id flush_timer = 0;
    protocol::jitter random{api->options().seed};

    void notify() {
        if (wake) {
            wake->cancel();
        }
    }

    void limit_flush() {
        flush_timer = api->time().schedule(api->time().steady_now() + flush_limit, [this] {
            end_of_flush.emit(asio::cancellation_type::terminal);
        });
    }

    asio::awaitable<result<std::string>> send(const protocol::event_write& write) {
        const resource_type& type = resources::events();
        if (write.create) {
            co_return co_await api->create(type, write.ns, write.body);
        }
        co_return co_await api->merge_patch(type, write.ns, write.name, write.body);
    }

    /// One write with the patience of N2.
    asio::awaitable<result<std::string>> send_patiently(const protocol::event_write& write) {
        auto answer = co_await send(write);
        for (int tries = 1; answer.has_error(); ++tries) {
            if (!is_passing(answer.error()) || stopping || tries == max_tries) {
                break;
            }
            std::chrono::nanoseconds delay = try_interval;
            if (tries == 1) {
                delay = random.below(try_interval);
            }
            const bool reached = co_await sleep_for(api->time(), delay);
            if (!reached) {
                break;
            }
            answer = co_await send(write);
        }
        co_return answer;
    }

    asio::awaitable<void> deliver(const event_note& note) {
        protocol::event_write write = series.next(note, api->server_now());
        auto answer = co_await send_patiently(write);
        if (answer.has_error() && answer.error().http_status == 404 && !write.create) {
            series.forget(note);  // the Event has expired
            write = series.next(note, api->server_now());
            answer = co_await send_patiently(write);
        }
        if (answer.has_value()) {
            co_return;
        }
        const bool exists = write.create && answer.error().reason == "AlreadyExists";
        if (exists) {
            co_return;
        }
        series.forget(note);
        if (!is_silent(answer.error())) {
            ++dropped;
            last_error = answer.error().text();
        }
    }

    asio::awaitable<void> loop() {
        const asio::any_io_executor executor = co_await asio::this_coro::executor;
        co_await asio::this_coro::throw_if_cancelled(false);
        wake.emplace(executor, asio::steady_timer::time_point::max());
        if (stopping) {
            limit_flush();
        }
        for (;;) {
            const asio::cancellation_state state = co_await asio::this_coro::cancellation_state;
            if (state.cancelled() != asio::cancellation_type::none) {
                break;
            }
            if (!queue.empty()) {
                const event_note note = std::move(queue.front());
                queue.pop_front();
                writing = true;
                co_await deliver(note);
                writing = false;
            } else if (stopping) {
                break;
            } else {
                co_await wake->async_wait(asio::as_tuple(asio::use_awaitable));
            }
        }
        wake.reset();
        api->time().cancel(flush_timer);
        dropped += queue.size();  // those that the time did not suffice for
        queue.clear();
    }
};

event_recorder::event_recorder(client& api, std::string component, std::size_t queue_limit)
    : impl_(std::make_unique<impl>(api, std::move(component), queue_limit)) {}

event_recorder::~event_recorder() = default;

void event_recorder::record(event_note note) {
    if (impl_->queue.size() >= impl_->queue_limit) {
        ++impl_->dropped;
        return;
    }
    impl_->queue.push_back(std::move(note));
    impl_->notify();
}

asio::awaitable<void> event_recorder::run() {
    asio::awaitable<void> task = impl_->loop();
    co_await run_cancellable(impl_->end_of_flush, std::move(task));
}

void event_recorder::stop() {
    if (impl_->stopping) {
        return;
    }
    impl_->stopping = true;
    if (impl_->wake) {
        impl_->limit_flush();
        impl_->notify();
    }
}

std::uint64_t event_recorder::dropped() const {
    return impl_->dropped;
}

const std::string& event_recorder::last_error() const {
    return impl_->last_error;
}

bool event_recorder::idle() const {
    return impl_->queue.empty() && !impl_->writing;
}

}  // namespace signalbox::k8sio
