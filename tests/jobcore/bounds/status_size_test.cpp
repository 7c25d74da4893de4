// SPDX-License-Identifier: Apache-2.0
//
// Status stays under 128 KiB at any size (BEHAVIOUR.md 4.16), in every phase of the largest jobs.
#include "bounds/large_job.hpp"

#include <catch2/catch.hpp>

using namespace signalbox::core;
using namespace signalbox::test;

namespace {

constexpr std::size_t limit = 128U * 1024U;
const auto every_kind = {job_kind::pytorch, job_kind::deepspeed, job_kind::colossalai};

/// Passes until the status stays; gives the largest status written on the way.
std::size_t largest(large_job& job, instant now = at(100)) {
    std::size_t most = 0;
    for (int i = 0; i < 5; ++i) {
        most = std::max(most, job.pass(now));
    }
    return most;
}

}  // namespace

TEST_CASE("[behaviour 4.16] status of 10,000 running pods", "[bounds]") {
    for (const job_kind kind : every_kind) {
        large_job job(kind);
        CAPTURE(to_string(kind));
        job.add_pods([](pod_builder p) { return p.running().ready(); });
        CHECK(largest(job) < limit);
        CHECK(job.job.status.phase == job_phase::running);
        CHECK(job.job.status.aggregate->running >= most_replicas);
    }
}

TEST_CASE("[behaviour 4.16] status of 10,000 failed pods", "[bounds]") {
    for (const job_kind kind : every_kind) {
        large_job job(kind, most_replicas, R"("activeDeadlineSeconds":100000)");
        CAPTURE(to_string(kind));
        job.add_pods([](pod_builder p) {
            return p.exited(-2147483647, at(50), std::string(4096, 'x'));
        });
        CHECK(largest(job) < limit);
        CHECK(job.job.status.attempt + (is_final(job.job.status.phase) ? 1 : 0) == 2);
    }
}

TEST_CASE("[behaviour 4.16] status of 10,000 pods that vanished", "[bounds]") {
    for (const job_kind kind : every_kind) {
        large_job job(kind);
        CAPTURE(to_string(kind));
        job.add_pods([](pod_builder p) { return p.running().ready(); });
        job.pass();
        for (const stage& s : [&] {
                 job.forget_pods();
                 return job.decide().stages;
             }()) {
            for (const action& a : s) {
                job.absences.push_back({a.kind, a.name});
            }
        }
        CHECK(largest(job) < limit);
    }
}

TEST_CASE("[behaviour 4.16] status with every list at its bound", "[bounds]") {
    for (const job_kind kind : {job_kind::pytorch, job_kind::deepspeed}) {
        large_job job(kind);
        CAPTURE(to_string(kind));
        restart_ledger& r = job.job.status.restarts;
        r.completed.push_back({job.worker(), every_second(most_replicas)});
        r.seen.push_back({job.worker(), every_second(most_replicas, 1)});
        for (int i = 0; i < 256; ++i) {
            r.replaced.push_back({job.worker(), 9000 + i, 2147483});
            r.renamed.push_back({job.worker(), 9000 + i, 2147483});
        }
        r.renames = 2147483;
        r.last.emplace();
        r.last->time = at(90);
        r.last->not_before = at(1000);
        r.last->scope = restart_scope::replica;
        for (int i = 0; i < 16; ++i) {
            r.last->pods.push_back({std::string(75, 'p'), std::string(36, 'u'), -1, "OOMKilled"});
        }
        job.add_pods([](pod_builder p) { return p.exited(-2147483647, at(50)); });
        const std::size_t size = job.pass();
        CAPTURE(size);
        CHECK(size < limit);
    }
}

TEST_CASE("[behaviour 4.16] status of pods with many containers", "[bounds]") {
    large_job job(job_kind::pytorch);
    job.add_pods([](pod_builder p) {
        p.running().ready();
        for (int i = 0; i < 20; ++i) {
            p.sidecar(
                std::string(60, 's') + std::to_string(100 + i), container_state::terminated, -1
            );
        }
        return p;
    });
    CHECK(largest(job) < limit);
}

TEST_CASE("[behaviour 4.16] status of 10,000 replicas in 32 types", "[bounds]") {
    std::string list;
    for (int t = 0; t < 32; ++t) {
        list += std::string(t == 0 ? "" : ",") + R"({"type":"abcdefghijklmnopqr)" +
                std::to_string(10 + t) +
                R"(","replicas":312,"template":{"spec":{"containers":)"
                R"([{"name":"c","image":"i","command":["x"]}]}}})";
    }
    auto job = read_job(
        R"({"apiVersion":"batch.tensorstack.dev/v1beta1","kind":"PyTorchTrainingJob","metadata":)"
        R"({"name":"j","namespace":"d","uid":"u","generation":1},"spec":{"replicaSpecs":[)" +
        list + "]}}"
    );
    REQUIRE(job);
    REQUIRE(job->compiled->plan);
    job->status.attempt = 1;
    for (const type_plan& type : job->compiled->plan->types) {
        job->status.restarts.seen.push_back({type.name, every_second(312)});
        job->status.restarts.completed.push_back({type.name, every_second(312, 1)});
    }
    const decision d = decide(*job, observed{}, policy{}, at(10));
    const job_status& s = d.status ? *d.status : job->status;
    std::size_t shown = 0;
    for (const task_status& t : s.tasks) {
        shown += t.replicas.size();
        CHECK_FALSE(t.replicas.empty());
    }
    CHECK(shown == 256);
    CHECK(format_status(s, job_kind::pytorch).size() < limit);
}
