// SPDX-License-Identifier: Apache-2.0
//
// The writers of Events. What to write is decided in protocol/event_series, whose turn it is in
// protocol/event_queue.
#include "k8sio/event_recorder.hpp"

#include "client/cancellable_task.hpp"
#include "protocol/event_queue.hpp"
#include "protocol/jitter.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>

#include <exception>
#include <list>

namespace signalbox::k8sio {

namespace asio = boost::asio;

namespace {

constexpr std::chrono::seconds longest_first_delay{10};  // N2
constexpr std::chrono::seconds flush_limit{3};
constexpr const char* no_room = "too many wait: the oldest of the least important are left out";

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
        : api(&client_used), series(std::move(component)), queue(limit) {}

    client* api;
    protocol::event_series series;
    protocol::event_queue queue;
    std::uint64_t dropped = 0;
    std::string last_error;
    bool stopping = false;
    bool ended = false;    ///< nothing more is begun
    bool changed = false;  ///< since the loop looked
    std::exception_ptr broken;
    std::optional<asio::steady_timer> wake;  // never expires: cancelled when there is work
    asio::cancellation_signal end_of_flush;
    std::list<asio::cancellation_signal> writers;  // one for each write under way
    clock::timer_id flush_timer = 0;
    clock::timer_id due_timer = 0;
    protocol::jitter random{api->options().seed};

    void notify() {
        changed = true;
        if (wake) {
            wake->cancel();
        }
    }

    void drop(std::size_t how_many, std::string why) {
        if (how_many > 0) {
            dropped += how_many;
            last_error = std::move(why);
        }
    }

    void begin_flush() {
        queue.flush();
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

    asio::awaitable<void> deliver(protocol::queued_event taken) {
        protocol::queued_event event = std::move(taken);
        co_await asio::this_coro::throw_if_cancelled(false);
        if (!event.write) {
            event.write = series.next(event.note, event.recorded);
        }
        auto answer = co_await send(*event.write);
        if (answer.has_error() && answer.error().http_status == 404 && !event.write->create) {
            series.forget(event.note);  // the Event has expired
            event.write = series.next(event.note, event.recorded);
            answer = co_await send(*event.write);
        }
        settle(std::move(event), answer);
    }

    void settle(protocol::queued_event event, const result<std::string>& answer) {
        const bool exists =
            answer.has_error() && event.write->create && answer.error().reason == "AlreadyExists";
        if (answer.has_value() || exists) {
            queue.written(event);
            return;
        }
        const api_error& error = answer.error();
        const event_note note = event.note;
        if (is_passing(error)) {
            const auto delay = random.below(longest_first_delay);
            if (queue.failed(std::move(event), api->time().steady_now(), delay)) {
                return;
            }
        } else {
            queue.written(event);
        }
        series.forget(note);
        if (!is_silent(error)) {
            drop(1, error.text());
        }
    }

    void start_writers(const asio::any_io_executor& executor) {
        while (auto event = queue.take(api->time().steady_now())) {
            const auto signal = writers.emplace(writers.end());
            auto done = [this, signal](std::exception_ptr thrown) {
                writers.erase(signal);
                broken = thrown ? thrown : broken;
                notify();
            };
            asio::co_spawn(
                executor,
                deliver(std::move(*event)),
                asio::bind_cancellation_slot(signal->slot(), std::move(done))
            );
        }
    }

    void arm() {
        api->time().cancel(due_timer);
        if (const auto due = queue.next_due()) {
            due_timer = api->time().schedule(*due, [this] { notify(); });
        }
    }

    void end_writers() {
        ended = true;
        for (auto each = writers.begin(); each != writers.end();) {
            (each++)->emit(asio::cancellation_type::terminal);  // one that has ended goes
        }
    }

    asio::awaitable<void> loop() {
        const asio::any_io_executor executor = co_await asio::this_coro::executor;
        co_await asio::this_coro::throw_if_cancelled(false);
        wake.emplace(executor, asio::steady_timer::time_point::max());
        if (stopping) {
            begin_flush();
        }
        while (!ended || !writers.empty()) {
            const asio::cancellation_state state = co_await asio::this_coro::cancellation_state;
            changed = false;
            if (!ended && (broken || state.cancelled() != asio::cancellation_type::none)) {
                end_writers();
            } else if (!ended) {
                start_writers(executor);
                ended = stopping && queue.idle();
                arm();
            }
            const bool over = ended && writers.empty();
            if (!changed && !over) {
                co_await wake->async_wait(asio::as_tuple(asio::use_awaitable));
            }
        }
        wake.reset();
        api->time().cancel(flush_timer);
        api->time().cancel(due_timer);
        drop(queue.clear(), last_error);  // those that the time did not suffice for
        if (broken) {
            std::rethrow_exception(broken);
        }
    }
};

event_recorder::event_recorder(client& api, std::string component, std::size_t queue_limit)
    : impl_(std::make_unique<impl>(api, std::move(component), queue_limit)) {}

event_recorder::~event_recorder() = default;

void event_recorder::record(event_note note) {
    if (impl_->ended) {
        return;
    }
    protocol::queued_event event;
    event.note = std::move(note);
    event.recorded = impl_->api->server_now();
    event.since = impl_->api->time().steady_now();
    impl_->drop(impl_->queue.push(std::move(event)), no_room);
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
        impl_->begin_flush();
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
    return impl_->queue.idle();
}

}  // namespace signalbox::k8sio
