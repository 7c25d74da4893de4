// SPDX-License-Identifier: Apache-2.0
//
// The machine's clocks, virtual time, and sleeping on either with per-operation cancellation.
#include "k8sio/clock.hpp"

#include "client/wakeable_sleep.hpp"

#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <unordered_map>

namespace signalbox::k8sio {

namespace asio = boost::asio;

namespace {

/// One sleep: whoever comes first of timer, waker and cancellation completes it. The clock keeps it
/// alive; all others know it weakly, as it keeps the sleeping coroutine alive.
template <class Handler>
class sleep_operation : public std::enable_shared_from_this<sleep_operation<Handler>> {
public:
    sleep_operation(clock& c, Handler handler) : clock_(&c), handler_(std::move(handler)) {}

    void start(steady_time at, sleep_waker* waker) {
        auto self = this->shared_from_this();
        id_ = clock_->schedule(at, [self] { self->complete(wake_reason::time); });
        std::weak_ptr<sleep_operation> weak = self;
        auto slot = asio::get_associated_cancellation_slot(handler_);
        if (slot.is_connected()) {
            slot.assign([weak](asio::cancellation_type) { end(weak, wake_reason::cancelled); });
        }
        if (waker != nullptr) {
            waker->set([weak] { end(weak, wake_reason::woken); });
        }
    }

private:
    static void end(const std::weak_ptr<sleep_operation>& weak, wake_reason reason) {
        const auto self = weak.lock();
        if (!self || self->done_) {  // also while the coroutine that it resumed runs
            return;
        }
        self->clock_->cancel(self->id_);
        // Posted: completing clears the slot, whose handler may be what is running now.
        auto executor = asio::get_associated_executor(self->handler_);
        asio::post(executor, [self, reason] { self->complete(reason); });
    }

    void complete(wake_reason reason) {
        if (done_) {
            return;
        }
        done_ = true;
        asio::get_associated_cancellation_slot(handler_).clear();
        auto executor = asio::get_associated_executor(handler_);
        asio::dispatch(executor, [handler = std::move(handler_), reason]() mutable {
            std::move(handler)(reason);
        });
    }

    clock* clock_;
    clock::timer_id id_ = 0;
    Handler handler_;
    bool done_ = false;
};

asio::awaitable<wake_reason> start_sleep(clock& c, steady_time at, sleep_waker* waker) {
    auto initiate = [&c, at, waker](auto handler) {
        using operation = sleep_operation<decltype(handler)>;
        std::make_shared<operation>(c, std::move(handler))->start(at, waker);
    };
    return asio::async_initiate<const asio::use_awaitable_t<>&, void(wake_reason)>(
        initiate, asio::use_awaitable
    );
}

class machine_clock final : public clock {
public:
    explicit machine_clock(asio::any_io_executor executor)
        : executor_(std::move(executor)), timers_(std::make_shared<timer_map>()) {}

    steady_time steady_now() const override { return std::chrono::steady_clock::now(); }
    wall_time wall_now() const override { return std::chrono::system_clock::now(); }

    timer_id schedule(steady_time at, std::function<void()> callback) override {
        const timer_id id = next_id_++;
        asio::steady_timer& timer = timers_->try_emplace(id, executor_, at).first->second;
        std::weak_ptr<timer_map> weak = timers_;
        timer.async_wait([weak, id, run = std::move(callback)](boost::system::error_code) {
            const auto timers = weak.lock();
            // Whether it is in the map decides, not the error code: cancel() may come after expiry.
            if (timers && timers->erase(id) == 1) {
                run();
            }
        });
        return id;
    }

    void cancel(timer_id id) override { timers_->erase(id); }

private:
    using timer_map = std::unordered_map<timer_id, asio::steady_timer>;

    asio::any_io_executor executor_;
    timer_id next_id_ = 1;
    std::shared_ptr<timer_map> timers_;
};

}  // namespace

asio::awaitable<bool> sleep_until(clock& c, steady_time at) {
    const wake_reason reason = co_await start_sleep(c, at, nullptr);
    co_return reason == wake_reason::time;
}

asio::awaitable<bool> sleep_for(clock& c, std::chrono::nanoseconds duration) {
    return sleep_until(c, c.steady_now() + duration);
}

asio::awaitable<wake_reason> sleep_until(clock& c, steady_time at, sleep_waker& waker) {
    return start_sleep(c, at, &waker);
}

std::unique_ptr<clock> make_machine_clock(asio::any_io_executor executor) {
    return std::make_unique<machine_clock>(std::move(executor));
}

virtual_clock::virtual_clock(asio::any_io_executor executor, wall_time start)
    : executor_(std::move(executor)), start_(start), alive_(std::make_shared<bool>(true)) {}

virtual_clock::~virtual_clock() = default;

wall_time virtual_clock::wall_now() const {
    return start_ + std::chrono::duration_cast<wall_time::duration>(now_.time_since_epoch());
}

clock::timer_id virtual_clock::schedule(steady_time at, std::function<void()> callback) {
    const timer_id id = next_id_++;
    timers_.emplace(std::make_pair(at, id), std::move(callback));
    due_.emplace(id, at);
    return id;
}

void virtual_clock::cancel(timer_id id) {
    const auto found = due_.find(id);
    if (found != due_.end()) {
        timers_.erase({found->second, id});
        due_.erase(found);
    }
}

bool virtual_clock::advance_to_next() {
    if (timers_.empty()) {
        return false;
    }
    now_ = std::max(now_, next_at());
    post_due();
    return true;
}

void virtual_clock::advance(std::chrono::nanoseconds duration) {
    now_ += std::chrono::duration_cast<steady_time::duration>(duration);
    post_due();
}

void virtual_clock::post_due() {
    while (!timers_.empty() && next_at() <= now_) {
        const auto first = timers_.begin();
        // The id stays in due_ until the callback runs, so that cancel() still works in between.
        auto run = [this,
                    alive = std::weak_ptr<bool>(alive_),
                    id = first->first.second,
                    callback = std::move(first->second)] {
            if (!alive.expired() && due_.erase(id) == 1) {
                callback();
            }
        };
        timers_.erase(first);
        asio::post(executor_, std::move(run));
    }
}

}  // namespace signalbox::k8sio
