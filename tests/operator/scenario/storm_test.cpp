// SPDX-License-Identifier: Apache-2.0
//
// A way to the API server that lies for a while, by many seeds: a minute later every job is as
// wanted.
#include "controller/resource_table.hpp"
#include "k8sio/object.hpp"
#include "scenario/job_texts.hpp"
#include "scenario/lying_transport.hpp"
#include "scenario/world.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace {

using namespace signalbox;
using namespace signalbox::test;

constexpr seconds quiet{60};

/// Jobs whose name begins with `short` end by themselves, all others run forever. Of a
/// ColossalAIJob it is the launcher that ends.
world_options through(storm& how) {
    world_options options;
    op::pods::rule ends = pods_of_type("worker", {{"duration", "8s"}});
    ends.job = "short-pytorch";
    op::pods::rule all_end = pods_of_type("worker", {{"duration", "8s"}});
    all_end.job = "short-deepspeed";
    op::pods::rule launcher_ends = pods_of_type("launcher", {{"duration", "8s"}});
    launcher_ends.job = "short*";
    op::pods::rule fails = pods_of_type("worker", {{"fail-at", "5s"}, {"exit-code", "1"}});
    fails.job = "failing*";
    fails.index = core::index_set::parse("0");
    fails.nth = core::index_set::parse("1");
    options.script.defaults = {{"duration", "never"}};
    options.script.rules = {ends, all_end, launcher_ends, fails};
    options.path = [&how](std::unique_ptr<k8sio::transport> server, k8sio::clock& time) {
        std::unique_ptr<k8sio::transport> made =
            std::make_unique<lying_transport>(std::move(server), time, how);
        return made;
    };
    return options;
}

std::string text_of(const std::string& kind, const std::string& name, int size) {
    return kind == "deepspeed"    ? deepspeed(name, size)
           : kind == "colossalai" ? colossalai(name, size)
                                  : job_builder(name).replicas("worker", size).json();
}

bool is_alive(const core::pod_record& pod) {
    return pod.phase == core::pod_phase::running && !pod.deletion;
}

/// What is not as wanted; empty if all is.
std::string wrong(world& w, const std::vector<std::string>& jobs) {
    std::string out;
    std::map<std::string, int> alive;
    for (const core::pod_record& pod : w.pods()) {
        alive[pod.owner_uid] += is_alive(pod) ? 1 : 0;
    }
    for (const std::string& name : jobs) {
        const auto live = w.get(w.type_of_job(name), name);
        const std::string uid = k8sio::read_object_meta(*live)->uid;
        const core::job_status status = w.status(name);
        const bool ends = name.starts_with("short");
        const bool paused = name.starts_with("paused");
        const std::string phase(core::to_string(status.phase));
        const int pods = alive[uid];
        const std::string ready = std::to_string(pods) + "/" + std::to_string(pods);
        const bool good = ends     ? phase == "Succeeded"
                          : paused ? phase == "Paused" && pods == 0
                                   : phase == "Running" && status.ready == ready && pods > 0;
        if (!good) {
            out += name + ": " + phase + " (" + status.reason + ") " + status.ready + ", " +
                   std::to_string(pods) + " pods\n";
        }
    }
    return out;
}

/// What happens while the way lies: pods that are preempted, a job that is paused, one deleted.
void live_through(world& w, storm& how) {
    for (int round = 0; round < 6 || (round < 100 && !how.over()); ++round) {
        w.run_for(seconds{5});
        std::vector<core::pod_record> pods = w.pods();
        std::erase_if(pods, [](const core::pod_record& pod) {
            return !is_alive(pod) || pod.name.find("preempt") == std::string::npos;
        });
        if (!pods.empty()) {
            w.remove(k8sio::resources::pods(), pods[how.below(pods.size())].name);
        }
        if (round == 2) {
            w.patch_job("paused", R"({"spec":{"runMode":{"pause":{"enabled":true}}}})");
        }
        if (round == 3) {
            w.remove(w.type_of_job("deleted"), "deleted");
        }
    }
}

