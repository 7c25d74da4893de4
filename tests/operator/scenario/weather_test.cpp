// SPDX-License-Identifier: Apache-2.0
//
// An API server that is slow, away, overloaded or forgetful, and others who write.
#include "controller/resource_table.hpp"
#include "scenario/job_texts.hpp"
#include "scenario/world.hpp"

#include <catch2/catch.hpp>

namespace {

using namespace signalbox;
using namespace signalbox::test;

/// Worker 0 decides after `run_for`; worker 1's first pod fails.
world_options one_failure(const char* run_for = "8s") {
    world_options options;
    op::pods::rule decides = pods_of_type("worker", {{"duration", run_for}});
    decides.index = core::index_set::parse("0");
    op::pods::rule fails = pods_of_type("worker", {{"fail-at", "2s"}, {"exit-code", "1"}});
    fails.index = core::index_set::parse("1");
    fails.nth = core::index_set::parse("1");
    options.script.rules = {decides, fails};
    return options;
}

/// A kind with Services alone, and one with all that an ssh launcher needs.
std::string some_kind() {
    return GENERATE(as<std::string>{}, "PyTorchTrainingJob", "DeepSpeedJob");
}

void create_job(world& w, const std::string& kind) {
    const std::string pytorch = job_builder("mnist").replicas("worker", 2).json();
    w.create_job(kind == "DeepSpeedJob" ? deepspeed("mnist", 2) : pytorch);
}

/// Those of the operator from now on.
void count_lists(world& w, int& lists) {
    w.operator_transport().before = [&lists](const k8sio::http_request& request) {
        const bool list = request.target.find("limit=") != std::string::npos;
        lists += request.method == "GET" && list ? 1 : 0;
    };
}

void check_usual_end(world& w) {
    REQUIRE(w.run_until([&] { return w.is_phase("mnist", "Succeeded"); }, seconds{300}));
    CHECK(w.status("mnist").backoff_count == 1);
    CHECK(w.status("mnist").attempt == 2);
    CHECK(w.status("mnist").restarts.disruptions == 0);
    CHECK(w.audit().violations() == std::vector<std::string>{});
}

}  // namespace

TEST_CASE("[requirement W6] broken watches lose nothing, and cost no list") {
    const std::string kind = some_kind();
    CAPTURE(kind);
    world w(one_failure());
    int lists = 0;
    count_lists(w, lists);
    create_job(w, kind);
    for (int i = 0; i < 40; ++i) {
        w.run_for(milliseconds{300});
        w.server().break_watches();
    }
    check_usual_end(w);
    CHECK(lists < 10);  // of those that were closed at once, again and again (W3)
}

TEST_CASE("[requirement W4] a history that is gone costs a list, nothing else") {
    const std::string kind = some_kind();
    CAPTURE(kind);
    world w(one_failure());
    int lists = 0;
    count_lists(w, lists);
    create_job(w, kind);
    for (int i = 0; i < 40; ++i) {
        w.run_for(milliseconds{300});
        w.server().compact();
        w.server().break_watches();
    }
    check_usual_end(w);
    CHECK(lists > 10);
}

TEST_CASE("[behaviour 12.1] a blind operator writes nothing on what it no longer sees") {
    const std::string kind = some_kind();
    CAPTURE(kind);
    world w(one_failure("60s"));
    create_job(w, kind);
    REQUIRE(w.run_until([&] { return w.is_phase("mnist", "Running"); }, seconds{10}));
    w.operator_transport().refuse_streams(true);
    w.server().break_watches();
    const std::size_t writes = w.operator_transport().writes().size();
    w.run_for(seconds{20});
    CHECK(w.operator_transport().writes().size() == writes);
    w.operator_transport().refuse_streams(false);
    check_usual_end(w);
}

TEST_CASE("[requirement R4] [behaviour I24] an overloaded server is asked later") {
    const std::string kind = some_kind();
    CAPTURE(kind);
    world w(one_failure());
    int count = 0;
    w.server().set_fault_hook([&](std::string_view method, std::string_view target) {
        k8sio::server::fault fault;
        const bool ours = method != "GET" &&
                          (target.find("/services") != target.npos ||
                           target.ends_with("/status?fieldManager=signalbox") || method == "POST");
        if (ours && target.find("/events") == target.npos && ++count % 3 == 0) {
            fault.status = 429;
            fault.reason = "TooManyRequests";
        }
        return fault;
    });
    create_job(w, kind);
    check_usual_end(w);
    CHECK(count > 6);
    CHECK(count < 60);
}

