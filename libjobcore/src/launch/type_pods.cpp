// SPDX-License-Identifier: Apache-2.0
#include "launch/type_pods.hpp"

#include "json/resources.hpp"
#include "json/training.hpp"

#include <algorithm>
#include <utility>

namespace signalbox::core::launch {

const json::value& type_template::container() const {
    return (*json::find(document, "spec", "containers")
    )[static_cast<rapidjson::SizeType>(training)];
}

std::string type_template::container_pointer() const {
    return pointer + "/spec/containers/" + std::to_string(training);
}

std::string type_template::termination_path() const {
    const auto path = json::string_or_empty(container(), "terminationMessagePath");
    return std::string(path.empty() ? "/dev/termination-log" : path);
}

bool type_template::host_network() const {
    const json::value* v = json::find(document, "spec", "hostNetwork");
    return v != nullptr && v->IsTrue();
}

std::optional<type_template> read_template(
    compile_context& ctx, std::size_t type, const std::vector<std::string_view>& names
) {
    const replica_spec& replica = ctx.spec.replicas[type];
    type_template out;
    out.pointer = replica.pointer + "/template";
    json::parse(out.document, replica.pod_template);
    if (out.document.HasParseError()) {
        ctx.error(out.pointer, "template is not JSON.");
        return std::nullopt;
    }
    if (!check_template(ctx, replica, out.document)) {
        return std::nullopt;
    }
    const auto choice = *json::choose_training(out.document, names);
    if (!choice.certain && !ctx.meta.begun) {
        ctx.error(
            out.pointer + "/spec/containers",
            "Which of these containers trains? Name it " + std::string(names.front()) +
                ", or say its name in the template's annotation "
                "kubectl.kubernetes.io/default-container."
        );
        return std::nullopt;
    }
    out.training = choice.index;
    ctx.plan.types[type].training_container = json::string_or_empty(out.container(), "name");
    if (const json::value* limit = json::find(out.container(), "resources", "limits", "memory")) {
        ctx.plan.types[type].memory_limit =
            limit->IsString() ? json::view(*limit) : json::to_text(*limit);
    }
    const json::value* grace = json::find(out.document, "spec", "terminationGracePeriodSeconds");
    if (grace != nullptr && grace->IsInt64()) {
        ctx.plan.types[type].grace_seconds = grace->GetInt64();
    }
    ctx.plan.types[type].holds = json::extended_resources(*json::find(out.document, "spec"));
    warn_overrides(ctx, type, out.document);
    return out;
}

const resume_replica* resume_entry(const compile_context& ctx, std::size_t type, bool deciding) {
    const run_mode& mode = ctx.spec.mode;
    return mode.debug
               ? nullptr
               : find_entry(mode.resume_replicas, ctx.spec, ctx.plan.types[type].name, deciding);
}

const debug_replica* debug_entry(const compile_context& ctx, std::size_t type, bool deciding) {
    return find_entry(ctx.spec.mode.debug_replicas, ctx.spec, ctx.plan.types[type].name, deciding);
}

bool has_debug_command(const compile_context& ctx, std::size_t type, bool deciding) {
    const debug_replica* entry = debug_entry(ctx, type, deciding);
    return entry != nullptr && !entry->command.empty();
}

void set_debug_program(
    pod_editor& pod,
    const compile_context& ctx,
    std::size_t type,
    bool deciding,
    const std::vector<std::string>& idle
) {
    const debug_replica* entry = debug_entry(ctx, type, deciding);
    pod.set_command(has_debug_command(ctx, type, deciding) ? entry->command : idle);
    pod.set_args({});
    if (entry != nullptr && entry->skip_init_container) {
        pod.drop_init_containers();
    }
}

void add_common_defaults(pod_editor& pod, const compile_context& ctx) {
    pod.set_training_default("terminationMessagePolicy", "FallbackToLogsOnError");
    if (ctx.annotation("shm") != "off") {
        pod.add_shared_memory();
    }
}

void add_thread_limit(
    std::vector<env_entry>& env, const json::value& container, std::int64_t ranks
) {
    if (const auto limit = json::cpu_limit_milli(container)) {
        const auto threads =
            std::max<std::int64_t>(1, *limit / 1000 / std::max<std::int64_t>(1, ranks));
        env.push_back({"OMP_NUM_THREADS", std::to_string(threads)});
    }
}

void warn_unknown_devices(
    compile_context& ctx, const type_template& source, std::string_view field
) {
    const auto devices = json::count_devices(source.container());
    if (devices.accelerators == 0 && !devices.unknown.empty()) {
        ctx.warn(
            source.container_pointer() + "/resources",
            "It is not known what " + devices.unknown +
                " counts: each pod runs one process, unless " + std::string(field) +
                " says how many.",
            "SpecWarning"
        );
    }
}

void warn_replica_scope(compile_context& ctx) {
    if (ctx.plan.scope == scope_rule::whole_job &&
        ctx.spec.policy.scope == restart_scope::replica) {
        ctx.warn(
            "/spec/runPolicy/restartScope",
            "A pod replaced alone cannot rejoin in this launch mode: the others fail and restart "
            "too.",
            "SpecWarning"
        );
    }
}

void warn_replaced_program(compile_context& ctx, const type_template& source, std::string by) {
    for (const std::string_view key : {"command", "args"}) {
        if (!string_list(source.container(), key).empty()) {
            ctx.warn(
                source.container_pointer() + '/' + std::string(key),
                "The container's " + std::string(key) + " is replaced by " + by + '.'
            );
        }
    }
}

void warn_resume(compile_context& ctx, const resume_replica& entry, std::string message) {
    const auto number = &entry - ctx.spec.mode.resume_replicas.data();
    ctx.warn("/spec/runMode/pause/resumeSpecs/" + std::to_string(number), std::move(message));
}

std::vector<argument> literal(const std::vector<std::string>& words) {
    std::vector<argument> out;
    for (const auto& word : words) {
        out.push_back({word});
    }
    return out;
}

}  // namespace signalbox::core::launch
