// SPDX-License-Identifier: Apache-2.0
//
// PyTorchTrainingJob: plain processes with env:// rendezvous, or torchrun (LAUNCH.md 9.2).
#include "json/resources.hpp"
#include "launch/compiler.hpp"
#include "launch/tensorboard.hpp"
#include "launch/torchrun.hpp"
#include "launch/type_pods.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace signalbox::core::launch {
namespace {

std::string upper_case(std::string text) {
    for (char& c : text) {
        c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    }
    return text;
}

class pytorch_compiler {
public:
    pytorch_compiler(compile_context& ctx, const pytorch_spec& launch)
        : ctx_(ctx), launch_(launch) {}

    void plan_job();
    void compile_type(std::size_t type);

private:
    bool torchrun() const { return launch_.torchrun.enabled; }
    void warn_rank_order();
    void warn_command(const type_template& source);
    program compile_variant(std::size_t type, pod_variant v, const type_template& source);
    void set_program(pod_editor& pod, std::size_t type, pod_variant v) const;
    std::optional<env_entry> agent_name(bool deciding) const;
    void set_environment(pod_editor& pod, bool deciding) const;
    std::vector<argument> torchrun_line(
        const pod_editor& pod,
        std::size_t type,
        bool deciding,
        const std::vector<std::string>& script
    ) const;
    void declare_port(pod_editor& pod, bool deciding) const;