TEST_CASE("[requirement X4] a second writer of the job costs conflicts, not correctness") {
    const std::string kind = some_kind();
    CAPTURE(kind);
    world w(one_failure());
    create_job(w, kind);
    auto meddle = [&w, n = 0]() mutable {
        w.patch_soon(
            w.type_of_job("mnist"),
            "mnist",
            R"({"metadata":{"annotations":{"n":")" + std::to_string(++n) + R"("}}})"
        );
    };
    // In the moment of every second status, so that it was decided on what is no more.
    int statuses = 0;
    w.operator_transport().before = [&](const k8sio::http_request& request) {
        if (request.method == "PUT" && ++statuses % 2 == 1) {
            meddle();
        }
    };
    for (int i = 0; i < 100; ++i) {
        meddle();
        w.run_for(milliseconds{70});
    }
    check_usual_end(w);
    CHECK(w.operator_().counters().status_conflicts >= 3);
    CHECK(w.operator_().counters().status_writes < 40);
}

TEST_CASE("[requirement X4] a conflict that no one caused is looked into, not waited for") {
    const std::string kind = some_kind();
    CAPTURE(kind);
    world w(one_failure());
    bool looked = false;  // since the last write
    bool meddling = true;
    int conflicts = 0;
    w.server().set_fault_hook([&](std::string_view method, std::string_view target) {
        k8sio::server::fault fault;
        const std::string_view path = target.substr(0, target.find('?'));
        if (meddling && method == "PUT" && path.ends_with("jobs/mnist/status")) {
            if (!looked) {
                ++conflicts;
                fault.status = 409;
                fault.reason = "Conflict";
            }
            looked = false;
        }
        // Only the operator reads the job meanwhile.
        looked = looked || (method == "GET" && path.ends_with("jobs/mnist"));
        return fault;
    });
    create_job(w, kind);
    w.run_for(seconds{30});
    meddling = false;
    CHECK(conflicts > 3);
    CHECK(w.operator_().counters().status_conflicts == static_cast<std::uint64_t>(conflicts));
    check_usual_end(w);
}

TEST_CASE("an API server that is away for minutes ends nothing") {
    const std::string kind = some_kind();
    CAPTURE(kind);
    world w(one_failure());
    create_job(w, kind);
    w.run_for(seconds{1});
    bool away = true;
    w.server().set_fault_hook([&](std::string_view, std::string_view) {
        k8sio::server::fault fault;
        fault.drop = away;
        return fault;
    });
    w.server().break_watches();
    // No one asks the server meanwhile, so no time is lost on the user's own requests.
    w.run_for(seconds{180});
    away = false;
    w.run_for(seconds{60});
    REQUIRE(w.run_until([&] { return w.is_phase("mnist", "Succeeded"); }, seconds{600}));
    CHECK(w.audit().violations() == std::vector<std::string>{});
}

TEST_CASE("[requirement N2] each namespace tells why its own events were not written") {
    world_options options;
    options.controller.namespaces = {"team-a", "default"};
    world w(options);
    w.server().set_fault_hook([](std::string_view method, std::string_view target) {
        k8sio::server::fault fault;
        if (method == "POST" && target.find("/events") != target.npos) {
            fault.status = 403;
            fault.reason = "Forbidden";
            fault.message = target.substr(0, target.find("/events"));
        }
        return fault;
    });
    w.create_job(job_builder("mnist").replicas("worker", 1));
    REQUIRE(w.run_until([&] { return w.is_phase("mnist", "Running"); }, seconds{60}));
    const std::vector<op::event_loss> losses = w.operator_().event_losses();
    REQUIRE(losses.size() == 2);
    CHECK(losses[0].events == 0);
    CHECK(losses[0].last_error.empty());
    CHECK(losses[1].events == w.operator_().dropped_events());
    CHECK(losses[1].events > 0);
    CHECK(losses[1].last_error.find("/namespaces/default") != std::string::npos);
}

TEST_CASE("[behaviour 11.3] how jobs ended is told after an outage of their events") {
    world w;
    bool broken = true;
    w.server().set_fault_hook([&](std::string_view method, std::string_view target) {
        k8sio::server::fault fault;
        if (broken && method == "POST" && target.find("/events") != target.npos) {
            fault.status = 500;
            fault.reason = "InternalError";
        }
        return fault;
    });
    w.create_job(job_builder("mnist").replicas("worker", 1));
    REQUIRE(w.run_until([&] { return w.is_phase("mnist", "Succeeded"); }, seconds{600}));
    w.run_for(seconds{900});
    CHECK(w.operator_().dropped_events() > 0);
    broken = false;
    w.run_for(seconds{15});
    CHECK(w.event_count("mnist", "Succeeded") == 1);
    CHECK(w.event_count("mnist", "Running") == 0);
}
