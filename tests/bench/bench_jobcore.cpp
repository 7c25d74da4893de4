// SPDX-License-Identifier: Apache-2.0
//
// What decisions cost: time, allocations and memory, by the number of pods. Prints a table of what
// was measured beside its target; asserts nothing.
#include "jobcore/decide.hpp"
#include "jobcore/schema.hpp"
#include "signalbox_test/jobcore_builders.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <functional>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include <malloc.h>

using namespace signalbox::core;
namespace test = signalbox::test;

namespace {

struct heap_use {
    long allocations = 0;
    long bytes = 0;  ///< live, as malloc rounds them
};
heap_use heap;

void* counted(std::size_t size) {
    void* p = std::malloc(size == 0 ? 1 : size);
    if (p == nullptr) {
        throw std::bad_alloc();
    }
    ++heap.allocations;
    heap.bytes += static_cast<long>(malloc_usable_size(p) + sizeof(void*));
    return p;
}

void uncounted(void* p) {
    if (p != nullptr) {
        heap.bytes -= static_cast<long>(malloc_usable_size(p) + sizeof(void*));
        std::free(p);
    }
}

}  // namespace

void* operator new(std::size_t size) {
    return counted(size);
}
void* operator new[](std::size_t size) {
    return counted(size);
}
void operator delete(void* p) noexcept {
    uncounted(p);
}
void operator delete[](void* p) noexcept {
    uncounted(p);
}
void operator delete(void* p, std::size_t) noexcept {
    uncounted(p);
}
void operator delete[](void* p, std::size_t) noexcept {
    uncounted(p);
}

namespace {

std::string job_json(job_kind kind, int pods, std::string_view policy = "{}") {
    const std::string head = fmt::format(
        R"({{"apiVersion":"{}","kind":"{}","metadata":{{"name":"gpt-125m","namespace":"default",)"
        R"("uid":"e2a69076-1c19-46ce-9c70-2cdf20176e01","resourceVersion":"1","generation":1}},)"
        R"("spec":{{"runPolicy":{},"elastic":{{"expectedReplicas":{}}},)",
        api_version,
        to_string(kind),
        policy,
        pods
    );
    const auto pod_template = [](std::string_view container) {
        return fmt::format(
            R"({{"spec":{{"containers":[{{"name":"{}","image":"example.com/train:1",)"
            R"("command":["python","train.py","--epochs","10"],"env":[{{"name":"NCCL_DEBUG","value":"INFO"}}],)"
            R"("resources":{{"limits":{{"nvidia.com/gpu":8}}}},)"
            R"("volumeMounts":[{{"name":"data","mountPath":"/data"}}]}}],)"
            R"("volumes":[{{"name":"data","persistentVolumeClaim":{{"claimName":"data"}}}}]}}}})",
            container
        );
    };
    if (kind == job_kind::deepspeed) {
        return head + fmt::format(
                          R"("config":{{"run":{{"python":["train.py"]}}}},)"
                          R"("worker":{{"replicas":{},"template":{}}}}}}})",
                          pods,
                          pod_template("worker")
                      );
    }
    return head + fmt::format(
                      R"("replicaSpecs":[{{"type":"master","replicas":1,"template":{0}}},)"
                      R"({{"type":"worker","replicas":{1},"template":{0}}}]}}}})",
                      pod_template("pytorch"),
                      pods - 1
                  );
}

/// A pod as the API server shows it while it runs.
pod_record running_pod(const job_object& job, const pod_identity& id) {
    std::string json = render_pod(*job.compiled->plan, id, {});
    const std::string head = "\"metadata\":{";
    json.insert(
        json.find(head) + head.size(),
        fmt::format(
            R"("uid":"{:08x}-46ce-4c70-9c70-2cdf20176e01","resourceVersion":"1234567",)"
            R"("creationTimestamp":"2026-01-01T00:00:00Z",)",
            0x10000 * id.type + static_cast<unsigned>(id.index)
        )
    );
    const std::string& container = job.compiled->plan->types[id.type].training_container;
    json.insert(
        json.size() - 1,
        fmt::format(
            R"(,"status":{{"phase":"Running","conditions":[{{"type":"Ready","status":"True"}}],)"
            R"("containerStatuses":[{{"name":"{}","state":{{"running":)"
            R"({{"startedAt":"2026-01-01T00:00:05Z"}}}}}}]}})",
            container
        )
    );
    return decode_pod(json).value();
}

/// A job of so many pods that all run, with the status that decisions give it.
class running_job {
public:
    running_job(job_kind kind, int pods) {
        job = *read_job(job_json(kind, pods));
        const job_plan& plan = *job.compiled->plan;
        decide_once();
        job.status.attempt = 1;
        const long before = heap.bytes;
        for (std::size_t r = 0; r < plan.types.size(); ++r) {
            for (std::int32_t i = 0; i < plan.types[r].wanted; ++i) {
                records_.push_back(running_pod(job, {r, i, 1, 0, 0}));
                share_texts(records_.back(), texts_);
            }
        }
        record_bytes = static_cast<double>(heap.bytes - before) / pods;
        for (const planned_object& o : plan.objects) {
            children_.push_back(test::child(plan, o));
        }
        for (const pod_record& p : records_) {
            pods_.push_back(&p);
        }
        for (const child_record& c : children_) {
            child_pointers_.push_back(&c);
        }
        for (int i = 0; i < 10 && decide_once(); ++i) {
        }
    }

