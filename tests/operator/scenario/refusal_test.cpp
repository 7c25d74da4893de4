// SPDX-License-Identifier: Apache-2.0
//
// Writes that the server refuses: quota, names, invalid specifications, terminating namespaces.
#include "controller/resource_table.hpp"
#include "k8sio/resource.hpp"
#include "scenario/world.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <utility>

namespace {

using namespace signalbox;
using namespace signalbox::test;

k8sio::server::fault forbidden(std::string message) {
    k8sio::server::fault fault;
    fault.status = 403;
    fault.reason = "Forbidden";
    fault.message = std::move(message);
    return fault;
}

bool creates_pod(std::string_view method, std::string_view target) {
    return method == "POST" && target.substr(0, target.find('?')).ends_with("/pods");
}

std::size_t pod_creates(const mortal_transport& transport) {
    const auto& writes = transport.writes();
    return static_cast<std::size_t>(std::count_if(
        writes.begin(),
        writes.end(),
        [](const sent_write& write) { return creates_pod(write.method, write.target); }
    ));
}

}  // namespace

TEST_CASE(
    "[behaviour 2.8] [requirement X3] quota holds the pods, is shown once, and is tried again with "
    "growing pauses"
) {
    world w;
    bool full = true;
    w.server().set_fault_hook([&](std::string_view method, std::string_view target) {
        return full && creates_pod(method, target)
                   ? forbidden("pods \"x\" is forbidden: exceeded quota: team, requested: pods=1")
                   : k8sio::server::fault();
    });
    w.create_job(job_builder("tight").replicas("worker", 8));
    w.run_for(seconds{4});
    // Slow start: the first refusal stops the rest.
    CHECK(pod_creates(w.operator_transport()) == 1);
    CHECK(w.status("tight").reason == "QuotaExceeded");
    w.run_for(seconds{56});
    // After 5, 15 (5 + 10) and 35 s (15 + 20).
    CHECK(pod_creates(w.operator_transport()) == 4);
    CHECK(w.event_count("tight", "QuotaExceeded") == 1);
    CHECK(w.status("tight").backoff_count == 0);

    full = false;
    REQUIRE(w.run_until([&] { return w.is_phase("tight", "Succeeded"); }, seconds{60}));
    CHECK(w.audit().violations() == std::vector<std::string>{});
}

TEST_CASE(
    "[behaviour 2.8] [requirement X3] a pod that admission refuses for good fails a job that never "
    "had one"
) {
    world w;
    w.server().set_fault_hook([&](std::string_view method, std::string_view target) {
        return creates_pod(method, target) ? forbidden("denied by policy: no root")
                                           : k8sio::server::fault();
    });
    w.create_job(job_builder("root").replicas("worker", 4));
    REQUIRE(w.run_until([&] { return w.is_phase("root", "Failed"); }, seconds{20}));
    CHECK(w.status("root").reason == "PodRejected");
    const auto events = w.events("root");
    CHECK(std::any_of(events.begin(), events.end(), [](const seen_event& event) {
        return event.message.find("denied by policy: no root") != std::string::npos;
    }));
}

TEST_CASE("[behaviour 1.8] a Service of another owner is left alone, and the job waits for its name"
) {
    world w;
    const std::string uid = w.create_job(job_builder("named").replicas("worker", 2).pause());
    const std::string name = "named-" + core::name_hash("named", uid);
    w.create(
        k8sio::resources::services(),
        R"({"apiVersion":"v1","kind":"Service","metadata":{"name":")" + name +
            R"("},"spec":{"ports":[{"port":80}],"selector":{"app":"theirs"}}})"
    );
    w.patch_job("named", R"({"spec":{"runMode":{"pause":{"enabled":false}}}})");
    w.run_for(seconds{60});
    CHECK(w.status("named").reason == "NameConflict");
    CHECK(w.event_count("named", "NameConflict") == 1);
    CHECK(w.audit().pods_created().empty());
    const auto theirs = w.get(k8sio::resources::services(), name);
    REQUIRE(theirs.has_value());
    CHECK(theirs->find(R"("app":"theirs")") != std::string::npos);

    w.remove(k8sio::resources::services(), name);
    REQUIRE(w.run_until([&] { return w.is_phase("named", "Succeeded"); }, seconds{120}));
}

