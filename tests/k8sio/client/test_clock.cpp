// SPDX-License-Identifier: Apache-2.0
#include "client/wakeable_sleep.hpp"
#include "runtime/virtual_loop.hpp"

#include <catch2/catch.hpp>

namespace k8sio = signalbox::k8sio;
using namespace signalbox::k8sio;
using test::virtual_loop;
using namespace std::chrono_literals;

namespace {

boost::asio::awaitable<bool> hold(k8sio::clock& time, std::shared_ptr<int> witness) {
    const std::chrono::nanoseconds duration = 10s + std::chrono::seconds{*witness};
    co_return co_await sleep_for(time, duration);
}

}  // namespace

TEST_CASE("[requirement R8] virtual timers run in order of time, then of scheduling") {
    virtual_loop loop;
    std::string order;
    const steady_time start = loop.time.steady_now();
    loop.time.schedule(start + 2s, [&] { order += 'c'; });
    loop.time.schedule(start + 1s, [&] { order += 'a'; });
    loop.time.schedule(start + 1s, [&] { order += 'b'; });
    const auto dropped = loop.time.schedule(start + 1s, [&] { order += 'x'; });
    loop.time.cancel(dropped);
    CHECK(loop.time.next_at() == start + 1s);
    loop.run_for(1s);
    CHECK(order == "ab");
    loop.run_for(5s);
    CHECK(order == "abc");
    CHECK(loop.time.steady_now() == start + 6s);
    CHECK_FALSE(loop.time.has_pending());
    CHECK_FALSE(loop.time.advance_to_next());
}

TEST_CASE("[requirement R8] a timer cancelled after it was posted does not run") {
    virtual_loop loop;
    bool ran = false;
    const auto id = loop.time.schedule(loop.time.steady_now() + 1s, [&] { ran = true; });
    loop.time.advance(2s);
    loop.time.cancel(id);
    loop.settle();
    CHECK_FALSE(ran);
}

TEST_CASE("[requirement R8] callbacks that are posted when the clock goes do not run") {
    boost::asio::io_context loop;
    bool ran = false;
    {
        virtual_clock time(loop.get_executor(), {});
        time.schedule(time.steady_now(), [&] { ran = true; });
        time.advance(1s);
    }
    loop.poll();
    CHECK_FALSE(ran);
}

TEST_CASE("[requirement R8] a sleep ends at its time, or with false when it is cancelled") {
    virtual_loop loop;
    test::task<bool> sleeper(loop, sleep_for(loop.time, 10s));
    loop.run_for(9s);
    CHECK_FALSE(sleeper.done);
    SECTION("at its time") {
        loop.run_for(1s);
        REQUIRE(sleeper.done);
        CHECK(sleeper.result);
    }
    SECTION("cancelled") {
        sleeper.cancel();
        loop.settle();
        REQUIRE(sleeper.done);
        CHECK_FALSE(sleeper.result);
        CHECK_FALSE(sleeper.failure);
        CHECK_FALSE(loop.time.has_pending());
    }
    SECTION("cancelled while the timer's callback is already posted") {
        loop.time.advance(1s);
        sleeper.cancel();
        loop.settle();
        CHECK(sleeper.done);
    }
}

TEST_CASE("[requirement R8] a waker ends a sleep early") {
    virtual_loop loop;
    sleep_waker waker;
    waker.wake();  // no one sleeps
    test::task<wake_reason> sleeper(
        loop, sleep_until(loop.time, loop.time.steady_now() + 10s, waker)
    );
    loop.settle();
    waker.wake();
    waker.wake();
    loop.settle();
    REQUIRE(sleeper.done);
    CHECK(sleeper.result == wake_reason::woken);
    waker.wake();
}

TEST_CASE("[requirement R8] a coroutine that sleeps forever is destroyed with the clock") {
    auto witness = std::make_shared<int>(0);
    {
        virtual_loop loop;
        boost::asio::co_spawn(loop.loop, hold(loop.time, witness), [](auto, bool) {});
        loop.settle();
        CHECK(witness.use_count() > 1);
    }
    CHECK(witness.use_count() == 1);
}

TEST_CASE("[requirement R8] the machine's clock runs callbacks and forgets cancelled ones") {
    boost::asio::io_context loop;
    auto time = make_machine_clock(loop.get_executor());
    std::string order;
    time->schedule(time->steady_now() + 2ms, [&] { order += 'b'; });
    time->schedule(time->steady_now() - 1s, [&] { order += 'a'; });
    time->cancel(time->schedule(time->steady_now(), [&] { order += 'x'; }));
    loop.run();
    CHECK(order == "ab");
}
