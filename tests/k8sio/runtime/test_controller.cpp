// SPDX-License-Identifier: Apache-2.0
//
// A controller on the embedded server in virtual time. The keys are names of ConfigMaps.
#include "k8sio/controller.hpp"
#include "k8sio/object.hpp"
#include "k8sio/server/api_server.hpp"
#include "k8sio/synchronization.hpp"
#include "runtime/virtual_loop.hpp"

#include <boost/asio/use_awaitable.hpp>

#include <catch2/catch.hpp>

#include <algorithm>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

using namespace signalbox::k8sio;
using namespace std::chrono_literals;

namespace {

using strings = std::vector<std::string>;

std::string name_of(const object_meta& object) {
    return object.name;
}

std::string config_map(const std::string& name) {
    return R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":")" + name + R"("}})";
}

/// Talks to one server, then to another.
class redirected final : public transport {
public:
    explicit redirected(server::api_server& first) { to(first); }
    void to(server::api_server& next) { inner_ = next.connect(); }

    boost::asio::awaitable<result<http_response>> exchange(
        const http_request& request, steady_time deadline
    ) override {
        return inner_->exchange(request, deadline);
    }
    boost::asio::awaitable<result<std::unique_ptr<response_stream>>> open_stream(
        const http_request& request, std::chrono::nanoseconds idle
    ) override {
        watches.push_back(request.target);
        return inner_->open_stream(request, idle);
    }

    strings watches;

private:
    std::unique_ptr<transport> inner_;
};

/// A view of a type that the server need not serve: nobody waits for its first list.
class lenient_view final : public view {
public:
    bool synced() const override { return true; }
    std::string_view seen() const override { return {}; }
    void clear() override {}
    void upsert(std::string_view) override {}
    void remove(std::string_view) override {}
};

struct pass {
    std::string key;
    std::chrono::milliseconds at;
};

struct fixture {
    explicit fixture(controller_options options = controller_options()) {
        options.log = [this](severity, const std::string& line) { lines.push_back(line); };
        subject = std::make_unique<controller>(
            loop.loop.get_executor(),
            api,
            [this](std::string key) { return reconcile(std::move(key)); },
            std::move(options)
        );
    }

    boost::asio::awaitable<reconcile_result> reconcile(std::string key) {
        const auto since = loop.time.steady_now().time_since_epoch();
        passes.push_back({key, std::chrono::duration_cast<std::chrono::milliseconds>(since)});
        ++running;
        most = std::max(most, running);
        const auto until = loop.time.steady_now() + length;
        if (length.count() > 0) {
            co_await sleep_until(loop.time, until);
        }
        --running;
        reconcile_result result;
        if (decide) {
            result = decide(key);
        }
        co_return result;
    }

    /// Begins to watch the ConfigMaps of `default`, and lets the first pass over each come.
    void start() {
        watch_options options;
        options.reflect.ns = "default";
        subject->watch(resources::config_maps(), maps, name_of, options);
        run();
        loop.run_for(1s);
    }
    void run() { ended = std::make_unique<test::task<void>>(loop, subject->run()); }
    void create(const std::string& name) {
        const auto made =
            test::run(loop, api.create(resources::config_maps(), "default", config_map(name)));
        REQUIRE(made.has_value());
    }
    void change(const std::string& name) {
        const auto made = test::run(
            loop,
            api.merge_patch(
                resources::config_maps(),
                "default",
                name,
                R"({"data":{"n":")" + std::to_string(++changes) + R"("}})"
            )
        );
        REQUIRE(made.has_value());
    }
    std::size_t count(const std::string& key) const {
        return static_cast<std::size_t>(
            std::count_if(passes.begin(), passes.end(), [&](const pass& p) { return p.key == key; })
        );
    }
    /// A version that the server gives only after `more` further writes.
    std::string version_after(int more) {
        return std::to_string(std::stoi(std::string(maps.seen())) + more);
    }