    decision decide() const { return core_decide({pods_, child_pointers_, {}, {}, served_}); }

    job_object job;
    double record_bytes = 0;

private:
    const capabilities served_ = test::all_served();
    decision core_decide(const observed& seen) const {
        return signalbox::core::decide(job, seen, policy{}, test::at(100));
    }
    bool decide_once() {
        const decision d = decide();
        if (d.status) {
            job.status = *d.status;
        }
        return d.status.has_value() || !d.stages.empty();
    }

    text_pool texts_;
    std::deque<pod_record> records_;
    std::deque<child_record> children_;
    std::vector<const pod_record*> pods_;
    std::vector<const child_record*> child_pointers_;
};

struct cost {
    double microseconds = 0;
    long allocations = 0;
};

/// The median of several runs, each long enough for the clock.
cost measure(const std::function<void()>& work) {
    using watch = std::chrono::steady_clock;
    work();
    const long before = heap.allocations;
    work();
    cost out;
    out.allocations = heap.allocations - before;
    std::vector<double> runs;
    for (int run = 0; run < 9; ++run) {
        const auto start = watch::now();
        int n = 0;
        while (watch::now() - start < std::chrono::milliseconds(30)) {
            work();
            ++n;
        }
        const std::chrono::duration<double, std::micro> spent = watch::now() - start;
        runs.push_back(spent.count() / n);
    }
    std::ranges::sort(runs);
    out.microseconds = runs[runs.size() / 2];
    return out;
}

void row(std::string_view what, double measured, double target, std::string_view unit) {
    const char* verdict = target == 0 ? "" : measured <= target ? "ok" : "over";
    const std::string wanted = target == 0 ? "" : fmt::format("{:.0f}", target);
    fmt::print("{:<58} {:>10.1f} {:>8} {:<6} {}\n", what, measured, wanted, unit, verdict);
}

void check_unchanged(const running_job& job) {
    const decision d = job.decide();
    if (d.status || !d.stages.empty() || job.job.status.phase != job_phase::running) {
        fmt::print("not measured: the job is not at rest\n");
        std::exit(1);
    }
}

double decide_rows(job_kind kind, int pods, double time_target, double allocation_target) {
    const running_job job(kind, pods);
    check_unchanged(job);
    const cost c = measure([&] { (void)job.decide(); });
    const std::string what = fmt::format("decide, {} of {} pods, unchanged", to_string(kind), pods);
    row(what, c.microseconds, time_target, "us");
    row(what + ", allocations", static_cast<double>(c.allocations), allocation_target, "");
    return c.microseconds / pods;
}

void read_rows(job_kind kind) {
    const std::string text = job_json(kind, 1000);
    const cost read = measure([&] { (void)read_job(text); });
    row(fmt::format("read and plan a {} of 1000 pods", to_string(kind)),
        read.microseconds,
        5000,
        "us");
    const job_object job = *read_job(text);
    const job_plan& plan = *job.compiled->plan;
    const cost render = measure([&] {
        for (std::size_t r = 0; r < plan.types.size(); ++r) {
            for (std::int32_t i = 0; i < plan.types[r].wanted; ++i) {
                (void)render_pod(plan, {r, i, 1, 0, 0}, {});
            }
        }
    });
    row("render its 1000 pods", render.microseconds, 0, "us");
}

}  // namespace

int main() {
    fmt::print("{:<58} {:>10} {:>8}\n", "", "measured", "target");
    decide_rows(job_kind::pytorch, 16, 20, 60);
    const double hundred = decide_rows(job_kind::pytorch, 100, 0, 0);
    const double thousand = decide_rows(job_kind::pytorch, 1000, 300, 0);
    const double ten_thousand = decide_rows(job_kind::pytorch, 10000, 0, 0);
    row("per pod, 1000 against 100", thousand / hundred, 2, "times");
    row("per pod, 10000 against 1000", ten_thousand / thousand, 2, "times");
    decide_rows(job_kind::deepspeed, 1000, 0, 0);
    read_rows(job_kind::pytorch);
    read_rows(job_kind::deepspeed);
    const running_job memory(job_kind::pytorch, 1000);
    row("a running pod's record with texts of its own", memory.record_bytes, 500, "bytes");
    return 0;
}