void run_storm(std::uint64_t seed) {
    storm how(seed, 150, 4);
    world w(through(how));
    std::vector<std::string> jobs;
    int size = 0;
    for (const std::string what : {"steady", "preempt", "short", "failing"}) {
        for (const std::string kind : {"pytorch", "deepspeed", "colossalai"}) {
            // A ColossalAIJob that loses a worker has failed.
            if (kind != "colossalai" || what == "steady" || what == "short") {
                jobs.push_back(what + "-" + kind);
                w.create_job(text_of(kind, jobs.back(), 1 + size++ % 4));
                w.run_for(milliseconds{how.below(1500)});
            }
        }
    }
    jobs.emplace_back("paused");
    w.create_job(job_builder("paused").replicas("worker", 2));
    const std::string gone = w.create_job(job_builder("deleted").replicas("worker", 2));
    live_through(w, how);
    how.stop();
    w.run_for(quiet);
    CHECK(wrong(w, jobs) == "");
    const auto left = w.pods();
    CHECK(std::ranges::none_of(left, [&](const auto& pod) { return pod.owner_uid == gone; }));
    CHECK(w.operator_().job_count() == jobs.size());
    CHECK(w.audit().violations() == std::vector<std::string>{});
}

/// An honest way, but for what `loses` says.
struct lossy {
    std::uint64_t contradicted() { return w.operator_().counters().contradicted; }

    storm how{1, 0, 1};
    world w{through(how)};
};

/// True for the pod `mnist-H-worker-1` (BEHAVIOUR.md 1.2).
bool is_second_worker(std::string_view object) {
    constexpr std::string_view before = "\"name\":\"mnist-";
    const std::size_t at = object.find(before);
    return at != object.npos && object.substr(at + before.size() + 5).starts_with("-worker-1\"");
}

}  // namespace

TEST_CASE("[requirement W13] [requirement X1] a pod that the view never got is found by its name") {
    lossy l;
    l.how.loses = [](std::string_view, std::string_view line) { return is_second_worker(line); };
    bool deaf = true;
    l.how.silences = [&deaf](const k8sio::http_request& request) {
        return deaf && request.method == "POST" && is_second_worker(request.body);
    };
    l.w.create_job(job_builder("mnist").replicas("worker", 2));
    l.w.run_for(seconds{5});
    l.w.create_job(job_builder("later").replicas("worker", 1));  // moves the view on
    l.w.run_for(seconds{5});
    CHECK(l.w.operator_().pod_count() == 2);
    deaf = false;
    l.w.run_for(seconds{60});
    CHECK(l.contradicted() == 1);
    CHECK(l.w.operator_().pod_count() == 3);
    CHECK(l.w.status("mnist").ready == "2/2");
}

TEST_CASE(
    "[requirement W13] [requirement X4] one conflict shows that other events of jobs were lost"
) {
    lossy l;
    for (const char* name : {"preempt-a", "idle-b"}) {
        l.w.create_job(job_builder(name).replicas("worker", 1));
    }
    REQUIRE(l.w.run_until(
        [&] { return l.w.is_phase("preempt-a", "Running") && l.w.is_phase("idle-b", "Running"); },
        seconds{20}
    ));
    l.how.loses = [](std::string_view target, std::string_view line) {
        return target.find("jobs") != target.npos && line.find("\"MODIFIED\"") != line.npos;
    };
    for (const char* name : {"preempt-a", "idle-b"}) {
        l.w.patch_job(name, R"({"spec":{"runMode":{"pause":{"enabled":true}}}})");
    }
    l.w.create_job(job_builder("later").replicas("worker", 1));  // moves the view on
    l.w.run_for(seconds{20});
    CHECK(l.w.phase("idle-b") == "Running");  // nothing tells
    const auto pods = l.w.pods();
    const auto of_a = std::ranges::find_if(pods, [](const auto& pod) {
        return pod.name.starts_with("preempt-a-");
    });
    REQUIRE(of_a != pods.end());
    l.w.remove(k8sio::resources::pods(), of_a->name);
    l.w.run_for(seconds{60});
    CHECK(l.contradicted() >= 1);
    CHECK(l.w.phase("preempt-a") == "Paused");
    CHECK(l.w.phase("idle-b") == "Paused");
}

TEST_CASE("[requirement W13] a job whose deletion was lost is gone when it is not found") {
    lossy l;
    l.w.create_job(job_builder("mnist").replicas("worker", 1));
    REQUIRE(l.w.run_until([&] { return l.w.is_phase("mnist", "Running"); }, seconds{20}));
    l.how.loses = [](std::string_view target, std::string_view) {
        return target.find("jobs") != target.npos;
    };
    l.w.remove(l.w.type_of_job("mnist"), "mnist");
    l.w.run_for(seconds{60});
    CHECK(l.w.operator_().job_count() == 0);
    const std::size_t writes = l.w.operator_transport().writes().size();
    l.w.run_for(seconds{600});
    CHECK(l.w.operator_transport().writes().size() == writes);
}

TEST_CASE("[requirement W7] [requirement W13] a minute after any storm every job is as wanted") {
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
        CAPTURE(seed);
        run_storm(seed);
    }
}