    test::virtual_loop loop;
    server::api_server server{loop.loop.get_executor(), loop.time};
    redirected connection{server};
    client api{connection, loop.time};
    store<object_meta> maps{read_object_meta};
    std::vector<pass> passes;
    strings lines;
    std::function<reconcile_result(const std::string& key)> decide;
    std::chrono::nanoseconds length{0};  ///< of a pass
    std::size_t running = 0;
    std::size_t most = 0;
    int changes = 0;
    std::unique_ptr<controller> subject;
    std::unique_ptr<test::task<void>> ended;
};

controller_options two_at_a_time() {
    controller_options options;
    options.max_passes = 2;
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
    CHECK(f.subject->counters().passes == f.passes.size());
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

TEST_CASE("[requirement E2] no pass before the view has seen what was written for the key") {
    fixture f;
    const int others = GENERATE(0, 30);
    CAPTURE(others);
    f.create("a");
    for (int i = 0; i < others; ++i) {
        f.create("other-" + std::to_string(i));
    }
    f.start();
    f.passes.clear();
    const std::string later = f.version_after(3);
    f.subject->expect("a", f.maps, later);
    for (int i = 0; i < others; ++i) {
        f.subject->expect("other-" + std::to_string(i), f.maps, later);
        f.subject->enqueue("other-" + std::to_string(i));
    }
    CHECK_FALSE(f.subject->is_fresh("a"));
    CHECK(f.subject->is_fresh("b"));
    f.change("a");
    f.loop.run_for(10s);
    CHECK(f.passes.empty());
    f.create("b");
    f.loop.run_for(100ms);
    CHECK(f.passes.size() == f.count("b"));
    // Each was put off once, though the view has advanced.
    const auto waiting = static_cast<std::size_t>(others) + 1;
    CHECK(f.subject->counters().behind == waiting);
    f.create("c");
    f.loop.run_for(100ms);
    CHECK(f.count("a") == 1);
    CHECK(f.passes.size() == waiting + 2);
}

TEST_CASE("[requirement E2] an answer is in the store at once, and its event is awaited") {
    fixture f;
    f.start();
    const auto made =
        test::run(f.loop, f.api.create(resources::config_maps(), "default", config_map("a")));
    REQUIRE(made.has_value());
    store<object_meta> empty(read_object_meta);
    f.subject->note_answer("k", f.maps, *made);
    CHECK(f.maps.size() == 1);
    f.subject->note_answer("k", empty, *made);  // of a view that nobody watches
    f.loop.run_for(1s);
    CHECK(f.subject->is_fresh("k"));
    f.subject->note_answer("k", f.maps, "no object");
    CHECK(f.subject->is_fresh("k"));
    f.subject->note_answer(
        "k", f.maps, R"({"metadata":{"name":"z","uid":"z","resourceVersion":"9999"}})"
    );
    CHECK(f.maps.get("z") != nullptr);
    CHECK_FALSE(f.subject->is_fresh("k"));
}

TEST_CASE("[requirement E2] what one view has to show is not awaited of another of its type") {
    fixture f;
    store<object_meta> others(read_object_meta);
    f.subject->watch(resources::config_maps(), others, name_of, watch_options("kube-system", ""));
    f.start();
    f.subject->expect("k", f.maps, f.version_after(1));
    f.subject->enqueue("k");
    f.loop.run_for(1s);
    CHECK(f.count("k") == 0);
    f.create("a");
    f.loop.run_for(1s);
    CHECK(f.count("k") == 1);
}

TEST_CASE("a pass that finds the views behind is put off until they have followed") {
    fixture f;
    f.decide = [&](const std::string& key) {
        reconcile_result result;
        if (f.passes.size() == 1) {
            f.subject->expect(key, f.maps, f.version_after(1));
            result.behind = !f.subject->is_fresh(key);
        }
        return result;
    };
    f.create("a");
    f.start();
    f.loop.run_for(10s);
    CHECK(f.count("a") == 1);
    f.create("b");
    f.loop.run_for(100ms);
    CHECK(f.count("a") == 2);
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
    CHECK(f.subject->active_passes() == 2);
    CHECK(f.subject->queue_depth() == 3);
    CHECK(f.passes.front().key == "e");
    f.loop.run_for(1s);
    CHECK(f.passes.size() == 5);
    CHECK(f.most == 2);
}

TEST_CASE("no pass before every required view is complete; what may be missing is not awaited") {
    const bool required = GENERATE(true, false);
    fixture f;
    f.create("a");
    f.server.set_fault_hook([](std::string_view, std::string_view target) {
        server::fault fault;
        fault.status = target.find("/pods") != target.npos ? 403 : 0;
        return fault;
    });
    store<object_meta> pods(read_object_meta);
    watch_options options;
    options.required = required;
    f.subject->watch(resources::pods(), pods, name_of, options);
    f.start();
    f.loop.run_for(1min);
    CHECK(f.passes.empty() == required);
    CHECK(f.subject->views_synced() != required);
    REQUIRE(f.subject->problems().size() == 1);
    CHECK(f.subject->problems()[0].find("pods: ") == 0);
    f.server.set_fault_hook({});
    f.loop.run_for(2min);
    CHECK(f.count("a") == 1);
    CHECK(f.subject->problems().empty());
}

TEST_CASE("[requirement W2] the watches of a controller do not all end at the same time") {
    fixture f;
    store<object_meta> pods(read_object_meta), services(read_object_meta);
    f.subject->watch(resources::pods(), pods, name_of);
    f.subject->watch(resources::services(), services, name_of);
    f.start();
    std::set<std::string> lengths;
    for (const std::string& target : f.connection.watches) {
        const std::size_t at = target.find("timeoutSeconds=");
        REQUIRE(at != target.npos);
        lengths.insert(target.substr(at, target.find('&', at) - at));
    }
    CHECK(lengths.size() >= 2);
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

TEST_CASE("[requirement V6] no pass on a view of which the server says nothing any more") {
    fixture f;
    f.create("a");
    f.start();
    f.passes.clear();
    f.server.set_fault_hook([](std::string_view, std::string_view) {
        server::fault fault;
        fault.drop = true;
        return fault;
    });
    f.server.break_watches();
    f.loop.run_for(60s);
    f.subject->enqueue("a");
    f.loop.settle();
    CHECK(f.passes.size() == 1);  // no older than twice a reflector's patience
    f.loop.run_for(10min);
    f.subject->enqueue("a");
    f.loop.run_for(10s);
    CHECK(f.passes.size() == 1);
    f.server.set_fault_hook({});
    f.loop.run_for(2min);
    CHECK(f.passes.size() == 2);
}

TEST_CASE("[requirement V6] when the server has gone back in time, what was awaited is forgotten") {
    fixture f;
    server::api_server restored(f.loop.loop.get_executor(), f.loop.time);
    for (const char* name : {"a", "b", "c"}) {
        f.create(name);
    }
    f.start();
    f.passes.clear();
    f.subject->expect("k", f.maps, f.version_after(100));
    f.subject->enqueue("k");
    f.loop.run_for(1s);
    CHECK(f.passes.empty());
    f.connection.to(restored);
    f.server.break_watches();
    f.loop.run_for(5min);
    CHECK(f.maps.size() == 0);
    CHECK(f.count("a") == 1);  // gone
    CHECK(f.count("k") == 1);
    REQUIRE(f.lines.size() == 1);
    CHECK(f.lines[0].find("the server's data went back in time") == 0);
}

TEST_CASE("[requirement V6] no pass while views are in doubt, and doubt ends without an event") {
    fixture f;
    lenient_view pods;  // which are not served
    f.subject->watch(resources::pods(), pods);
    bool away = false;
    f.server.set_fault_hook([&away](std::string_view, std::string_view target) {
        server::fault fault;
        fault.drop = away;
        fault.status = target.find("/pods") != target.npos ? 404 : 0;
        return fault;
    });
    f.start();
    away = true;
    const bool listed_anew = GENERATE(true, false);
    if (listed_anew) {
        f.subject->refresh();
    } else {
        f.subject->doubt_views();
    }
    f.subject->enqueue("k");
    f.loop.run_for(3s);
    CHECK(f.passes.empty());
    away = false;
    f.loop.run_for(20s);
    CHECK(f.count("k") == 1);
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

TEST_CASE("a view that is not watched any more is empty, and may be watched again") {
    fixture f;
    f.create("a");
    f.start();
    f.passes.clear();
    REQUIRE(f.maps.size() == 1);
    CHECK(f.subject->reflector_of(f.maps)->synced());
    f.subject->expect("k", f.maps, f.version_after(5));
    f.subject->enqueue("k");
    f.subject->unwatch(f.maps);
    f.loop.run_for(1s);
    CHECK(f.maps.size() == 0);
    CHECK(f.subject->reflector_of(f.maps) == nullptr);
    CHECK(f.count("a") == 1);
    CHECK(f.count("k") == 1);  // nothing is awaited of it
    CHECK(f.subject->failure().empty());
    watch_options options;
    options.reflect.ns = "default";
    f.subject->watch(resources::config_maps(), f.maps, name_of, options);
    f.loop.run_for(1s);
    CHECK(f.maps.size() == 1);
    CHECK(f.count("a") == 2);
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
    add("last", stop_order::behind_passes);
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
