// SPDX-License-Identifier: Apache-2.0
//
// What a controller asks of its views before it looks at a key.
#include "runtime/controller_fixture.hpp"

#include <algorithm>
#include <chrono>
#include <set>
#include <string>

using namespace signalbox::k8sio;
using namespace std::chrono_literals;
using test::name_of;
using fixture = test::controller_fixture;

namespace {

/// A view of a type that the server need not serve: no one waits for its first list.
class lenient_view final : public view {
public:
    bool synced() const override { return true; }
    std::string_view seen() const override { return {}; }
    void clear() override {}
    void upsert(std::string_view) override {}
    void remove(std::string_view) override {}
};

/// How long a key waited for its pass, at most.
struct waits final : reconcile_observer {
    void began(std::chrono::nanoseconds waited) override { most = std::max(most, waited); }
    void ended(std::chrono::nanoseconds, const reconcile_result&) override {}
    std::chrono::nanoseconds most{0};
};

}  // namespace

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
        test::run(f.loop, f.api.create(resources::config_maps(), "default", test::config_map("a")));
    REQUIRE(made.has_value());
    store<object_meta> empty(read_object_meta);
    f.subject->note_answer("k", f.maps, *made);
    CHECK(f.maps.size() == 1);
    f.subject->note_answer("k", empty, *made);  // of a view that no one watches
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
    CHECK(f.subject->counters().behind == 1);
    f.create("b");
    f.loop.run_for(100ms);
    CHECK(f.count("a") == 2);
}

TEST_CASE("no pass before every required view is complete; what may be missing is not awaited") {
    const bool required = GENERATE(true, false);
    waits waited;
    controller_options counted;
    counted.observer = &waited;
    fixture f(counted);
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
    // Nor does the time before count as one in the queue.
    CHECK(waited.most < 1s);
}

TEST_CASE("a watch is of the namespace and the labels that it is given") {
    fixture f;
    store<object_meta> pods(read_object_meta);
    f.subject->watch(resources::pods(), pods, name_of, watch_options("kube-system", "a=b"));
    f.run();
    f.loop.run_for(1s);
    REQUIRE(f.connection.watches.size() == 1);
    const std::string& target = f.connection.watches[0];
    CHECK(target.find("/namespaces/kube-system/pods?") != target.npos);
    CHECK(target.find("labelSelector=a%3Db") != target.npos);
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

TEST_CASE("[requirement W13] a contradicted view is listed anew, no more often than in ten seconds"
) {
    fixture f;
    f.start();
    const auto lists = [&] { return f.subject->reflector_of(f.maps)->counters().lists; };
    REQUIRE(lists() == 1);
    f.connection.slow = "limit=";
    f.subject->contradicted(f.maps);
    f.subject->enqueue("k");
    f.loop.run_for(4s);
    CHECK(f.count("k") == 0);  // nothing is decided before
    f.connection.slow.clear();
    f.loop.run_for(2s);
    CHECK(f.count("k") == 1);
    CHECK(lists() == 2);
    REQUIRE(f.lines.size() == 1);
    CHECK(f.lines[0].find("contradicts the view of configmaps") != std::string::npos);
    f.subject->contradicted(f.maps);
    f.loop.run_for(3s);
    CHECK(lists() == 2);
    f.loop.run_for(2s);
    f.subject->contradicted(f.maps);
    f.loop.run_for(1s);
    CHECK(lists() == 3);
    CHECK(f.subject->counters().contradicted == 2);
    store<object_meta> unwatched{read_object_meta};
    f.subject->contradicted(unwatched);
    CHECK(f.lines.size() == 2);
}

TEST_CASE("[requirement V6] doubt that ends by an error is noticed, though no view shows anything"
) {
    fixture f;
    f.server.set_fault_hook([](std::string_view, std::string_view target) {
        server::fault fault;
        fault.status = target.find("/pods") != target.npos ? 404 : 0;
        return fault;
    });
    f.start();
    f.connection.slow = "/pods";
    lenient_view pods;
    f.subject->watch(resources::pods(), pods);
    f.loop.settle();
    f.subject->refresh();  // in the middle of its first list
    f.subject->enqueue("k");
    f.loop.run_for(4s);
    CHECK(f.count("k") == 0);
    f.loop.run_for(2s);
    CHECK(f.count("k") == 1);
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
