// SPDX-License-Identifier: Apache-2.0
//
// What the compilers of all kinds do around the pods of a type: reading its template, making the
// programs that its pods differ by, and the edits that no kind does its own way.
#pragma once

#include "launch/compiler.hpp"
#include "launch/pod_template.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::core::launch {

inline constexpr std::int32_t master_port = 29500;

/// What pods of a type differ by, besides their numbers.
struct pod_variant {
    bool deciding;
    bool resumed;
};

/// A user's template that passed check_template.
struct type_template {
    json::document document;
    std::size_t training = 0;
    std::string pointer;  ///< of the template in the job

    const json::value& container() const;
    /// Pointer of the training container.
    std::string container_pointer() const;
    /// Its `terminationMessagePath`.
    std::string termination_path() const;
    bool host_network() const;
};

/// Reads the template of a type and reports what of it is wrong or overridden; nothing if it cannot
/// be used. `names`: those of the training container, in their order.
std::optional<type_template> read_template(
    compile_context& ctx, std::size_t type, const std::vector<std::string_view>& names
);

/// The entry of the job's resume list for such a pod; none in debug mode (BEHAVIOUR.md 3.11).
const resume_replica* resume_entry(const compile_context& ctx, std::size_t type, bool deciding);
const debug_replica* debug_entry(const compile_context& ctx, std::size_t type, bool deciding);

/// Makes the programs of a type: `compile(pod_variant)` is called once per kind of pod it has.
template <class Compile>
void compile_variants(compile_context& ctx, std::size_t type, Compile&& compile) {
    type_render& out = ctx.render.types[type];
    const auto add = [&](pod_variant v) {
        out.programs.push_back(compile(v));
        return out.programs.size() - 1;
    };
    for (const bool deciding : {false, true}) {
        auto& choice = out.choice[deciding ? 1 : 0];
        if (deciding && type != ctx.plan.deciding_type) {
            choice = out.choice[0];
            continue;
        }
        choice[0] = add({deciding, false});
        const bool own = resume_entry(ctx, type, deciding) != nullptr;
        choice[1] = own ? add({deciding, true}) : choice[0];
    }
}

/// The entry of the job's debug list for such a pod has a command.
bool has_debug_command(const compile_context& ctx, std::size_t type, bool deciding);

/// The program of a debug pod: the entry's command, else `idle`; no arguments (BEHAVIOUR.md 3.10).
void set_debug_program(
    pod_editor& pod,
    const compile_context& ctx,
    std::size_t type,
    bool deciding,
    const std::vector<std::string>& idle
);

/// The termination message policy and `/dev/shm` (BEHAVIOUR.md 3.7, 3.9).
void add_common_defaults(pod_editor& pod, const compile_context& ctx);

/// Adds `OMP_NUM_THREADS`: the container's processors shared by `ranks`. torch would take the cores
/// of the node (LAUNCH.md 8.3). Nothing if the container has no limit.
void add_thread_limit(
    std::vector<env_entry>& env, const json::value& container, std::int64_t ranks
);

/// Warns of an extended resource that may be accelerators: the pod has one process, unless the
/// field says otherwise (LAUNCH.md 8.2).
void warn_unknown_devices(
    compile_context& ctx, const type_template& source, std::string_view field
);

/// Warns of `restartScope: Replica` in a job whose pods cannot rejoin (BEHAVIOUR.md 5.6).
void warn_replica_scope(compile_context& ctx);

/// Warns that a program the user wrote into the template is not run (BEHAVIOUR.md 3.2).
void warn_replaced_program(compile_context& ctx, const type_template& source, std::string by);

/// Warns about an entry of the job's resume list.
void warn_resume(compile_context& ctx, const resume_replica& entry, std::string message);

/// Arguments without gaps.
std::vector<argument> literal(const std::vector<std::string>& words);

}  // namespace signalbox::core::launch
