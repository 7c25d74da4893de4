// SPDX-License-Identifier: Apache-2.0
//
// When a controller looks at which key, and its beginning and end.
#include "k8sio/synchronization.hpp"
#include "runtime/controller_fixture.hpp"

#include <stdexcept>
#include <string>

using namespace signalbox::k8sio;
using namespace std::chrono_literals;
using test::name_of;
using fixture = test::controller_fixture;

namespace {

using strings = std::vector<std::string>;

controller_options two_at_a_time() {
    controller_options options;
    options.max_concurrent_reconciles = 2;
    return options;
}

}  // namespace

TEST_CASE("[requirement Q1] what is there and what changes is reconciled, and nothing else") {
    fixture f;
    f.create("a");
    f.start();
    CHECK(f.count("a") == 1);
    f.create("b");
    f.change("a");
    f.loop.run_for(1h);
    CHECK(f.count("a") == 2);
    CHECK(f.count("b") == 1);
    const auto gone =
        test::run(f.loop, f.api.remove(resources::config_maps(), "default", "a", delete_options()));
    REQUIRE(gone.has_value());
    f.loop.run_for(1s);
    CHECK(f.count("a") == 3);
    CHECK(f.count("") == 0);
    CHECK(f.subject->counters().reconciles == f.passes.size());
}

TEST_CASE("changes that come together are one pass, and the first after a quiet time is at once") {
    fixture f;
    f.create("a");
    f.start();
    f.passes.clear();
    const auto begin = f.loop.time.steady_now().time_since_epoch();
    for (int i = 0; i < 10; ++i) {
        f.change("a");
        f.loop.settle();
    }
    f.loop.run_for(1s);
    REQUIRE(f.passes.size() == 2);
    CHECK(f.passes[0].at == begin);
    CHECK(f.passes[1].at == begin + 25ms);
}

TEST_CASE("[requirement Q1] a key that changes during its pass has another one after it") {
    fixture f;
    f.create("a");
    f.length = 100ms;
    f.start();
    f.passes.clear();
    f.change("a");
    f.loop.run_for(50ms);
    f.change("a");
    f.loop.run_for(10ms);
    CHECK(f.passes.size() == 1);
    f.loop.run_for(1s);
    CHECK(f.passes.size() == 2);
    CHECK(f.most == 1);
}

TEST_CASE("[requirement Q3] a key that fails waits twice as long each time, until it succeeds") {
    fixture f;
    bool failing = true;
    f.decide = [&](const std::string&) {
        reconcile_result result;
        result.failed = failing;
        return result;
    };
    f.create("a");
    f.start();
    f.loop.run_for(9s);
    const std::size_t grown = f.passes.size();
    CHECK(grown == 11);  // 5 ms, doubled: the twelfth comes after 10.2 s
    CHECK(f.subject->counters().failed == grown);
    failing = false;
    f.loop.run_for(1min);
    CHECK(f.passes.size() == grown + 1);
    failing = true;
    f.passes.clear();
    f.change("a");
    f.loop.run_for(200ms);
    CHECK(f.passes.size() >= 5);
}

TEST_CASE("[requirement Q3] an exception is a pass that failed") {
    fixture f;
    f.decide = [&](const std::string&) -> reconcile_result {
        if (f.passes.size() < 4) {
            throw std::runtime_error("no luck");
        }
        return {};
    };
    f.create("a");
    f.start();
    CHECK(f.passes.size() == 4);
    CHECK(f.subject->counters().failed == 3);
    REQUIRE(f.lines.size() == 3);
    CHECK(f.lines[0] == "a pass ended by an exception: key=a no luck");
    CHECK(f.subject->failure().empty());
}

TEST_CASE("[requirement Q2] a pass at a given time comes then, once; one in the past does not spin"
) {
    fixture f;
    steady_time due;
    f.decide = [&](const std::string&) {
        reconcile_result result;
        if (f.passes.size() == 1) {
            due = f.loop.time.steady_now() + 7s;
            result.requeue_at = due;
        }
        return result;
    };
    SECTION("in the future") {
        f.create("a");
        f.start();
        f.loop.run_for(1min);
        REQUIRE(f.passes.size() == 2);
        CHECK(f.passes[1].at == due.time_since_epoch());
    }
    SECTION("in the past") {
        f.decide = [&](const std::string&) {
            reconcile_result result;
            result.requeue_at = f.loop.time.steady_now() - 1s;
            return result;
        };
        f.create("a");
        f.start();
        CHECK(f.passes.size() >= 5);
        CHECK(f.passes.size() <= 9);
    }
    SECTION("though the pass failed") {
        f.decide = [&](const std::string&) {
            reconcile_result result;
            result.failed = true;
            result.requeue_at = f.loop.time.steady_now() + 3s;
            return result;
        };
        f.create("a");
        f.start();
        f.loop.run_for(10min);
        CHECK(f.passes.size() >= 200);
        CHECK(f.passes.size() <= 220);  // and those of its failures, ever more slowly
    }
}

