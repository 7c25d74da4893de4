// SPDX-License-Identifier: Apache-2.0
//
// ColossalAIJob: `colossalai run` in a pod of its own, which starts torchrun on every worker by ssh
// (LAUNCH.md 4.1, 9.3).
#include "launch/colossalai.hpp"

#include "launch/compiler.hpp"
#include "launch/quoting.hpp"
#include "launch/ssh_pods.hpp"

#include <array>
#include <string>
#include <utility>
#include <vector>

namespace signalbox::core::launch {
namespace {

constexpr std::size_t launcher_type = 0;
constexpr std::size_t worker_type = 1;
constexpr std::string_view launcher_container = "launcher";

class colossalai_compiler {
public:
    colossalai_compiler(compile_context& ctx, const colossalai_spec& launch)
        : ctx_(ctx), launch_(launch), options_(translate(launch.torch_args)) {}

    void compile();

private:
    void plan_job();
    void plan_ssh(const type_template& worker);
    std::string script(bool resumed) const;
    program compile_worker(pod_variant v, const type_template& source) const;
    program compile_launcher(pod_variant v, const type_template& source) const;
    void set_environment(pod_editor& pod) const;
    void warn_ignored_resume();

    compile_context& ctx_;
    const colossalai_spec& launch_;
    launch_options options_;
    ssh_layout layout_;
};

void colossalai_compiler::compile() {
    plan_job();
    const auto worker = read_template(ctx_, worker_type, {"worker"});
    if (!worker) {
        return;
    }
    if (!ctx_.spec.mode.debug) {
        warn_replaced_program(ctx_, *worker, "sshd; the launcher starts the training");
    }
    layout_.auth_path = launch_.auth_mount_path;
    layout_.sshd_path = launch_.sshd_path;
    read_layout(layout_, ctx_, *worker);
    check_ssh_places(ctx_, *worker, layout_, {});

    const auto launcher = make_launcher(ctx_, launch_, options_, *worker);
    if (!launcher) {
        return;
    }
    plan_ssh(*worker);
    warn_ignored_resume();
    compile_variants(ctx_, worker_type, [&](pod_variant v) { return compile_worker(v, *worker); });
    compile_variants(ctx_, launcher_type, [&](pod_variant v) {
        return compile_launcher(v, *launcher);
    });
}

void colossalai_compiler::plan_job() {
    job_plan& plan = ctx_.plan;
    plan.scope = scope_rule::no_restart;
    plan.deciding_type = launcher_type;
    plan.pod_stages = {{worker_type}, {launcher_type}};
    plan.types[launcher_type].training_container = launcher_container;
    plan.types[launcher_type].memory_limit.clear();
    plan.types[worker_type].serving_from_index = 0;
    plan_gang(ctx_);
    plan_services(ctx_, worker_type);
}

void colossalai_compiler::plan_ssh(const type_template& worker) {
    ctx_.render.config.host_type = worker_type;
    bootstrap_use use;
    use.sweep_pattern = "[t]orchrun --nproc";
    use.same_directory = true;

    run_scripts scripts;
    for (auto& by_size : scripts) {
        by_size = {script(false), script(true)};
    }
    plan_ssh_objects(ctx_, layout_, use, worker, std::move(scripts));
}

std::string colossalai_compiler::script(bool resumed) const {
    const run_needs needs{.exports = launcher_exports::escape, .autotune_config = {}};
    const auto* resume = resumed ? resume_entry(ctx_, launcher_type, true) : nullptr;
    if (resume != nullptr && !resume->command.empty()) {
        auto words = resume->command;
        words.insert(words.end(), resume->args.begin(), resume->args.end());
        return run_script(needs, words);
    }
    const bool own_args = resume != nullptr && !resume->args.empty();
    const auto line = launcher_line(
        launch_,
        options_,
        std::string(config_dir) + "/hostfile",
        rendezvous_host(ctx_),
        own_args ? &resume->args : nullptr
    );
    return run_script(needs, line);
}

program colossalai_compiler::compile_worker(pod_variant v, const type_template& source) const {
    pod_editor pod(ctx_, worker_type, v.deciding, source.document, source.training);
    if (ctx_.spec.mode.debug) {
        set_debug_program(pod, ctx_, worker_type, v.deciding, bootstrap_command("worker"));
    } else {
        pod.set_command(bootstrap_command("worker"));
        pod.set_args({});
        const auto* resume = v.resumed ? resume_entry(ctx_, worker_type, v.deciding) : nullptr;
        if (resume != nullptr && resume->skip_init_container) {
            pod.drop_init_containers();
        }
    }
    set_environment(pod);
    pod.add_port("ssh", layout_.port);
    add_ssh_volumes(pod, ctx_, layout_, {});
    if (!ctx_.spec.mode.debug || !has_debug_command(ctx_, worker_type, v.deciding)) {
        pod.add_readiness_probe(layout_.port);  // of sshd, which a command of the user's is not
    }
    add_common_defaults(pod, ctx_);
    return pod.build();
}

program colossalai_compiler::compile_launcher(pod_variant v, const type_template& source) const {
    pod_editor pod(ctx_, launcher_type, v.deciding, source.document, source.training);
    if (ctx_.spec.mode.debug) {
        // ssh by hand needs its configuration in the home, wherever the keys are mounted.
        const std::vector<std::string> sleep{"sleep", "inf"};
        const auto idle = links_config(layout_) ? bootstrap_command("idle") : sleep;
        set_debug_program(pod, ctx_, launcher_type, v.deciding, idle);
    } else {
        pod.set_command(bootstrap_command("launcher"));
    }
    set_environment(pod);
    add_ssh_volumes(pod, ctx_, layout_, {});
    pod.set_training_default("terminationMessagePolicy", "FallbackToLogsOnError");
    return pod.build();
}

void colossalai_compiler::set_environment(pod_editor& pod) const {
    const std::vector<env_entry> addresses{
        {"MASTER_ADDR", rendezvous_host(ctx_)},
        {"MASTER_PORT", std::to_string(master_port)},
    };
    auto ours = addresses;
    ours.push_back({"PYTHONUNBUFFERED", "1"});
    pod.add_training_env(ours);
    pod.add_other_env(addresses);
}

/// Workers run sshd, whatever a resume says (BEHAVIOUR.md 3.11).
void colossalai_compiler::warn_ignored_resume() {
    const auto* entry = resume_entry(ctx_, worker_type, false);
    if (entry != nullptr && !(entry->command.empty() && entry->args.empty())) {
        warn_resume(ctx_, *entry, "Workers run sshd; the program is the launcher's entry.");
    }
}

}  // namespace

void compile_colossalai(compile_context& ctx, const colossalai_spec& launch) {
    const auto& replicas = ctx.spec.replicas;
    if (replicas.size() != 2 || replicas[launcher_type].type != "launcher" ||
        replicas[worker_type].type != "worker") {
        ctx.error("/spec", "A ColossalAIJob has the replica types launcher and worker.");
        return;
    }
    colossalai_compiler(ctx, launch).compile();
}

}  // namespace signalbox::core::launch
