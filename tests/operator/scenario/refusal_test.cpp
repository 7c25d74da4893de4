// SPDX-License-Identifier: Apache-2.0
//
// Writes that the server refuses: quota, names, invalid specifications, terminating namespaces.
#include "controller/resource_table.hpp"
#include "k8sio/object.hpp"
#include "k8sio/resource.hpp"
#include "scenario/world.hpp"

#include <catch2/catch.hpp>
#include <spdlog/logger.h>
#include <spdlog/sinks/ostream_sink.h>

#include <algorithm>
#include <memory>
#include <sstream>
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

TEST_CASE("[behaviour 2.5] a terminating namespace holds the pods without a storm, and fails no job"
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

TEST_CASE("[behaviour 2.8] a pod whose labels admission takes away is no pod, and the job says so"
) {
    const std::string gone = GENERATE(
        as<std::string>{}, "app.kubernetes.io/managed-by", "batch.tensorstack.dev/attempt"
    );
    CAPTURE(gone);
    world w;
    bool robbed = true;
    w.operator_transport().admit = [&](k8sio::http_request& request) {
        const std::size_t at = request.body.find(gone);
        if (robbed && creates_pod(request.method, request.target) && at != request.body.npos) {
            request.body.replace(at, gone.size(), "example.com/taken");
        }
    };
    w.create_job(job_builder("robbed").replicas("worker", 4));
    w.run_for(seconds{9});
    CHECK(w.status("robbed").reason == "ObjectRefused");
    CHECK(pod_creates(w.operator_transport()) == 4);  // each once: the next try is after 10 s
    CHECK(w.pods().empty());
    w.run_for(seconds{60});
    CHECK(pod_creates(w.operator_transport()) == 12);  // after 10 and 30 s
    const core::job_status status = w.status("robbed");
    const core::condition* running = core::find_condition(status, "Running");
    REQUIRE(running != nullptr);
    CHECK(running->message.find("our values of the labels " + gone) != std::string::npos);

    robbed = false;
    REQUIRE(w.run_until([&] { return w.is_phase("robbed", "Succeeded"); }, seconds{120}));
    CHECK(w.status("robbed").backoff_count == 0);
    CHECK(w.audit().violations() == std::vector<std::string>{});
}

TEST_CASE("[behaviour 1.9] a label that may not be put back is told of") {
    std::ostringstream told;
    world_options options;
    options.log = std::make_shared<spdlog::logger>(
        "told", std::make_shared<spdlog::sinks::ostream_sink_st>(told)
    );
    options.script.defaults = {{"duration", "300s"}};
    world w(options);
    w.create_job(job_builder("bare").replicas("worker", 2));
    REQUIRE(w.run_until([&] { return w.is_phase("bare", "Running"); }, seconds{10}));
    REQUIRE(w.patch(
                 k8sio::resources::pods(),
                 w.pods().front().name,
                 R"({"metadata":{"labels":{"app.kubernetes.io/managed-by":null}}})"
    )
                .has_value());
    w.server().set_fault_hook([](std::string_view method, std::string_view target) {
        const bool of_pod = method == "PATCH" && target.find("/pods/") != target.npos &&
                            target.find("/status") == target.npos;
        return of_pod ? forbidden("cannot patch resource \"pods\"") : k8sio::server::fault();
    });
    w.run_for(seconds{60});
    CHECK_THAT(told.str(), Catch::Contains("cannot patch resource"));
    CHECK(w.is_phase("bare", "Running"));
}

TEST_CASE(
    "[behaviour 2.8] [behaviour 4.7] rights taken from a job in the middle are told, and lose "
    "nothing"
) {
    const std::string said = GENERATE(
        as<std::string>{},
        "pods is forbidden: User \"signalbox\" cannot create resource \"pods\" in API group \"\"",
        "pods \"x\" is forbidden: cannot set blockOwnerDeletion if an ownerReference refers to a "
        "resource you can't set finalizers on: , <nil>"
    );
    CAPTURE(said);
    world_options options;
    op::pods::rule fails = pods_of_type("worker", {{"fail-at", "2s"}, {"exit-code", "1"}});
    fails.nth = core::index_set::parse("1");
    options.script.rules = {fails};
    world w(options);
    w.create_job(job_builder("mid").replicas("worker", 2));
    REQUIRE(w.run_until([&] { return w.is_phase("mid", "Running"); }, seconds{10}));
    bool taken = true;
    w.server().set_fault_hook([&](std::string_view method, std::string_view target) {
        return taken && creates_pod(method, target) ? forbidden(said) : k8sio::server::fault();
    });
    w.run_for(seconds{60});
    CHECK(w.is_phase("mid", "Pending"));
    CHECK(w.status("mid").reason == "ObjectRefused");
    CHECK(w.status("mid").attempt == 2);
    taken = false;
    REQUIRE(w.run_until([&] { return w.is_phase("mid", "Succeeded"); }, seconds{120}));
    CHECK(w.status("mid").backoff_count == 1);
    CHECK(w.audit().violations() == std::vector<std::string>{});
}

TEST_CASE(
    "[behaviour 2.8] a running job that misses a Service which is refused says so, and runs on"
) {
    world w;
    w.create_job(job_builder("mid").replicas("worker", 2));
    REQUIRE(w.run_until([&] { return w.is_phase("mid", "Running"); }, seconds{10}));
    bool taken = true;
    w.server().set_fault_hook([&](std::string_view method, std::string_view target) {
        const bool service = method == "POST" && target.find("/services") != target.npos;
        return taken && service ? forbidden("cannot create resource \"services\"")
                                : k8sio::server::fault();
    });
    const auto services = w.list(k8sio::resources::services());
    REQUIRE_FALSE(services.empty());
    const auto meta = k8sio::read_object_meta(services.front());
    REQUIRE(meta);
    w.remove(k8sio::resources::services(), meta->name);
    w.run_for(seconds{1});
    CHECK(w.is_phase("mid", "Running"));
    CHECK(w.status("mid").reason == "ObjectRefused");
    CHECK(w.event_count("mid", "ObjectRefused") == 1);
    taken = false;
    REQUIRE(w.run_until([&] { return w.is_phase("mid", "Succeeded"); }, seconds{120}));
}

TEST_CASE("[behaviour 1.7] a pod in another namespace that names the job's UID is no one's") {
    world_options options;
    options.server.gc_delay =
        seconds{10};  // or the forged pod would be gone before anybody sees it
    world w(options);
    const std::string uid = w.create_job(job_builder("mine").replicas("worker", 2));
    REQUIRE(w.run_until([&] { return w.is_phase("mine", "Running"); }, seconds{10}));
    w.create(
        k8sio::resources::namespaces(),
        R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"other"}})"
    );
    // The deciding pod of the job, word for word, but for the namespace; and of a replica that is
    // not wanted, so that the job would delete it.
    const auto pods = w.list(k8sio::resources::pods());
    const auto decides = std::ranges::find_if(pods, [](const std::string& pod) {
        return pod.find(R"("job-role":"master")") != pod.npos;
    });
    REQUIRE(decides != pods.end());
    std::string forged = *decides;
    for (std::size_t at = 0; (at = forged.find(R"("namespace":"default")", at)) != forged.npos;) {
        forged.replace(at, 21, R"("namespace":"other")");
    }
    const std::string_view index = R"(replica-index":"0")";
    REQUIRE(forged.find(index) != forged.npos);
    forged.replace(forged.find(index) + index.size() - 2, 1, "7");
    const std::string_view version = R"("resourceVersion":")";
    const std::size_t at = forged.find(version);
    REQUIRE(at != forged.npos);
    forged.erase(at, forged.find('"', at + version.size()) + 2 - at);
    INFO(forged);
    const auto made = w.finish(w.user().create(k8sio::resources::pods(), "other", forged));
    REQUIRE(made.has_value());
    const std::size_t writes = w.operator_transport().writes().size();
    w.run_for(seconds{1});
    CHECK(w.operator_transport().writes().size() == writes);
    CHECK(w.is_phase("mine", "Running"));
    CHECK(w.status("mine").attempt == 1);
}
