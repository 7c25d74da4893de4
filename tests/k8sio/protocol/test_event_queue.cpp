// SPDX-License-Identifier: Apache-2.0
#include "protocol/event_queue.hpp"

#include <catch2/catch.hpp>

#include <vector>

using namespace signalbox::k8sio;
using namespace std::chrono_literals;
using protocol::queued_event;

namespace {

constexpr std::chrono::nanoseconds first_delay = 3s;

struct queue_fixture {
    explicit queue_fixture(std::size_t room = 1000) : subject(room) {}

    std::size_t push(
        const std::string& ns,
        const std::string& object,
        const std::string& reason,
        event_rank rank = event_rank::state
    ) {
        queued_event added;
        added.note.regarding.ns = ns;
        added.note.regarding.name = object;
        added.note.reason = reason;
        added.note.rank = rank;
        added.since = now;
        return subject.push(std::move(added));
    }
    /// All that may be written now.
    std::vector<queued_event> take_all() {
        std::vector<queued_event> out;
        while (auto each = subject.take(now)) {
            out.push_back(std::move(*each));
        }
        return out;
    }
    /// Writes whatever may be written; as `namespace/object/reason`.
    std::vector<std::string> write_all() {
        std::vector<std::string> out;
        while (auto each = subject.take(now)) {
            out.push_back(
                each->note.regarding.ns + "/" + each->note.regarding.name + "/" + each->note.reason
            );
            subject.written(*each);
        }
        return out;
    }
    void fail(const queued_event& each) { subject.failed(each, now, first_delay); }
    /// Lets the namespace fail until it is in trouble.
    void trouble(const std::string& ns) {
        for (int i = 0; i < 8; ++i) {
            push(ns, "t" + std::to_string(i), "r");
        }
        for (int failures = 0; failures < 8;) {
            for (const queued_event& each : take_all()) {
                fail(each);
                ++failures;
            }
        }
    }

    protocol::event_queue subject;
    steady_time now{};
};

using texts = std::vector<std::string>;

}  // namespace

TEST_CASE("[requirement N5] without room the oldest of the lowest rank goes") {
    queue_fixture f(3);
    CHECK(f.push("a", "p", "s1") == 0);
    CHECK(f.push("a", "p", "d1", event_rank::detail) == 0);
    CHECK(f.push("a", "q", "d2", event_rank::detail) == 0);
    CHECK(f.push("a", "q", "s2") == 1);
    CHECK(f.push("a", "q", "s3") == 1);
    CHECK(f.push("a", "q", "s4") == 1);
    CHECK(f.push("a", "r", "d3", event_rank::detail) == 1);  // there is no lower one than itself
    CHECK(f.subject.waiting() == 3);
    CHECK(f.write_all() == texts{"a/q/s2", "a/q/s3", "a/q/s4"});
    CHECK(f.subject.idle());
}

TEST_CASE("[requirement N5] the end of an object takes no room, and ten times as many may wait") {
    queue_fixture f(2);
    for (int i = 0; i < 20; ++i) {
        CHECK(f.push("a", std::to_string(i), "end", event_rank::end) == 0);
    }
    CHECK(f.push("a", "p", "s1") == 0);
    CHECK(f.push("a", "p", "s2") == 0);
    CHECK(f.push("a", "p", "s3") == 1);
    CHECK(f.push("a", "p", "end", event_rank::end) == 1);
    const texts written = f.write_all();
    CHECK(written.size() == 22);
    CHECK(std::find(written.begin(), written.end(), "a/0/end") == written.end());
}

TEST_CASE("[requirement N5] the namespace that has most waiting pays") {
    queue_fixture f(4);
    f.push("a-quiet", "p", "old");
    for (int i = 0; i < 10; ++i) {
        f.push("b-flood", "p", std::to_string(i));
    }
    CHECK(f.write_all() == texts{"a-quiet/p/old", "b-flood/p/7", "b-flood/p/8", "b-flood/p/9"});
}