TEST_CASE("[behaviour 4.2] [api 6.4] an invalid job fails with one event, and others go on") {
    world w;
    replica without_image;
    without_image.pod_template = R"({"spec":{"containers":[{"name":"pytorch"}]}})";
    w.create_job(job_builder("broken").replicas(without_image));
    w.create_job(job_builder("fine").replicas("worker", 1));
    REQUIRE(w.run_until([&] { return w.is_phase("broken", "Failed"); }, seconds{5}));
    CHECK(w.status("broken").reason == "InvalidSpec");
    REQUIRE(w.run_until([&] { return w.is_phase("fine", "Succeeded"); }, seconds{20}));
    const std::size_t writes = w.operator_transport().writes().size();
    w.run_for(seconds{600});
    CHECK(w.operator_transport().writes().size() == writes);
    CHECK(w.event_count("broken", "InvalidSpec") == 1);
}

TEST_CASE("[behaviour 2.5] a terminating namespace holds the pods without a storm, and fails nobody"
) {
    world_options options;
    options.server.gc_delay = std::chrono::hours{10};  // it stays as it is
    world w(options);
    w.create_job(job_builder("ending").replicas("worker", 8).pause());
    w.run_for(seconds{1});
    bool ended = false;
    w.operator_transport().before = [&](const k8sio::http_request& request) {
        if (!std::exchange(ended, ended || creates_pod(request.method, request.target)) && ended) {
            w.remove_soon(k8sio::resources::namespaces(), "default");
        }
    };
    w.patch_job("ending", R"({"spec":{"runMode":{"pause":{"enabled":false}}}})");
    w.run_for(seconds{9});
    REQUIRE(ended);
    CHECK(w.audit().pods_created().empty());
    CHECK(w.is_phase("ending", "Resuming"));
    CHECK(w.status("ending").reason == "ObjectRefused");
    CHECK(pod_creates(w.operator_transport()) == 1);
    w.run_for(seconds{60});
    CHECK(pod_creates(w.operator_transport()) == 3);  // after 10 s and 20 s more
    w.run_for(seconds{600});
    CHECK(pod_creates(w.operator_transport()) <= 7);
    CHECK(w.operator_().counters().status_writes < 15);
    CHECK(w.is_phase("ending", "Resuming"));
    CHECK(w.status("ending").backoff_count == 0);
    std::size_t told = 0;
    for (const sent_write& write : w.operator_transport().writes()) {
        const bool event = write.target.find("/events") != std::string::npos;
        told += event && write.body.find(R"("reason":"ObjectRefused")") != std::string::npos;
    }
    CHECK(told == 0);  // there is no room for one
}

TEST_CASE("[behaviour 2.5] a namespace that is gone holds every creation without a storm") {
    world w;
    w.server().set_fault_hook([&](std::string_view method, std::string_view target) {
        k8sio::server::fault fault;
        if (method == "POST" && target.find("/namespaces/default/") != std::string_view::npos &&
            target.find("trainingjobs") == std::string_view::npos) {
            fault.status = 404;
            fault.reason = "NotFound";
            fault.message = "namespaces \"default\" not found";
        }
        return fault;
    });
    w.create_job(job_builder("ending").replicas("worker", 8));
    w.run_for(seconds{600});
    CHECK(w.operator_transport().writes().size() < 20);
    CHECK(w.operator_transport().writes().size() > 4);
    CHECK(w.audit().pods_created().empty());
    CHECK(pod_creates(w.operator_transport()) == 0);  // the Services are held, and pods behind them
    CHECK(w.status("ending").reason == "ObjectRefused");
}
