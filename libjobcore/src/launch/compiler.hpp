// SPDX-License-Identifier: Apache-2.0
//
// The launch compiler: typed specification -> job plan, one file per kind.
#pragma once

#include "jobcore/plan.hpp"
#include "render/render_data.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace signalbox::core::launch {

/// What the compiler of a kind reads and fills.
struct compile_context {
    const job_meta& meta;
    const job_spec& spec;
    job_plan& plan;
    render_data& render;
    std::vector<diagnostic>& findings;
    std::size_t errors = 0;    ///< said, and left out
    std::size_t warnings = 0;  ///< the same

    /// Of each at most 256 are kept, so that hostile input cannot make the lists large;
    /// count_left_out() says how many more there are.
    void error(
        std::string_view pointer, std::string_view message, std::string reason = "InvalidSpec"
    );
    void warn(
        std::string_view pointer, std::string_view message, std::string reason = "FieldOverridden"
    );
    void count_left_out();
    /// Value of one of our annotations on the job, `batch.tensorstack.dev/<name>`.
    std::string_view annotation(std::string_view name) const;
};

void compile_pytorch(compile_context& ctx, const pytorch_spec& launch);
void compile_deepspeed(compile_context& ctx, const deepspeed_spec& launch);
void compile_colossalai(compile_context& ctx, const colossalai_spec& launch);

/// Replicas per entry of `spec.replicas` (BEHAVIOUR.md 7.1).
std::vector<std::int32_t> wanted_replicas(const job_spec& spec);

/// The entry of a debug or resume list for a pod: that of `master` for the deciding pod, unless the
/// job has a type of that name, before that of its type (BEHAVIOUR.md api 1.5). Nothing if none.
template <class Entry>
const Entry* find_entry(
    const std::vector<Entry>& entries, const job_spec& spec, std::string_view type, bool deciding
) {
    const auto by_type = [&](std::string_view wanted) -> const Entry* {
        for (const auto& e : entries) {
            if (e.type == wanted) {
                return &e;
            }
        }
        return nullptr;
    };
    if (deciding) {
        bool is_type = false;
        for (const auto& r : spec.replicas) {
            is_type = is_type || r.type == "master";
        }
        const Entry* e = is_type ? nullptr : by_type("master");
        if (e != nullptr) {
            return e;
        }
    }
    return by_type(type);
}

/// Adds what the job's scheduler of gangs wants; what that cannot take of the job is an error
/// (BEHAVIOUR.md 8). Needs the plan's types and stages.
void plan_gang(compile_context& ctx);

/// Adds the headless Service that is the subdomain of all pods (BEHAVIOUR.md 1.5).
void plan_subdomain(compile_context& ctx);

/// Adds the two headless Services of a job with a rendezvous pod (BEHAVIOUR.md 1.5).
void plan_services(compile_context& ctx, std::size_t rendezvous_type);

/// Hostname of the pod that the alias Service selects.
std::string rendezvous_host(const compile_context& ctx);

}  // namespace signalbox::core::launch
