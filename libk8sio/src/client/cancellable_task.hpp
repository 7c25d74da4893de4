// SPDX-License-Identifier: Apache-2.0
//
// A task with a second way to be cancelled: a signal of its owner, for stop() functions.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace signalbox::k8sio {

namespace asio = boost::asio;

/// Runs `task` to its end. Cancelling the caller, in whatever way its state lets through, cancels
/// `task`, and so does signal.emit(terminal). `signal` must outlive it.
template <class T>
asio::awaitable<T> run_cancellable(asio::cancellation_signal& signal, asio::awaitable<T> task) {
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    asio::cancellation_state outer = co_await asio::this_coro::cancellation_state;
    if (outer.slot().is_connected()) {
        asio::cancellation_signal* inner = &signal;
        outer.slot().assign([inner](asio::cancellation_type) {
            inner->emit(asio::cancellation_type::terminal);
        });
    }
    auto token = asio::bind_cancellation_slot(signal.slot(), asio::use_awaitable);
    co_return co_await asio::co_spawn(executor, std::move(task), std::move(token));
}

}  // namespace signalbox::k8sio
