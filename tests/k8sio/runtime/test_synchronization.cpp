// SPDX-License-Identifier: Apache-2.0
#include "k8sio/synchronization.hpp"
#include "virtual_loop.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include <catch2/catch.hpp>

#include <string>

using namespace signalbox::k8sio;
using signalbox::k8sio::test::virtual_loop;

namespace {

/// Who waits for a slot is a group and a number: `a1`. None gives its slot back by itself.
struct waiting_room {
    explicit waiting_room(std::size_t slots) : slots(w.loop.get_executor(), slots) {}

    static boost::asio::awaitable<void> ask(waiting_room* room, std::string who) {
        std::string group = who.substr(0, 1);
        co_await room->slots.acquire(std::move(group));
        room->served += who + " ";
    }
    void add(const std::string& who) {
        boost::asio::co_spawn(w.loop, ask(this, who), boost::asio::detached);
        w.settle();
    }
    /// Those who are served when one slot is given back.
    std::string release() {
        served.clear();
        slots.release();
        w.settle();
        return served;
    }

    virtual_loop w;
    semaphore slots;
    std::string served;
};

}  // namespace

TEST_CASE("[requirement Q11] groups that wait for slots take turns") {
    waiting_room room(2);
    for (const char* who : {"a1", "a2", "a3", "a4", "b1", "a5", "b2", "c1"}) {
        room.add(who);
    }
    CHECK(room.served == "a1 a2 ");
    CHECK(room.slots.in_use() == 2);
    std::string order;
    for (int i = 0; i < 6; ++i) {
        order += room.release();
        CHECK(room.slots.in_use() == 2);
    }
    CHECK(order == "a3 b1 c1 a4 b2 a5 ");
    CHECK(room.release().empty());
    CHECK(room.release().empty());
    CHECK(room.slots.in_use() == 0);
}

TEST_CASE("[requirement Q11] a group that comes back waits behind the others") {
    waiting_room room(1);
    for (const char* who : {"a1", "a2", "b1"}) {
        room.add(who);
    }
    CHECK(room.release() == "a2 ");
    room.add("a3");
    CHECK(room.release() == "b1 ");
    CHECK(room.release() == "a3 ");
}
