// SPDX-License-Identifier: Apache-2.0
//
// DeepSpeedJob: the `deepspeed` runner on worker-0, which reaches the others by pdsh and ssh, or
// its per-node launcher started in every pod (LAUNCH.md 2.1, 2.6, 9.1).
#include "launch/deepspeed.hpp"

#include "json/resources.hpp"
#include "launch/compiler.hpp"
#include "launch/quoting.hpp"
#include "launch/ssh_pods.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace signalbox::core::launch {
namespace {

constexpr std::size_t only_type = 0;
/// Two files that a launch by hand finds without being told (LAUNCH.md 9.1).
const std::vector<std::string_view> hostfiles{"/job/hostfile", "/t9k/hostfile"};

class deepspeed_compiler {
public:
    deepspeed_compiler(compile_context& ctx, const deepspeed_spec& launch)
        : ctx_(ctx), launch_(launch), ssh_(!wants_no_ssh(launch)) {}

    void compile();

private:
    void plan_job(const type_template& source);
    void plan_ssh(const type_template& source);
    run_scripts scripts() const;
    std::string script(bool several, bool resumed) const;
    program compile_variant(pod_variant v, const type_template& source);
    void set_program(pod_editor& pod, pod_variant v) const;
    void set_environment(pod_editor& pod) const;
    void declare_ports(pod_editor& pod, bool deciding) const;
    void warn_ignored_resume();
    std::string master_address() const {
        return pod_name(ctx_.plan, {.type = only_type}) + '.' + ctx_.plan.base_name;
    }
    bool has_peers() const;
    bool runs_sshd(bool deciding) const;
    bool writes_env_file(const json::value& container) const;
    std::string env_file() const { return std::string(run_dir) + "/deepspeed_env"; }

