// SPDX-License-Identifier: Apache-2.0
//
// Jobs of the kinds whose launcher uses ssh, as typed specifications, and readings of what they
// compile to.
#pragma once

#include "launch/compiled.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace signalbox::test {

/// `containers` = members of the first container beside name and image; `pod` = further members of
/// the pod's spec. Both begin with a comma if they are not empty.
inline std::string worker_template(
    const std::string& container = {},
    const std::string& pod = {},
    const std::string& name = "worker"
) {
    return R"({"spec":{"containers":[{"name":")" + name + R"(","image":"ds:1")" + container + "}]" +
           pod + "}}";
}

/// A plan and what was found on the way. Fields of `meta` and `spec` may be changed before compile.
template <class Launch>
struct typed_job {
    core::job_meta meta;
    core::job_spec spec;
    Launch launch;
    std::vector<core::diagnostic> findings;
    core::job_plan plan;

    typed_job(core::job_kind kind, std::string name) {
        meta.kind = kind;
        meta.name = std::move(name);
        meta.ns = "default";
        meta.uid = "cffea855-5ce2-496a-8956-f6e76fe2f565";
    }

    typed_job& compile() {
        spec.launch = launch;
        findings.clear();
        plan = core::compile_plan(meta, spec, findings);
        return *this;
    }
    rendered pod(core::pod_identity identity = {}, const core::render_options& options = {}) const {
        for (const auto& f : findings) {
            UNSCOPED_INFO(f.pointer << ": " << f.message);
        }
        REQUIRE_FALSE(core::has_errors(findings));
        return rendered(core::render_pod(plan, identity, options));
    }
    const core::planned_object& planned(core::object_kind kind, std::size_t number = 0) const {
        for (const auto& object : plan.objects) {
            if (object.kind == kind && number-- == 0) {
                return object;
            }
        }
        FAIL("no such object");
        return plan.objects.front();
    }
    bool has(core::object_kind kind) const {
        return std::any_of(plan.objects.begin(), plan.objects.end(), [&](const auto& o) {
            return o.kind == kind;
        });
    }
    rendered object(
        core::object_kind kind, const core::render_options& options = {}, std::int32_t attempt = 1
    ) const {
        return rendered(core::preview_object(plan, planned(kind), attempt, options));
    }
    /// A file of the ConfigMap.
    std::string file(std::string_view name, const core::render_options& options = {}) const {
        const auto config = object(core::object_kind::config_map, options);
        const value* text = find(config.root(), "data", name);
        REQUIRE(text != nullptr);
        return std::string(core::json::view(*text));
    }
    bool warns(std::string_view pointer) const {
        return std::any_of(plan.warnings.begin(), plan.warnings.end(), [&](const auto& w) {
            return w.pointer == pointer;
        });
    }
};

/// A DeepSpeedJob `cifar` of so many workers that runs `train.py`.
struct deepspeed_job : typed_job<core::deepspeed_spec> {
    explicit deepspeed_job(int replicas = 2, std::string pod_template = worker_template())
        : typed_job(core::job_kind::deepspeed, "cifar") {
        core::replica_spec worker;
        worker.type = "worker";
        worker.replicas = replicas;
        worker.pod_template = std::move(pod_template);
        worker.pointer = "/spec/worker";
        spec.replicas.push_back(std::move(worker));
        launch.python = {"train.py"};
    }
};

/// A ColossalAIJob `palm` of so many workers that runs `train.py`.
struct colossalai_job : typed_job<core::colossalai_spec> {
    explicit colossalai_job(int workers = 2, std::string pod_template = worker_template())
        : typed_job(core::job_kind::colossalai, "palm") {
        core::replica_spec launcher;
        launcher.type = "launcher";
        launcher.pod_template = "{}";
        launcher.pointer = "/spec/launcher";
        core::replica_spec worker;
        worker.type = "worker";
        worker.replicas = workers;
        worker.pod_template = std::move(pod_template);
        worker.pointer = "/spec/worker";
        spec.replicas = {std::move(launcher), std::move(worker)};
        launch.command = {"train.py"};
    }
};

}  // namespace signalbox::test
