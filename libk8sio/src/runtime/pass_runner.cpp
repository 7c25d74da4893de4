// SPDX-License-Identifier: Apache-2.0
#include "runtime/pass_runner.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

namespace signalbox::k8sio {

namespace asio = boost::asio;

namespace {

/// Up to this number of blocked keys each advance of a view is looked at by itself.
constexpr std::size_t few_blocked = 16;
constexpr std::chrono::milliseconds blocked_interval{5};
constexpr std::chrono::milliseconds doubt_interval{200};

}  // namespace

std::string what_of(std::exception_ptr broken) {
    try {
        std::rethrow_exception(broken);
    } catch (const std::exception& e) {
        return e.what();
    } catch (...) {
        return "unknown exception";
    }
}

pass_runner::pass_runner(
    asio::any_io_executor executor,
    clock& time,
    reconcile_function reconcile,
    const controller_options& options,
    protocol::freshness_fsm& freshness,
    std::function<void()> ended
)
    : executor_(std::move(executor)),
      time_(&time),
      reconcile_(std::move(reconcile)),
      options_(&options),
      freshness_(&freshness),
      ended_(std::move(ended)),
      schedule_(options),
      alive_(std::make_shared<bool>(true)) {}

void pass_runner::begin() {
    started_ = true;
    wake();
}

void pass_runner::end() {
    time_->cancel(timer_);
    time_->cancel(blocked_timer_);
    time_->cancel(doubt_timer_);
    alive_.reset();
}

void pass_runner::log(severity how, const std::string& line) const {
    if (options_->log) {
        options_->log(how, line);
    }
}

void pass_runner::view_advanced() {
    if (schedule_.blocked() > 0 && schedule_.blocked() <= few_blocked) {
        release_blocked();
    } else if (schedule_.blocked() > 0 && blocked_timer_ == 0) {
        blocked_timer_ = time_->schedule(time_->steady_now() + blocked_interval, [this] {
            blocked_timer_ = 0;
            release_blocked();
        });
    }
    wake();
}

/// False if views are incomplete, in doubt or too old; what ends that without an event is looked
/// for again soon.
bool pass_runner::may_start() {
    if (stopping_ || !freshness_->is_complete() || (options_->ready && !options_->ready())) {
        ready_since_.reset();
        return false;  // the queue keeps what comes
    }
    if (!ready_since_) {
        ready_since_ = time_->steady_now();
    }
    if (freshness_->may_decide(time_->steady_now())) {
        return true;
    }
    if (doubt_timer_ == 0) {
        doubt_timer_ = time_->schedule(time_->steady_now() + doubt_interval, [this] {
            doubt_timer_ = 0;
            pump();
        });
    }
    return false;
}

void pass_runner::wake() {
    if (pump_posted_) {
        return;
    }
    pump_posted_ = true;
    asio::post(executor_, [this, life = std::weak_ptr<bool>(alive_)] {
        if (!life.expired()) {
            pump_posted_ = false;
            pump();
        }
    });
}

void pass_runner::pump() {
    if (!started_ || !may_start()) {
        return;
    }
    while (passes_ < options_->max_concurrent_reconciles) {
        const auto key = schedule_.pop(time_->steady_now());
        if (!key) {
            break;
        }
        start_pass(*key);
    }
    arm_timer();
}

void pass_runner::arm_timer() {
    const auto next = schedule_.next_time();
    if (next == timer_at_) {
        return;
    }
    if (timer_at_) {
        time_->cancel(timer_);
    }
    timer_at_ = next;
    if (next) {
        timer_ = time_->schedule(*next, [this] {
            timer_at_.reset();
            pump();
        });
    }
}

void pass_runner::start_pass(const std::string& key) {
    if (!freshness_->is_fresh(key)) {
        ++counters_.behind;
        schedule_.block(key);
        return;
    }
    if (!schedule_.may_begin(key)) {
        return;
    }
    freshness_->forget(key);  // all of it has come
    const steady_time now = time_->steady_now();
    if (options_->observer != nullptr) {
        const steady_time since = schedule_.waited_since().value_or(now);
        options_->observer->began(now - std::max(since, ready_since_.value_or(now)));
    }
    schedule_.begin(key, now);
    ++counters_.reconciles;
    ++passes_;
    auto done = [this, key, now](std::exception_ptr broken, reconcile_result result) {
        if (broken) {
            log(severity::error,
                "a pass ended by an exception: key=" + key + " " + what_of(broken));
            result.failed = true;
        }
        if (options_->observer != nullptr) {
            options_->observer->ended(time_->steady_now() - now, result);
        }
        end_pass(key, result);
    };
    asio::co_spawn(executor_, reconcile_(key), std::move(done));
}

void pass_runner::end_pass(const std::string& key, const reconcile_result& result) {
    --passes_;
    ended_();
    counters_.failed += result.failed ? 1 : 0;
    if (schedule_.end(key, result, time_->steady_now())) {
        log(severity::warning, "a key does not come to rest: " + key);
    }
    if (result.behind) {
        ++counters_.behind;
        release_blocked();  // the view may have advanced in between
    }
    wake();
}

void pass_runner::release_blocked() {
    schedule_.release([this](const std::string& key) { return freshness_->is_fresh(key); });
    wake();
}

}  // namespace signalbox::k8sio
