// SPDX-License-Identifier: Apache-2.0
#include "k8sio/fair_slots.hpp"
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
    explicit waiting_room(std::size_t count) : slots(w.loop.get_executor(), count) {}

    static boost::asio::awaitable<void> ask(waiting_room* room, std::string who) {
        std::string group = who.substr(0, 1);
        co_await room->slots.acquire(std::move(group));
        room->served += who + " ";
    }
    void add(const std::string& who) {
        boost::asio::co_spawn(w.loop, ask(this, who), boost::asio::detached);
        w.settle();
    }
    /// Those who are served when one of this group gives its slot back.
    std::string release(const std::string& group) {
        served.clear();
        slots.release(group);
        w.settle();
        return served;
    }

    virtual_loop w;
    fair_slots slots;
    std::string served;
};

}  // namespace

TEST_CASE("[requirement Q11] a group leaves free as many slots as it has") {
    waiting_room room(5);
    for (const char* who : {"a1", "a2", "a3", "a4", "b1", "b2", "c1", "d1"}) {
        room.add(who);
    }
    CHECK(room.served == "a1 a2 a3 b1 c1 ");
    CHECK(room.slots.in_use() == 5);
    // `a` has two of them, so that it leaves the last to others.
    CHECK(room.release("a") == "d1 ");
    CHECK(room.release("b") == "b2 ");
    CHECK(room.release("c").empty());
    CHECK(room.release("d").empty());
    CHECK(room.release("b") == "a4 ");
    for (const char* group : {"a", "a", "a"}) {
        CHECK(room.release(group).empty());
    }
    CHECK(room.slots.in_use() == 0);
}

TEST_CASE("[requirement Q11] groups that wait for slots take turns, one that comes back too") {
    waiting_room room(1);
    for (const char* who : {"a1", "a2", "a3", "b1", "b2", "c1"}) {
        room.add(who);
    }
    CHECK(room.release("a") == "a2 ");
    CHECK(room.release("a") == "b1 ");
    CHECK(room.release("b") == "c1 ");
    room.add("c2");
    CHECK(room.release("c") == "a3 ");
    CHECK(room.release("a") == "b2 ");
    CHECK(room.release("b") == "c2 ");
    CHECK(room.release("c").empty());
    CHECK(room.slots.in_use() == 0);
}

TEST_CASE("[requirement R10] slots become fewer as they are given back, and more at once") {
    waiting_room room(4);
    for (const char* who : {"a1", "a2", "b1", "b2", "c1", "d1"}) {
        room.add(who);
    }
    REQUIRE(room.served == "a1 a2 b1 c1 ");
    room.slots.resize(2);
    CHECK(room.slots.in_use() == 4);
    CHECK(room.release("a").empty());
    CHECK(room.release("b").empty());
    CHECK(room.release("a") == "b2 ");
    room.served.clear();
    room.slots.resize(8);
    room.w.settle();
    CHECK(room.served == "d1 ");
    room.slots.resize(0);
    for (const char* group : {"b", "c", "d"}) {
        CHECK(room.release(group).empty());
    }
    room.add("e1");
    CHECK(room.served == "e1 ");
}
