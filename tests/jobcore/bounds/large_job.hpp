// SPDX-License-Identifier: Apache-2.0
//
// Jobs at the bounds of BEHAVIOUR.md api 6.2: 10,000 replicas, the longest names. Pods are records,
// not objects: what is tested here is what decisions make of many.
#pragma once

#include "jobcore/decide.hpp"
#include "signalbox_test/jobcore_builders.hpp"

#include <catch2/catch.hpp>

#include <deque>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace signalbox::test {

inline constexpr int most_replicas = 10000;

/// A job with one type of so many replicas. Pod names of a PyTorchTrainingJob are as long as names
/// may be (BEHAVIOUR.md api 6.3), those of containers always.
inline std::string large_job_json(
    core::job_kind kind, int replicas, const std::string& policy = {}
) {
    const std::string type = "worker";
    const std::string digits = std::to_string(replicas - 1);
    // The names of 10,000 hosts fit into a ConfigMap only if they are short.
    const std::size_t longest = 63 - 7 - type.size() - 1 - digits.size();
    const std::string name(kind == core::job_kind::pytorch ? longest : 1, 'n');
    const std::string container(63, 'c');
    const std::string pod_template = R"({"spec":{"containers":[{"name":")" + container +
                                     R"(","image":"i:1","command":["x"]}]}})";
    const std::string count = std::to_string(replicas);
    std::string spec = R"("runPolicy":{)" + policy + "},";
    if (kind == core::job_kind::pytorch) {
        spec += R"("replicaSpecs":[{"type":")" + type + R"(","replicas":)" + count +
                R"(,"template":)" + pod_template + "}]";
    } else if (kind == core::job_kind::deepspeed) {
        spec += R"("config":{"run":{"python":["x.py"]}},"worker":{"replicas":)" + count +
                R"(,"template":)" + pod_template + "}";
    } else {
        spec += R"("worker":{"replicas":)" + count + R"(,"command":["x.py"],"template":)" +
                pod_template + "}";
    }
    return R"({"apiVersion":"batch.tensorstack.dev/v1beta1","kind":")" +
           std::string(core::to_string(kind)) + R"(","metadata":{"name":")" + name +
           R"(","namespace":"default","uid":"cffea855-5ce2-496a-8956-f6e76fe2f565",)"
           R"("resourceVersion":"1","generation":1},"spec":{)" +
           spec + "}}";
}

/// A large job with pods that tests put into the state they are about.
class large_job {
public:
    explicit large_job(
        core::job_kind kind, int replicas = most_replicas, const std::string& policy = {}
    ) {
        auto read = core::read_job(large_job_json(kind, replicas, policy));
        REQUIRE(read);
        for (const auto& f : read->compiled->findings) {
            UNSCOPED_INFO(f.pointer << ": " << f.message);
        }
        REQUIRE(read->compiled->plan);
        job = std::move(*read);
        job.status.attempt = 1;
        for (const core::planned_object& o : plan().objects) {
            children_.push_back(child(plan(), o));
        }
    }

    const core::job_plan& plan() const { return *job.compiled->plan; }
    std::size_t worker_type() const { return plan().types.size() - 1; }
    const std::string& worker() const { return plan().types[worker_type()].name; }

    /// All pods of the plan, each as `make` says.
    void add_pods(const std::function<core::pod_record(pod_builder)>& make) {
        for (std::size_t r = 0; r < plan().types.size(); ++r) {
            for (std::int32_t i = 0; i < plan().types[r].wanted; ++i) {
                core::pod_record record = make(pod(plan(), {r, i, job.status.attempt, 0, 0}));
                record.uid = "cffea855-5ce2-496a-8956-" + std::to_string(100000000000 + i);
                pods_.push_back(std::move(record));
            }
        }
    }
    void forget_pods() { pods_.clear(); }

    core::decision decide(core::instant now = at(100)) const {
        std::vector<const core::pod_record*> pods;
        for (const auto& p : pods_) {
            pods.push_back(&p);
        }
        std::vector<const core::child_record*> children;
        for (const auto& c : children_) {
            children.push_back(&c);
        }
        const core::capabilities served = all_served();
        const core::observed seen{pods, children, refusals, absences, served};
        return core::decide(job, seen, core::policy{}, now);
    }

    /// Decides, takes the status over, and gives its size in bytes.
    std::size_t pass(core::instant now = at(100)) {
        const core::decision d = decide(now);
        if (d.status) {
            job.status = *d.status;
        }
        return core::format_status(job.status, job.meta.kind).size();
    }

    core::job_object job;
    std::vector<core::refusal> refusals;
    std::vector<core::confirmed_absence> absences;

private:
    std::deque<core::pod_record> pods_;
    std::deque<core::child_record> children_;
};

/// Every second index below `count`: the longest text a set of indexes can have.
inline core::index_set every_second(int count, int first = 0) {
    core::index_set out;
    for (int i = first; i < count; i += 2) {
        out.insert(i);
    }
    return out;
}

}  // namespace signalbox::test
