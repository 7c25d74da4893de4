// SPDX-License-Identifier: Apache-2.0
//
// A world whose operator does what a test says in place of libjobcore's decisions: for tests of how
// actions are carried out.
#pragma once

#include "scenario/world.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::test {

/// The creation of a pod of the first type.
inline core::action create_pod(const core::job_object& job, int index = 0, int attempt = 1) {
    const core::pod_identity pod{.index = index, .attempt = attempt};
    core::action a;
    a.name = core::pod_name(*job.compiled->plan, pod);
    a.request = core::create_pod{pod};
    return a;
}

/// The creation of a planned object.
inline core::action create_object(const core::job_object& job, std::size_t number) {
    const core::planned_object& object = *core::find_object(*job.compiled->plan, number);
    core::action a;
    a.kind = object.kind;
    a.name = core::object_name(object, 1);
    a.request = core::create_object{{number, 1}};
    return a;
}

/// What a server may say in place of doing what it is asked.
inline k8sio::server::fault answer(int status, std::string reason = {}, std::string message = {}) {
    k8sio::server::fault fault;
    fault.status = status;
    fault.reason = std::move(reason);
    fault.message = std::move(message);
    return fault;
}

/// What one decision was made on.
struct look {
    std::string job;
    core::instant now{};
    std::size_t pods = 0;
    std::vector<core::refusal> refusals;
    std::size_t absences = 0;
    std::vector<std::string> children;  ///< names of those that are no pods
};

/// A world whose operator asks `decide` what to do.
struct scripted {
    using decide_function = std::function<core::decision(const core::job_object&, core::instant)>;

    explicit scripted(int replicas = 4)
        : scripted(job_builder("job").replicas("worker", replicas).json()) {}

    /// `job_json`: a job with the name `job`.
    explicit scripted(const std::string& job_json, world_options options = world_options()) {
        options.script.defaults.emplace(options.script.defaults.begin(), "duration", "never");
        options.controller.decide = [this](
                                        const core::job_object& job,
                                        const core::observed& seen,
                                        const core::policy&,
                                        core::instant now
                                    ) {
            look l;
            l.job = job.meta.name;
            l.now = now;
            l.pods = seen.pods.size();
            l.refusals.assign(seen.refusals.begin(), seen.refusals.end());
            l.absences = seen.absences.size();
            for (const core::child_record* child : seen.children) {
                l.children.push_back(child->name);
            }
            looks.push_back(std::move(l));
            return decide ? decide(job, now) : core::decision();
        };
        w = std::make_unique<world>(std::move(options));
        uid = w->create_job(job_json);
        w->settle();
        looks.clear();
    }

    /// Makes the operator look at the job now.
    void nudge() {
        w->patch_job(
            "job", R"({"metadata":{"annotations":{"n":")" + std::to_string(++nudges) + R"("}}})"
        );
    }
    std::vector<std::string> writes(std::string_view part = {}) const {
        std::vector<std::string> all;
        for (const sent_write& write : w->operator_transport().writes()) {
            const std::string path = write.target.substr(0, write.target.find('?'));
            const std::string line = write.method + " " + path.substr(path.rfind('/') + 1);
            if (line.find(part) != std::string::npos) {
                all.push_back(line);
            }
        }
        return all;
    }

    /// How often that job was decided on.
    std::size_t looks_at(std::string_view job) const {
        return static_cast<std::size_t>(
            std::count_if(looks.begin(), looks.end(), [&](const look& l) { return l.job == job; })
        );
    }

    decide_function decide;
    std::vector<look> looks;
    std::unique_ptr<world> w;
    std::string uid;
    int nudges = 0;
};

}  // namespace signalbox::test