TEST_CASE("a key that writes in every pass is slowed down, whatever changes") {
    fixture f;
    f.decide = [&](const std::string& key) {
        reconcile_result result;
        result.requeue = f.passes.size() < 1000;
        f.subject->enqueue_gathered(key);  // it sees what it wrote
        return result;
    };
    f.create("a");
    f.start();
    f.loop.run_for(1min);
    CHECK(f.passes.size() > 16);
    CHECK(f.passes.size() < 40);
    CHECK(f.lines == strings{"a key does not come to rest: a"});
}

TEST_CASE("[requirement Q5] passes at a time are bounded, and a first list comes behind changes") {
    fixture f(two_at_a_time());
    f.length = 100ms;
    for (const char* name : {"a", "b", "c", "d"}) {
        f.subject->enqueue(name, true);
    }
    f.start();
    CHECK(f.most == 2);
    f.passes.clear();
    for (const char* name : {"a", "b", "c", "d"}) {
        f.subject->enqueue(name, true);
    }
    f.subject->enqueue("e");
    f.loop.run_for(50ms);
    CHECK(f.subject->active_reconciles() == 2);
    CHECK(f.subject->queue_depth() == 3);
    CHECK(f.passes.front().key == "e");
    f.loop.run_for(1s);
    CHECK(f.passes.size() == 5);
    CHECK(f.most == 2);
}

TEST_CASE("no pass while the controller is not ready, which wake() makes it look at") {
    bool ready = false;
    controller_options options;
    options.ready = [&ready] { return ready; };
    fixture f(options);
    f.create("a");
    f.start();
    f.loop.run_for(10s);
    CHECK(f.passes.empty());
    ready = true;
    f.subject->wake();
    f.loop.settle();
    CHECK(f.passes.size() == 1);
}

TEST_CASE("what is forgotten leaves the queue, and what is queued after that counts") {
    fixture f;
    f.start();
    SECTION("waiting") {
        f.subject->enqueue("k");
        f.subject->expect("k", f.maps, f.version_after(100));
        f.subject->forget("k");
        f.loop.run_for(1s);
        CHECK(f.passes.empty());
        f.subject->enqueue("k");
        f.loop.run_for(1s);
        CHECK(f.count("k") == 1);
    }
    SECTION("in its pass") {
        f.length = 100ms;
        const bool again = GENERATE(true, false);
        f.decide = [&](const std::string&) {
            reconcile_result result;
            result.failed = result.requeue = true;
            result.requeue_at = f.loop.time.steady_now() + 1s;
            return result;
        };
        f.subject->enqueue("k");
        f.loop.run_for(50ms);
        f.subject->enqueue("k");
        f.subject->enqueue_gathered("k");
        f.subject->forget("k");
        if (again) {
            f.subject->enqueue_gathered("k");
        }
        f.loop.run_for(60ms);
        f.decide = nullptr;
        f.loop.run_for(10s);
        CHECK(f.count("k") == (again ? 2 : 1));
    }
}

TEST_CASE("[requirement H1] at the end no pass begins, and those that run are waited for") {
    fixture f;
    f.length = 5s;
    strings order;
    const auto add = [&](const std::string& name, stop_order when) {
        auto end = std::make_shared<notification>(f.loop.loop.get_executor());
        f.subject->add_part(
            name,
            [end]() { return end->wait(); },
            [&f, &order, name, end] {
                order.push_back(name + " " + std::to_string(f.running));
                end->notify();
            },
            when
        );
    };
    add("last", stop_order::after_reconciles);
    add("first", stop_order::with_watches);
    f.create("a");
    f.start();
    REQUIRE(f.running == 1);
    f.subject->stop();
    f.subject->enqueue("b");
    f.loop.run_for(1s);
    CHECK(f.subject->stopping());
    CHECK_FALSE(f.ended->done);
    CHECK(order == strings{"first 1"});
    f.loop.run_for(10s);
    CHECK(f.ended->done);
    CHECK(order == strings{"first 1", "last 0"});
    CHECK(f.passes.size() == 1);
    CHECK(f.subject->failure().empty());
}

TEST_CASE("[requirement H1] a part that ends unasked ends the controller, which says which") {
    fixture f;
    const bool by_exception = GENERATE(true, false);
    notification end(f.loop.loop.get_executor());
    bool stopped = false;
    f.subject->add_part(
        "the clockwork",
        [&end, by_exception]() -> boost::asio::awaitable<void> {
            notification& wanted = end;
            co_await wanted.wait();
            if (by_exception) {
                throw std::runtime_error("no more");
            }
        },
        [&stopped] { stopped = true; },
        stop_order::with_watches
    );
    f.start();
    CHECK_FALSE(f.ended->done);
    end.notify();
    f.loop.run_for(1s);
    CHECK(f.ended->done);
    CHECK(stopped);
    CHECK(
        f.subject->failure() == (by_exception ? "the clockwork ended by an exception: no more"
                                              : "the clockwork ended unasked")
    );
    CHECK(f.lines == strings{f.subject->failure()});
}