    compile_context& ctx_;
    const deepspeed_spec& launch_;
    bool ssh_;
    ssh_layout layout_;
};

void deepspeed_compiler::compile() {
    plan_gang(ctx_);
    const auto source = read_template(ctx_, only_type, {"worker"});
    if (!source) {
        return;
    }
    const std::string by =
        ctx_.spec.mode.debug ? "that of the debug mode" : "the launcher that config describes";
    warn_replaced_program(ctx_, *source, by);
    plan_job(*source);
    compile_variants(ctx_, only_type, [&](pod_variant v) { return compile_variant(v, *source); });
}

void deepspeed_compiler::plan_job(const type_template& source) {
    job_plan& plan = ctx_.plan;
    plan.scope = scope_rule::whole_job;
    warn_replica_scope(ctx_);
    plan_subdomain(ctx_);
    const auto accelerator_count =
        std::max<std::int64_t>(1, json::accelerators(source.container()));
    ctx_.render.slots =
        launch_.slots_per_worker.value_or(static_cast<std::int32_t>(accelerator_count));
    if (!launch_.slots_per_worker) {
        warn_unknown_devices(ctx_, source, "config.slotsPerWorker");
    }
    if (ssh_) {
        // From there on sshd is all that runs; in the deciding pod the launcher does.
        plan.types[only_type].serving_from_index = 1;
        plan_ssh(source);
        warn_ignored_resume();
    } else {
        for (const auto& option : options_without_effect(launch_.other_args)) {
            ctx_.warn(
                "/spec/config/otherArgs",
                option + " has no effect together with --no_ssh.",
                "FieldIgnored"
            );
        }
    }
}

void deepspeed_compiler::plan_ssh(const type_template& source) {
    read_layout(layout_, ctx_, source);
    check_ssh_places(ctx_, source, layout_, hostfiles);
    ctx_.render.config.host_type = only_type;
    ctx_.render.config.host_suffix = " slots=" + std::to_string(ctx_.render.slots);

    pod_editor pod(ctx_, only_type, false, source.document, source.training);
    set_environment(pod);
    bootstrap_use use;
    use.sweep_pattern = "[d]eepspeed.launcher.launch";
    use.env_file = writes_env_file(source.container()) ? env_file() : "";
    use.launcher_sshd = true;
    use.forwards_environment = !launch_.disable_custom_env;
    use.shared_variables = use.env_file.empty() ? "" : shared_variables(pod.training());
    plan_ssh_objects(ctx_, layout_, use, source, scripts());
}

/// The job has, or may come to have, more than one worker.
bool deepspeed_compiler::has_peers() const {
    const auto& elastic = ctx_.spec.elastic;
    return (elastic ? elastic->max_replicas : ctx_.plan.types[only_type].wanted) > 1;
}

/// The pod's program is the bootstrap, which starts sshd: our probe asks nothing else.
bool deepspeed_compiler::runs_sshd(bool deciding) const {
    if (!ctx_.spec.mode.debug) {
        return true;
    }
    return has_peers() && !has_debug_command(ctx_, only_type, deciding);
}

/// A file that the user names is the user's to write.
bool deepspeed_compiler::writes_env_file(const json::value& container) const {
    const json::value* env = json::find(container, "env");
    const bool theirs = env != nullptr && std::any_of(env->Begin(), env->End(), [](const auto& e) {
                            return json::string_or_empty(e, "name") == "DS_ENV_FILE";
                        });
    return !launch_.disable_custom_env && !theirs;
}

run_scripts deepspeed_compiler::scripts() const {
    run_scripts out;
    for (const bool several : {false, true}) {
        for (const bool resumed : {false, true}) {
            out[several ? 1 : 0][resumed ? 1 : 0] = script(several, resumed);
        }
    }
    return out;
}

/// What worker-0 runs: the resume entry's program, the user's shell line, or the runner.
std::string deepspeed_compiler::script(bool several, bool resumed) const {
    const auto* resume = resumed ? resume_entry(ctx_, only_type, true) : nullptr;
    run_needs needs;
    needs.bare_environment = launch_.disable_custom_env && !several;
    if (resume != nullptr && !resume->command.empty()) {
        auto words = resume->command;
        words.insert(words.end(), resume->args.begin(), resume->args.end());
        return run_script(needs, words);
    }
    if (!launch_.custom_command.empty()) {
        return run_script(needs, {"/bin/sh", "-c", launch_.custom_command});
    }
    runner_facts facts;
    facts.hostfile = std::string(config_dir) + "/hostfile";
    facts.master_address = several ? master_address() : "127.0.0.1";
    facts.several = several;
    facts.ssh_check = ctx_.annotation("ssh-check") == "on";
    facts.script_args = resume != nullptr && !resume->args.empty() ? &resume->args : nullptr;
    if (launch_.autotune != "none") {
        needs.autotune_config =
            configuration_of(facts.script_args != nullptr ? *facts.script_args : launch_.python);
    }
    needs.pdsh = several;
    needs.exports = several ? launcher_exports::pdsh : launcher_exports::none;
    return run_script(needs, runner_line(launch_, facts));
}

program deepspeed_compiler::compile_variant(pod_variant v, const type_template& source) {
    pod_editor pod(ctx_, only_type, v.deciding, source.document, source.training);
    set_program(pod, v);
    set_environment(pod);
    declare_ports(pod, v.deciding);
    if (ssh_) {
        add_ssh_volumes(pod, ctx_, layout_, hostfiles);
        if (runs_sshd(v.deciding)) {
            pod.add_readiness_probe(layout_.port);
        }
    }
    add_common_defaults(pod, ctx_);
    return pod.build();
}

void deepspeed_compiler::set_program(pod_editor& pod, pod_variant v) const {
    if (ctx_.spec.mode.debug) {
        // sshd on every pod, so that a launch by hand from worker-0 reaches all.
        const std::vector<std::string> sleep{"sleep", "inf"};
        const auto idle = ssh_ && has_peers() ? bootstrap_command("worker") : sleep;
        return set_debug_program(pod, ctx_, only_type, v.deciding, idle);
    }
    const auto* resume = v.resumed ? resume_entry(ctx_, only_type, v.deciding) : nullptr;
    if (resume != nullptr && resume->skip_init_container) {
        pod.drop_init_containers();
    }
    if (ssh_) {
        pod.set_command(bootstrap_command(v.deciding ? "launcher" : "worker"));
        pod.set_args({});
        return;
    }
    if (resume != nullptr && !resume->command.empty()) {
        pod.set_command(resume->command);
        pod.set_args(literal(resume->args));
        return;
    }
    const bool own_args = resume != nullptr && !resume->args.empty();
    pod.set_command({"python", "-u", "-m", "deepspeed.launcher.launch"});
    pod.set_args(node_line(launch_, master_address(), own_args ? &resume->args : nullptr));
}

void deepspeed_compiler::set_environment(pod_editor& pod) const {
    const std::vector<env_entry> addresses{
        {"MASTER_ADDR", master_address()},
        {"MASTER_PORT", std::to_string(master_port)},
    };
    auto ours = addresses;
    ours.push_back({"PYTHONUNBUFFERED", "1"});
    add_thread_limit(ours, pod.training(), ctx_.render.slots);
    if (ssh_ && writes_env_file(pod.training())) {
        ours.push_back({"DS_ENV_FILE", env_file()});
    }
    pod.add_training_env(ours);
    pod.add_other_env(addresses);
}

void deepspeed_compiler::declare_ports(pod_editor& pod, bool deciding) const {
    // Under hostNetwork two pods that declare one port are kept off one node: right for sshd, which
    // listens in all of them.
    if (ssh_) {
        pod.add_port("ssh", layout_.port);
    }
    if (!pod.host_network() || deciding) {
        pod.add_port("rendezvous", master_port);
    }
}

/// The program of a resume is the launcher's; the other workers run sshd (BEHAVIOUR.md 3.11).
void deepspeed_compiler::warn_ignored_resume() {
    const auto* entry = resume_entry(ctx_, only_type, false);
    if (entry == nullptr || !has_peers() || (entry->command.empty() && entry->args.empty())) {
        return;
    }
    warn_resume(ctx_, *entry, "The program is run by worker-0 alone; the other workers run sshd.");
}

}  // namespace

void compile_deepspeed(compile_context& ctx, const deepspeed_spec& launch) {
    if (ctx.spec.replicas.size() != 1) {
        ctx.error("/spec/worker", "A DeepSpeedJob has one replica type, worker.");
        return;
    }
    deepspeed_compiler(ctx, launch).compile();
}

}  // namespace signalbox::core::launch