    compile_context& ctx_;
    const pytorch_spec& launch_;
};

scope_rule scope_of(const torchrun_config& torchrun) {
    // Survivors spend a restart on every loss: without any, all are lost (BEHAVIOUR.md 5.6).
    if (!torchrun.enabled || torchrun.max_restarts == 0) {
        return scope_rule::whole_job;
    }
    switch (parse_rendezvous(torchrun.rdzv_backend)) {
        case rendezvous::fixed:
            return scope_rule::whole_job;
        case rendezvous::external:
            return scope_rule::external;
        case rendezvous::c10d:
            break;
    }
    return scope_rule::c10d;
}

void pytorch_compiler::plan_job() {
    job_plan& plan = ctx_.plan;
    const auto first = std::find_if(plan.types.begin(), plan.types.end(), [](const type_plan& r) {
        return r.wanted > 0;
    });
    plan.deciding_type =
        first == plan.types.end() ? 0 : static_cast<std::size_t>(first - plan.types.begin());
    plan.peers_join = torchrun();
    plan.scope = scope_of(launch_.torchrun);
    if (plan.elastic) {
        plan.elastic->survives_loss = launch_.torchrun.max_restarts > 0;
    }
    warn_replica_scope(ctx_);
    plan_gang(ctx_);
    plan_services(ctx_, plan.deciding_type);
    warn_rank_order();
}

void pytorch_compiler::compile_type(std::size_t type) {
    const auto source = read_template(ctx_, type, {"pytorch", "python"});
    if (!source) {
        return;
    }
    warn_command(*source);
    if (torchrun() && launch_.torchrun.proc_per_node == "auto") {
        warn_unknown_devices(ctx_, *source, "torchrunConfig.procPerNode");
    }
    compile_variants(ctx_, type, [&](pod_variant v) { return compile_variant(type, v, *source); });
}

/// torchrun is the command: one of the user's is not run (BEHAVIOUR.md 3.2).
void pytorch_compiler::warn_command(const type_template& source) {
    if (!torchrun() || ctx_.spec.mode.debug) {
        return;
    }
    const auto command = string_list(source.container(), "command");
    if (!command.empty() && command != std::vector<std::string>{"torchrun"}) {
        ctx_.warn(
            source.container_pointer() + "/command",
            "The command is replaced by torchrun, because torchrunConfig is enabled; put the "
            "script and its arguments into args."
        );
    }
}

program pytorch_compiler::compile_variant(
    std::size_t type, pod_variant v, const type_template& source
) {
    pod_editor pod(ctx_, type, v.deciding, source.document, source.training);
    set_program(pod, type, v);
    set_environment(pod, v.deciding);
    declare_port(pod, v.deciding);
    add_common_defaults(pod, ctx_);
    return pod.build();
}

/// Command and arguments of the training container: debug before resume before the real run
/// (BEHAVIOUR.md 3.10, 3.11).
void pytorch_compiler::set_program(pod_editor& pod, std::size_t type, pod_variant v) const {
    if (ctx_.spec.mode.debug) {
        return set_debug_program(pod, ctx_, type, v.deciding, {"sleep", "inf"});
    }
    const auto* resume = v.resumed ? resume_entry(ctx_, type, v.deciding) : nullptr;
    if (resume != nullptr && resume->skip_init_container) {
        pod.drop_init_containers();
    }
    const bool own_args = resume != nullptr && !resume->args.empty();
    const auto args = own_args ? resume->args : string_list(pod.training(), "args");
    if (resume != nullptr && !resume->command.empty()) {
        pod.set_command(resume->command);
        pod.set_args(own_args ? literal(resume->args) : std::vector<argument>{});
    } else if (torchrun()) {
        const bool module = ctx_.annotation("torchrun") == "module";
        pod.set_command(
            module ? std::vector<std::string>{"python", "-m", "torch.distributed.run"}
                   : std::vector<std::string>{"torchrun"}
        );
        pod.set_args(torchrun_line(pod, type, v.deciding, args));
    } else if (own_args) {
        pod.set_args(literal(args));
    }
}

std::vector<argument> pytorch_compiler::torchrun_line(
    const pod_editor& pod, std::size_t type, bool deciding, const std::vector<std::string>& script
) const {
    torchrun_pod facts;
    facts.type = ctx_.plan.types[type].name;
    facts.rendezvous_host = rendezvous_host(ctx_);
    facts.job_uid = ctx_.plan.job_uid;
    facts.proc_per_node = resolve_processes(launch_.torchrun.proc_per_node, pod.training());
    facts.deciding = deciding;
    facts.elastic = ctx_.spec.elastic ? &*ctx_.spec.elastic : nullptr;
    auto line = torchrun_options(launch_.torchrun, facts);
    for (const auto& word : script) {
        line.push_back({word});
    }
    return line;
}

/// What the agent calls itself. Ranks find the first agent by its name: under host network that
/// would be the node's, which the cluster's DNS need not know (BEHAVIOUR.md 3.12).
std::optional<env_entry> pytorch_compiler::agent_name(bool deciding) const {
    const rendezvous how = parse_rendezvous(launch_.torchrun.rdzv_backend);
    if (how == rendezvous::fixed) {
        return std::nullopt;
    }
    if (how == rendezvous::c10d && deciding) {
        return env_entry{
            "PET_LOCAL_ADDR", upper_case(rendezvous_host(ctx_)) + '.' + ctx_.plan.base_name};
    }
    return env_entry{"PET_LOCAL_ADDR", {}, filling::address};
}

/// torch before 2.0 knows no names of ours, and puts agents in the order of host names.
void pytorch_compiler::warn_rank_order() {
    if (!torchrun() || parse_rendezvous(launch_.torchrun.rdzv_backend) != rendezvous::c10d) {
        return;
    }
    const std::string first = rendezvous_host(ctx_);
    for (std::size_t type = 0; type < ctx_.plan.types.size(); ++type) {
        if (ctx_.plan.types[type].wanted > 0 && pod_name(ctx_.plan, {.type = type}) < first) {
            ctx_.warn(
                ctx_.spec.replicas[type].pointer + "/type",
                "With torch before 2.0 rank 0 is on a pod of this type, since its name sorts "
                "before that of type " +
                    ctx_.plan.types[ctx_.plan.deciding_type].name +
                    ", whose first pod decides the job.",
                "SpecWarning"
            );
        }
    }
}

void pytorch_compiler::set_environment(pod_editor& pod, bool deciding) const {
    const std::vector<env_entry> addresses{
        {"MASTER_ADDR", rendezvous_host(ctx_)},
        {"MASTER_PORT", std::to_string(master_port)},
    };
    auto ours = addresses;
    const json::value& container = pod.training();
    if (torchrun()) {
        // No RANK, no WORLD_SIZE: torchrun gives them to its ranks, and ours would mislead a script
        // that is started outside of it.
        ours.push_back({"PYTHONUNBUFFERED", "1"});
        // Without it a replaced pod meets a stale store and all agents fail (LAUNCH.md 3.3).
        ours.push_back({"TORCH_DISABLE_SHARE_RDZV_TCP_STORE", "1"});
        // No TORCHELASTIC_ERROR_FILE (BEHAVIOUR.md 3.9): at the termination message path it would
        // hide the reason, since torch removes that file first, and a kubelet's mount cannot be
        // removed. The report at the end of the log says the same (engine/facts/termination.hpp).
        if (auto name = agent_name(deciding)) {
            ours.push_back(std::move(*name));
        }
        // torchrun sets it by itself for more than one process.
        if (resolve_processes(launch_.torchrun.proc_per_node, container) == "1") {
            add_thread_limit(ours, container, 1);
        }
    } else {
        ours.push_back({"RANK", {}, filling::rank});
        ours.push_back({"WORLD_SIZE", {}, filling::world_size});
        ours.push_back({"PYTHONUNBUFFERED", "1"});
        add_thread_limit(ours, container, json::accelerators(container));
    }
    pod.add_training_env(ours);
    pod.add_other_env(addresses);
}

void pytorch_compiler::declare_port(pod_editor& pod, bool deciding) const {
    const auto how =
        torchrun() ? parse_rendezvous(launch_.torchrun.rdzv_backend) : rendezvous::fixed;
    // Under hostNetwork the API server makes a container port a port of the node, and two pods that
    // declare it are kept off one node: there only the pod that listens may.
    if (how == rendezvous::external || (pod.host_network() && !deciding)) {
        return;
    }
    pod.add_port("rendezvous", how == rendezvous::c10d ? c10d_port : master_port);
}

}  // namespace

void compile_pytorch(compile_context& ctx, const pytorch_spec& launch) {
    pytorch_compiler compiler(ctx, launch);
    compiler.plan_job();
    for (std::size_t type = 0; type < ctx.plan.types.size(); ++type) {
        compiler.compile_type(type);
    }
    plan_tensorboard(ctx, launch.tensorboard);
}

}  // namespace signalbox::core::launch