TEST_CASE("[requirement N6] namespaces and their objects have turns, an object keeps its order") {
    queue_fixture f;
    for (const char* object : {"p", "q"}) {
        f.push("a", object, "1");
        f.push("a", object, "2");
    }
    f.push("b", "p", "1");
    CHECK(f.write_all() == texts{"a/p/1", "b/p/1", "a/q/1", "a/p/2", "a/q/2"});
}

TEST_CASE("[requirement N6] eight at a time, six of one namespace, one of one object") {
    queue_fixture f;
    for (int i = 0; i < 10; ++i) {
        f.push("a", std::to_string(i), "1");
        f.push("a", std::to_string(i), "2");
    }
    std::vector<queued_event> taken = f.take_all();
    CHECK(taken.size() == 6);
    for (const queued_event& each : taken) {
        CHECK(each.note.reason == "1");
    }
    CHECK_FALSE(f.subject.next_due());
    f.push("b", "p", "1");
    f.push("c", "p", "1");
    f.push("d", "p", "1");
    CHECK(f.take_all().size() == 2);
    f.subject.written(taken.front());
    const auto next = f.subject.take(f.now);
    REQUIRE(next);
    CHECK(next->note.regarding.ns == "a");  // it was served before `d` came
}

TEST_CASE("[requirement N6] a note that is tried again holds up its object only") {
    queue_fixture f;
    f.push("a", "p", "1");
    f.push("a", "p", "2");
    f.push("a", "q", "1");
    f.fail(*f.subject.take(f.now));
    CHECK(f.write_all() == texts{"a/q/1"});
    REQUIRE(f.subject.next_due());
    CHECK(*f.subject.next_due() == f.now + first_delay);
    f.now += first_delay;
    CHECK(f.write_all() == texts{"a/p/1", "a/p/2"});
    CHECK(f.subject.idle());
}

TEST_CASE("[requirement N6] a namespace in trouble is tried with one note every 10 s") {
    queue_fixture f;
    f.trouble("a");
    f.push("a", "new", "1");
    f.push("b", "p", "1");
    CHECK(f.write_all() == texts{"b/p/1"});
    f.now += 9s;
    CHECK(f.take_all().empty());
    f.now += 1s;
    std::vector<queued_event> probe = f.take_all();
    REQUIRE(probe.size() == 1);
    f.fail(probe.front());
    CHECK(f.take_all().empty());
    f.now += 10s;
    probe = f.take_all();
    REQUIRE(probe.size() == 1);
    f.subject.written(probe.front());
    CHECK(f.take_all().size() == 6);  // the end of its trouble
}

TEST_CASE("[requirement N6] of namespaces in trouble two are tried at a time") {
    queue_fixture f;
    for (const char* ns : {"a", "b", "c"}) {
        f.trouble(ns);
    }
    f.now += 10s;
    const std::vector<queued_event> probes = f.take_all();
    CHECK(probes.size() == 2);
    CHECK_FALSE(f.subject.next_due());
    f.fail(probes.front());
    CHECK(f.take_all().size() == 1);
}

TEST_CASE("[requirement N2] a note is tried twelve times, the end of an object for an hour") {
    const event_rank rank = GENERATE(event_rank::detail, event_rank::state, event_rank::end);
    queue_fixture f;
    f.push("a", "p", "r", rank);
    int tries = 0;
    while (!f.subject.idle()) {
        while (auto each = f.subject.take(f.now)) {
            f.fail(*each);
            ++tries;
        }
        f.now = f.subject.next_due().value_or(f.now);
    }
    if (rank == event_rank::end) {
        CHECK(f.now.time_since_epoch() >= 59min);
        CHECK(f.now.time_since_epoch() <= 61min);
    } else {
        CHECK(tries == 12);
    }
}

TEST_CASE("[requirement H1] a flush waits for nothing and tries nothing again") {
    queue_fixture f;
    f.trouble("a");
    f.push("b", "p", "1");
    f.fail(*f.subject.take(f.now));
    f.subject.flush();
    const std::vector<queued_event> taken = f.take_all();
    CHECK(taken.size() == 7);
    for (const queued_event& each : taken) {
        CHECK_FALSE(f.subject.failed(each, f.now, first_delay));
    }
    CHECK(f.take_all().size() == 2);
    CHECK(f.subject.clear() == 0);
}
