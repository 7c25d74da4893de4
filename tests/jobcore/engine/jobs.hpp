// SPDX-License-Identifier: Apache-2.0
//
// The jobs that most stories of the engine are about.
#pragma once

#include "signalbox_test/world.hpp"

#include <string>
#include <string_view>
#include <utility>

namespace signalbox::test {

/// Plain mode: a master and workers.
inline job_builder ddp(int workers = 2, const std::string& restart = "OnFailure") {
    return job_builder("mnist").replicas("master", 1, restart).replicas("worker", workers, restart);
}

/// What pods of that scheduler are placed by.
inline core::object_kind gang_kind_of(std::string_view scheduler) {
    return core::kinds_of_scheduler(scheduler).front();
}

/// The server has refused this for the first time, now.
inline core::refusal refused(
    const world& w,
    core::object_kind kind,
    std::string name,
    int http_code,
    std::string message = {},
    std::int32_t attempt = 1
) {
    core::refusal r;
    r.kind = kind;
    r.name = std::move(name);
    r.attempt = attempt;
    r.http_code = http_code;
    r.message = std::move(message);
    r.first = r.last = w.now();
    return r;
}

/// What the user says of pause, and the process that decides reads it.
inline void set_pause(world& w, bool pause) {
    w.edit().pause(pause);
    w.reload();
}

/// Runs, and somebody listens to reports of progress.
inline void start_heard(world& w) {
    w.reported_since = w.now();
    w.start();
}

/// torchrun over c10d; index 0 hosts the store.
inline job_builder c10d(int nodes = 3, int max_restarts = 3) {
    return job_builder("mnist").replicas("node", nodes).torchrun(max_restarts);
}

inline std::string worker_field(int replicas, const std::string& more = {}) {
    return "{\"replicas\":" + std::to_string(replicas) + more +
           R"(,"template":{"spec":{"containers":[{"name":"worker","image":"ds:1"}]}}})";
}

/// DeepSpeed over ssh; worker 0 launches. `worker` = further members of `spec.worker`.
inline job_builder deepspeed(int workers = 2, const std::string& worker = {}) {
    return job_builder("cifar")
        .kind(core::job_kind::deepspeed)
        .field("config", R"({"run":{"python":["train.py"]}})")
        .field("worker", worker_field(workers, worker));
}

/// ColossalAI: workers first, then the launcher.
inline job_builder colossalai(int workers = 2) {
    return job_builder("palm")
        .kind(core::job_kind::colossalai)
        .field("worker", worker_field(workers, R"(,"command":["train.py"])"));
}

}  // namespace signalbox::test
