// SPDX-License-Identifier: Apache-2.0
#include "protocol/dial.hpp"

#include <catch2/catch.hpp>

using namespace signalbox::k8sio;
using namespace std::chrono_literals;
using protocol::dial;
using protocol::dial_address;
using protocol::dial_order;

TEST_CASE("[requirement T3] families in turn, what failed lately last") {
    using order = std::vector<std::size_t>;
    CHECK(dial_order({}).empty());
    CHECK(dial_order({{true, false}, {true, false}, {false, false}}) == order{0, 2, 1});
    CHECK(
        dial_order({{false, true}, {true, false}, {false, false}, {true, true}}) ==
        order{2, 1, 0, 3}
    );
    CHECK(dial_order({{true, true}, {false, true}}) == order{0, 1});
}

TEST_CASE("[requirement T3] the next attempt begins when one hangs, or at once when one fails") {
    const steady_time begin{};
    steady_time now = begin;
    dial subject(3, begin + 30s);
    CHECK(subject.next(now) == dial::step::start);
    CHECK(subject.next(now) == dial::step::wait);
    CHECK(subject.wake_at() == begin + 250ms);
    SECTION("it hangs") {
        now += 249ms;
        CHECK(subject.next(now) == dial::step::wait);
        now += 1ms;
        CHECK(subject.next(now) == dial::step::start);
        CHECK(subject.next(now) == dial::step::wait);
        CHECK(subject.wake_at() == begin + 500ms);
        now += 250ms;
        CHECK(subject.next(now) == dial::step::start);
        CHECK(subject.next(now) == dial::step::wait);
        CHECK(subject.wake_at() == begin + 30s);
        now = begin + 30s;
        CHECK(subject.next(now) == dial::step::finish);
    }
    SECTION("it fails") {
        now += 10ms;
        subject.failed(now);
        CHECK(subject.next(now) == dial::step::start);
        CHECK(subject.next(now) == dial::step::wait);
        CHECK(subject.wake_at() == begin + 260ms);
        subject.failed(now);
        CHECK(subject.next(now) == dial::step::start);
        subject.failed(now);
        CHECK(subject.next(now) == dial::step::finish);
    }
}

TEST_CASE("[requirement T3] no address, and no time") {
    const steady_time begin{};
    CHECK(dial(0, begin + 1s).next(begin) == dial::step::finish);
    CHECK(dial(1, begin).next(begin) == dial::step::finish);
    dial brief(2, begin + 100ms);
    CHECK(brief.next(begin) == dial::step::start);
    CHECK(brief.next(begin) == dial::step::wait);
    CHECK(brief.wake_at() == begin + 100ms);
}
